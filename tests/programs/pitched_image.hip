// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images whose rows are padded by the allocator: pitched allocation, fills and copies, and a 3x3 blur that counts what
// lies outside as black.

#include "check.h"

constexpr int kBlurred = 3 * 3;

__global__ void blur(const unsigned char* in, unsigned char* out, std::size_t in_pitch, std::size_t out_pitch,
                     int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int v = max(y - 1, 0); v <= min(y + 1, height - 1); ++v)
    for (int u = max(x - 1, 0); u <= min(x + 1, width - 1); ++u) sum += in[v * in_pitch + u];
  out[y * out_pitch + x] = static_cast<unsigned char>(sum / kBlurred);
}

int main() {
  Test test("pitched_image");
  const int width = 333, height = 217, margin = 16;
  std::vector<unsigned char> image = Random(1).values<unsigned char>(width * height, 1, 255);
  void *in = nullptr, *out = nullptr;
  std::size_t in_pitch = 0, out_pitch = 0;
  check(hipMallocPitch(&in, &in_pitch, width, height));
  check(hipMallocPitch(&out, &out_pitch, width + margin, height));
  test.expect(in_pitch >= width && out_pitch >= width + margin, "the pitch is less than a row");
  check(hipMemcpy2D(in, in_pitch, image.data(), width, width, height, hipMemcpyHostToDevice));
  check(hipMemset2D(out, out_pitch, 0xee, width + margin, height));  // the margin stays like this

  dim3 block(16, 16);
  blur<<<dim3(blocks_for(width, 16), blocks_for(height, 16)), block>>>(
      static_cast<unsigned char*>(in), static_cast<unsigned char*>(out), in_pitch, out_pitch, width, height);
  check(hipGetLastError());

  std::vector<unsigned char> got((width + margin) * height), want(got.size(), 0xee);
  check(hipMemcpy2D(got.data(), width + margin, out, out_pitch, width + margin, height, hipMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int v = y - 1; v <= y + 1; ++v)
        for (int u = x - 1; u <= x + 1; ++u)
          if (v >= 0 && v < height && u >= 0 && u < width) sum += image[v * width + u];
      want[y * (width + margin) + x] = static_cast<unsigned char>(sum / kBlurred);
    }
  test.equal("image", got, want);
  check(hipFree(in));
  check(hipFree(out));
  return test.finish();
}
