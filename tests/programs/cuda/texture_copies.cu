// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays, textures and surfaces by the driver's calls; and the copies to, from and between arrays that HIP has not.

#include <cuda.h>

#include "../check.h"

constexpr int kWidth = 24, kHeight = 10, kDepth = 3, kCount = kWidth * kHeight;

void check(CUresult status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  static_cast<void>(cuGetErrorName(status, &name));
  std::printf("texture_copies: FAILED: %s:%d: %s\n", file, line, name);
  std::exit(1);
}

// What the texture has, in twice the size, and the surface what it has had.
__global__ void enlarge(CUtexObject texture, CUsurfObject surface, float* out) {
  const int x = threadIdx.x, y = blockIdx.x;
  const float texel = tex2D<float>(texture, (x + 0.5f) / kWidth, (y + 0.5f) / kHeight);
  float before = 0;
  surf3Dread(&before, surface, x * static_cast<int>(sizeof(float)), y, 1);
  surf3Dwrite(2 * texel + before, surface, x * static_cast<int>(sizeof(float)), y, 2);
  out[y * kWidth + x] = texel + before;
}

CUDA_MEMCPY3D volume_copy(CUarray array, float* memory) {
  CUDA_MEMCPY3D copy = {};
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = memory;
  copy.srcPitch = copy.WidthInBytes = kWidth * sizeof(float);
  copy.srcHeight = copy.Height = kHeight;
  copy.Depth = kDepth;
  return copy;
}

void check_drivers(Test& test) {
  std::vector<float> plane = Random(1).values(kCount, -1.0f, 1.0f),
                     volume = Random(2).values(kCount * kDepth, -1.0f, 1.0f);
  CUarray texels = nullptr, slices = nullptr;
  CUDA_ARRAY_DESCRIPTOR flat = {kWidth, kHeight, CU_AD_FORMAT_FLOAT, 1};
  check(cuArrayCreate(&texels, &flat));
  CUDA_ARRAY3D_DESCRIPTOR deep = {kWidth, kHeight, kDepth, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST}, same = {};
  check(cuArray3DCreate(&slices, &deep));
  check(cuArray3DGetDescriptor(&same, slices));
  test.expect(same.Width == kWidth && same.Depth == kDepth && same.Format == CU_AD_FORMAT_FLOAT &&
                  same.Flags == CUDA_ARRAY3D_SURFACE_LDST,
              "another array is described");
  CUDA_MEMCPY2D rows = {};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = plane.data();
  rows.srcPitch = rows.WidthInBytes = kWidth * sizeof(float);
  rows.Height = kHeight;
  rows.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  rows.dstArray = texels;
  check(cuMemcpy2D(&rows));
  rows.Height = kHeight + 1;
  test.expect(cuMemcpy2D(&rows) == CUDA_ERROR_INVALID_VALUE, "a copy beyond the last row");
  CUDA_MEMCPY3D all = volume_copy(slices, volume.data());
  check(cuMemcpy3D(&all));

  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = texels;
  CUDA_TEXTURE_DESC sampling = {};
  sampling.addressMode[0] = sampling.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
  sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  check(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  resource.res.array.hArray = slices;
  check(cuSurfObjectCreate(&surface, &resource));
  float* out = device_array<float>(kCount);
  enlarge<<<kHeight, kWidth>>>(texture, surface, out);
  check(cudaGetLastError());
  std::vector<float> want, want_slice;
  for (int i = 0; i < kCount; ++i) {
    want.push_back(plane[i] + volume[kCount + i]);
    want_slice.push_back(2 * plane[i] + volume[kCount + i]);
  }
  test.equal("sums", to_host(out, kCount), want);
  std::vector<float> got(kCount);
  CUDA_MEMCPY3D last = {};
  last.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  last.srcArray = slices;
  last.srcZ = 2;
  last.dstMemoryType = CU_MEMORYTYPE_HOST;
  last.dstHost = got.data();
  last.dstPitch = last.WidthInBytes = kWidth * sizeof(float);
  last.dstHeight = last.Height = kHeight;
  last.Depth = 1;
  check(cuMemcpy3D(&last));
  test.close("slice", got, want_slice, 1e-6);
  std::vector<float> line(5);
  CUarray row = nullptr;
  CUDA_ARRAY_DESCRIPTOR thin = {kWidth, 0, CU_AD_FORMAT_FLOAT, 1};
  check(cuArrayCreate(&row, &thin));
  check(cuMemcpyHtoA(row, 2 * sizeof(float), plane.data(), 9 * sizeof(float)));
  check(cuMemcpyAtoH(line.data(), row, 4 * sizeof(float), 5 * sizeof(float)));
  test.equal("line", line, std::vector<float>(plane.begin() + 2, plane.begin() + 7));
  check(cuTexObjectDestroy(texture));
  check(cuSurfObjectDestroy(surface));
  for (CUarray array : {texels, slices, row}) check(cuArrayDestroy(array));
  check(cudaFree(out));
}

void check_runtimes(Test& test) {
  const std::vector<int> values = Random(3).values(kCount, 0, 1 << 20);
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<int>();
  cudaArray_t first = nullptr, second = nullptr;
  check(cudaMallocArray(&first, &channel, kWidth, kHeight));
  check(cudaMallocArray(&second, &channel, kWidth, kHeight));
  cudaExtent extent = {};
  unsigned flags = 1;
  check(cudaArrayGetInfo(&channel, &extent, &flags, first));
  test.expect(channel.x == 32 && extent.width == kWidth && extent.height == kHeight && extent.depth == 0 && flags == 0,
              "another array is described");
  const std::size_t row = kWidth * sizeof(int), part = 6 * sizeof(int);
  check(cudaMemcpy2DToArray(first, 0, 0, values.data(), row, row, kHeight, cudaMemcpyHostToDevice));
  check(cudaMemcpy2DToArray(second, 0, 0, values.data(), row, row, kHeight, cudaMemcpyHostToDevice));
  // Six columns of four rows, from (10, 3) to (2, 5).
  check(cudaMemcpy2DArrayToArray(second, 2 * sizeof(int), 5, first, 10 * sizeof(int), 3, part, 4));
  std::vector<int> want = values, got(kCount);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) want[(5 + y) * kWidth + 2 + x] = values[(3 + y) * kWidth + 10 + x];
  check(cudaMemcpy2DFromArray(got.data(), row, second, 0, 0, row, kHeight, cudaMemcpyDeviceToHost));
  test.equal("between arrays", got, want);
  check(cudaFreeArray(first));
  check(cudaFreeArray(second));
}

int main() {
  Test test("texture_copies");
  check(cudaFree(nullptr));  // the driver finds the runtime's context
  check_drivers(test);
  check_runtimes(test);
  return test.finish();
}
