// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texture references, as older programs have them: variables bound to linear memory, to rows with a pitch and to
// arrays.

#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#include "check.h"

constexpr int kWidth = 40, kHeight = 25;

texture<float, hipTextureType1D, hipReadModeElementType> line;
texture<float, hipTextureType2D, hipReadModeElementType> image;

__global__ void read(float* out) {
  int x = threadIdx.x, y = blockIdx.x;
  out[y * kWidth + x] = tex2D(image, x + 1.0f, y + 0.5f) + tex1Dfetch(line, x);
}

std::vector<float> reference(const std::vector<float>& values, bool smooth) {
  std::vector<float> want;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      float right = values[y * kWidth + std::min(x + 1, kWidth - 1)];
      float between = (values[y * kWidth + x] + right) / 2;
      want.push_back((smooth ? between : right) + values[x]);
    }
  return want;
}

int main() {
  Test test("texture_references");
  const std::vector<float> values = Random(1).values(kWidth * kHeight, -1.0f, 1.0f);
  const std::size_t row = kWidth * sizeof(float);
  float *memory = to_device(values), *out = device_array<float>(values.size());
  void* padded = nullptr;
  std::size_t pitch = 0, offset = 1;
  check(hipMallocPitch(&padded, &pitch, row, kHeight));
  check(hipMemcpy2D(padded, pitch, values.data(), row, row, kHeight, hipMemcpyHostToDevice));
  check(hipBindTexture(&offset, line, memory, row));
  check(hipBindTexture2D(nullptr, image, padded, kWidth, kHeight, pitch));
  test.equal("offset", offset, std::size_t{0});
  read<<<kHeight, kWidth>>>(out);
  check(hipGetLastError());
  test.close("rows", to_host(out, values.size()), reference(values, false), 1e-6);

  hipArray_t array = nullptr;
  check(hipMallocArray(&array, &image.channelDesc, kWidth, kHeight));
  check(hipMemcpy2DToArray(array, 0, 0, values.data(), row, row, kHeight, hipMemcpyHostToDevice));
  check(hipUnbindTexture(image));
  image.filterMode = hipFilterModeLinear;
  image.addressMode[0] = image.addressMode[1] = hipAddressModeClamp;
  check(hipBindTextureToArray(image, array));
  read<<<kHeight, kWidth>>>(out);
  test.close("array", to_host(out, values.size()), reference(values, true), 1e-6);
  check(hipUnbindTexture(image));
  check(hipUnbindTexture(line));
  check(hipFreeArray(array));
  check(hipFree(padded));
  check(hipFree(memory));
  check(hipFree(out));
  return test.finish();
}
