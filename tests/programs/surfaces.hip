// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Surfaces: kernels that read and write arrays in place, in one to three dimensions and several formats; what lies
// outside reads as zeros and takes nothing. Copies between arrays and memory in all their forms.

#include "check.h"

constexpr int kWidth = 29, kHeight = 13, kDepth = 5;

// Shifts rows: each texel becomes its left neighbour plus one. Coordinates are in bytes along x.
__global__ void shift(hipSurfaceObject_t from, hipSurfaceObject_t to) {
  int x = threadIdx.x, y = blockIdx.x;
  float value = 0;
  surf2Dread(&value, from, (x - 1) * static_cast<int>(sizeof(float)), y);
  surf2Dwrite(value + 1, to, x * static_cast<int>(sizeof(float)), y);
  if (x == 0) surf2Dwrite(99.0f, to, kWidth * static_cast<int>(sizeof(float)), y);  // outside
}

__global__ void scale(hipSurfaceObject_t surface) {
  int x = threadIdx.x;
  short4 value;
  surf1Dread(&value, surface, x * static_cast<int>(sizeof(short4)));
  value.x = static_cast<short>(value.x * 2);
  value.w = static_cast<short>(value.w - 5);
  surf1Dwrite(value, surface, x * static_cast<int>(sizeof(short4)));
}

__global__ void number(hipSurfaceObject_t surface) {
  int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  surf3Dwrite((z * kHeight + y) * kWidth + x, surface, x * static_cast<int>(sizeof(int)), y, z);
}

__global__ void read_back(hipSurfaceObject_t surface, int* out) {
  int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y, value = 0;
  surf3Dread(&value, surface, x * static_cast<int>(sizeof(int)), y, z);
  out[(z * kHeight + y) * kWidth + x] = value;
}

hipSurfaceObject_t surface_of(hipArray_t array) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipSurfaceObject_t surface = {};
  check(hipCreateSurfaceObject(&surface, &resource));
  return surface;
}

int main() {
  Test test("surfaces");
  const std::size_t row = kWidth * sizeof(float);

  hipChannelFormatDesc channel = hipCreateChannelDesc<float>();
  hipArray_t first = nullptr, second = nullptr;
  check(hipMallocArray(&first, &channel, kWidth, kHeight, hipArraySurfaceLoadStore));
  check(hipMallocArray(&second, &channel, kWidth, kHeight, hipArraySurfaceLoadStore));
  hipChannelFormatDesc same = {};
  check(hipGetChannelDesc(&same, first));
  test.expect(same.x == 32 && same.y == 0 && same.f == hipChannelFormatKindFloat, "another channel");
  std::vector<float> image = Random(1).values(kWidth * kHeight, 0.0f, 8.0f);
  hipStream_t stream = nullptr;
  check(hipStreamCreate(&stream));
  check(hipMemcpy2DToArrayAsync(first, 0, 0, image.data(), row, row, kHeight, hipMemcpyHostToDevice, stream));
  check(hipStreamSynchronize(stream));
  hipSurfaceObject_t from = surface_of(first), to = surface_of(second);
  shift<<<kHeight, kWidth, 0, stream>>>(from, to);
  check(hipGetLastError());
  std::vector<float> got(image.size()), want;
  check(hipMemcpy2DFromArrayAsync(got.data(), row, second, 0, 0, row, kHeight, hipMemcpyDeviceToHost, stream));
  check(hipStreamSynchronize(stream));
  for (int i = 0; i < kWidth * kHeight; ++i) want.push_back(i % kWidth ? image[i - 1] + 1 : 1);
  test.equal("shifted", got, want);

  // Two columns and three rows of it; then a run of bytes over the ends of rows.
  std::vector<float> corner(6);
  check(hipMemcpy2DFromArray(corner.data(), 8, second, 4 * sizeof(float), 5, 8, 3, hipMemcpyDeviceToHost));
  for (int i = 0; i < 6; ++i) test.equal("corner", corner[i], want[(5 + i / 2) * kWidth + 4 + i % 2]);
  std::vector<float> run(kWidth + 3);
  check(hipMemcpyAtoH(run.data(), second, 2 * sizeof(float), run.size() * sizeof(float)));
  test.equal("run", run, std::vector<float>(want.begin() + 2, want.begin() + 2 + static_cast<int>(run.size())));
  check(hipMemcpyHtoA(second, 0, image.data(), image.size() * sizeof(float)));
  check(hipMemcpy2DFromArray(got.data(), row, second, 0, 0, row, kHeight, hipMemcpyDeviceToHost));
  test.equal("whole", got, image);
  check(hipDestroySurfaceObject(from));
  check(hipDestroySurfaceObject(to));
  check(hipFreeArray(first));
  check(hipFreeArray(second));

  hipChannelFormatDesc shorts = hipCreateChannelDesc(16, 16, 16, 16, hipChannelFormatKindSigned);
  check(hipMallocArray(&first, &shorts, kWidth));
  std::vector<short> values = Random(2).values<short>(kWidth * 4, -9000, 9000), doubled = values;
  const std::size_t line = kWidth * sizeof(short4);
  check(hipMemcpy2DToArray(first, 0, 0, values.data(), line, line, 1, hipMemcpyHostToDevice));
  from = surface_of(first);
  scale<<<1, kWidth>>>(from);
  for (int i = 0; i < kWidth; ++i) {
    doubled[i * 4] = static_cast<short>(doubled[i * 4] * 2);
    doubled[i * 4 + 3] = static_cast<short>(doubled[i * 4 + 3] - 5);
  }
  check(hipMemcpy2DFromArray(values.data(), line, first, 0, 0, line, 1, hipMemcpyDeviceToHost));
  test.equal("shorts", values, doubled);
  check(hipDestroySurfaceObject(from));
  check(hipFreeArray(first));

  HIP_ARRAY3D_DESCRIPTOR wanted = {};
  wanted.Width = kWidth;
  wanted.Height = kHeight;
  wanted.Depth = kDepth;
  wanted.Format = HIP_AD_FORMAT_SIGNED_INT32;
  wanted.NumChannels = 1;
  check(hipArray3DCreate(&first, &wanted));
  from = surface_of(first);
  number<<<dim3(kHeight, kDepth), kWidth>>>(from);
  std::vector<int> numbers(kWidth * kHeight * kDepth), counted;
  HIP_MEMCPY3D copy = {};
  copy.srcMemoryType = hipMemoryTypeArray;
  copy.srcArray = first;
  copy.dstMemoryType = hipMemoryTypeHost;
  copy.dstHost = numbers.data();
  copy.dstPitch = kWidth * sizeof(int);
  copy.dstHeight = kHeight;
  copy.WidthInBytes = kWidth * sizeof(int);
  copy.Height = kHeight;
  copy.Depth = kDepth;
  check(hipDrvMemcpy3D(&copy));
  for (int i = 0; i < kWidth * kHeight * kDepth; ++i) counted.push_back(i);
  test.equal("numbers", numbers, counted);
  int* back = device_array<int>(counted.size());
  read_back<<<dim3(kHeight, kDepth), kWidth>>>(from, back);
  test.equal("read back", to_host(back, counted.size()), counted);
  check(hipFree(back));
  check(hipDestroySurfaceObject(from));
  check(hipArrayDestroy(first));
  test.expect(hipFreeArray(nullptr) == hipErrorInvalidValue, "null is no array");
  (void)hipGetLastError();
  check(hipStreamDestroy(stream));
  return test.finish();
}
