// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heat spreading over a plate, one launch a step: the two buffers swap roles each time, so consecutive launches differ
// only in which pointer is which. On a stream of its own, timed with events.

#include "check.h"

constexpr int kWidth = 300, kHeight = 200, kSteps = 20;
constexpr float kRate = 0.2f;

__global__ void heat_step(const float* in, float* out, int width, int height, float rate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = y * width + x;
  bool edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
  out[i] = edge ? in[i] : in[i] + rate * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4 * in[i]);
}

static std::vector<double> reference(const std::vector<float>& start) {
  std::vector<double> now(start.begin(), start.end());
  std::vector<double> next = now;
  for (int step = 0; step < kSteps; ++step) {
    for (int y = 1; y < kHeight - 1; ++y)
      for (int x = 1; x < kWidth - 1; ++x) {
        int i = y * kWidth + x;
        next[i] = now[i] + kRate * (now[i - 1] + now[i + 1] + now[i - kWidth] + now[i + kWidth] - 4 * now[i]);
      }
    std::swap(now, next);
  }
  return now;
}

int main() {
  Test test("stencil_2d");
  std::vector<float> start = Random(1).values(kWidth * kHeight, 10.0f, 90.0f);
  float* now = to_device(start);
  float* next = device_array<float>(start.size());

  hipStream_t stream;
  hipEvent_t begin, end;
  check(hipStreamCreate(&stream));
  check(hipEventCreate(&begin));
  check(hipEventCreate(&end));
  dim3 block(32, 8);
  dim3 grid(blocks_for(kWidth, block.x), blocks_for(kHeight, block.y));
  check(hipEventRecord(begin, stream));
  for (int step = 0; step < kSteps; ++step) {
    heat_step<<<grid, block, 0, stream>>>(now, next, kWidth, kHeight, kRate);
    check(hipGetLastError());
    std::swap(now, next);
  }
  check(hipEventRecord(end, stream));
  check(hipEventSynchronize(end));
  float milliseconds = -1;
  check(hipEventElapsedTime(&milliseconds, begin, end));
  test.expect(milliseconds >= 0, "the events ran backwards");

  test.close("plate", to_host(now, start.size()), reference(start), 1e-5);
  check(hipEventDestroy(begin));
  check(hipEventDestroy(end));
  check(hipStreamDestroy(stream));
  check(hipFree(now));
  check(hipFree(next));
  return test.finish();
}
