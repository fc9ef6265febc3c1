// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textures in one and three dimensions and in layers, filled by copies to arrays of every kind; four texels at a time.

#include "check.h"

constexpr int kWidth = 19, kHeight = 11, kDepth = 7;
constexpr int kCount = kWidth * kHeight * kDepth;

__device__ void place(int i, int& x, int& y, int& z) {
  x = i % kWidth;
  y = i / kWidth % kHeight;
  z = i / kWidth / kHeight;
}

// What filters may be off by: CUDA's weigh texels in 256ths. HIP 5 calls the first channel 1.
#ifdef __CUDA__
constexpr double kWeights = 1e-2;
constexpr int kFirstChannel = 0;
#else
constexpr double kWeights = 1e-5;
constexpr int kFirstChannel = 1;
#endif

// In the middle of eight texels.
__global__ void between(hipTextureObject_t texture, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, x, y, z;
  if (i >= kCount) return;
  place(i, x, y, z);
  out[i] = tex3D<float>(texture, x + 1.0f, y + 1.0f, z + 1.0f);
}

__global__ void of_layers(hipTextureObject_t texture, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, x, y, z;
  if (i >= kCount) return;
  place(i, x, y, z);
  out[i] = tex2DLayered<float>(texture, x + 1.0f, y + 0.5f, z);
}

__global__ void of_a_line(hipTextureObject_t texture, float2* out) {
  int x = threadIdx.x;
  out[x] = tex1D<float2>(texture, (x + 0.5f) / kWidth);
}

__global__ void gather(hipTextureObject_t texture, float4* out) {
  int x = threadIdx.x, y = blockIdx.x;
  out[y * kWidth + x] = tex2Dgather<float4>(texture, x + 1.0f, y + 1.0f, kFirstChannel);
}

hipTextureObject_t texture_of(hipArray_t array, hipTextureFilterMode filter, bool normalized) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc description = {};
  for (auto& mode : description.addressMode) mode = hipAddressModeClamp;
  description.filterMode = filter;
  description.normalizedCoords = normalized;
  hipTextureObject_t texture = {};
  check(hipCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

float at(const std::vector<float>& volume, int x, int y, int z) {
  x = std::min(x, kWidth - 1);
  y = std::min(y, kHeight - 1);
  z = std::min(z, kDepth - 1);
  return volume[(z * kHeight + y) * kWidth + x];
}

hipArray_t array_of(const std::vector<float>& volume, unsigned flags) {
  hipChannelFormatDesc channel = hipCreateChannelDesc<float>();
  hipArray_t array = nullptr;
  check(hipMalloc3DArray(&array, &channel, make_hipExtent(kWidth, kHeight, kDepth), flags));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(const_cast<float*>(volume.data()), kWidth * sizeof(float), kWidth, kHeight);
  copy.dstArray = array;
  copy.extent = make_hipExtent(kWidth, kHeight, kDepth);
  copy.kind = hipMemcpyHostToDevice;
  check(hipMemcpy3D(&copy));
  return array;
}

int main() {
  Test test("texture_volumes");
  const std::vector<float> volume = Random(7).values(kCount, -1.0f, 1.0f);
  float* out = device_array<float>(kCount);

  hipArray_t array = array_of(volume, hipArrayDefault);
  hipTextureObject_t texture = texture_of(array, hipFilterModeLinear, false);
  between<<<blocks_for(kCount, 128), 128>>>(texture, out);
  check(hipGetLastError());
  std::vector<float> want;
  for (int z = 0; z < kDepth; ++z)
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        float sum = 0;
        for (int corner = 0; corner < 8; ++corner)
          sum += at(volume, x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2));
        want.push_back(sum / 8);
      }
  test.close("volume", to_host(out, kCount), want, kWeights);
  check(hipDestroyTextureObject(texture));

  // A part of it back to the host.
  std::vector<float> part(4 * 3 * 2);
  hipMemcpy3DParms copy = {};
  copy.srcArray = array;
  copy.srcPos = make_hipPos(5, 4, 3);
  copy.dstPtr = make_hipPitchedPtr(part.data(), 4 * sizeof(float), 4, 3);
  copy.extent = make_hipExtent(4, 3, 2);
  copy.kind = hipMemcpyDeviceToHost;
  check(hipMemcpy3D(&copy));
  for (int i = 0; i < 24; ++i) test.equal("part", part[i], at(volume, 5 + i % 4, 4 + i / 4 % 3, 3 + i / 12));
  check(hipFreeArray(array));

  array = array_of(volume, hipArrayLayered);
  texture = texture_of(array, hipFilterModeLinear, false);
  of_layers<<<blocks_for(kCount, 128), 128>>>(texture, out);
  want.clear();
  for (int z = 0; z < kDepth; ++z)
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) want.push_back((at(volume, x, y, z) + at(volume, x + 1, y, z)) / 2);
  test.close("layers", to_host(out, kCount), want, kWeights);
  check(hipDestroyTextureObject(texture));
  check(hipFreeArray(array));

  hipChannelFormatDesc pair = hipCreateChannelDesc<float2>();
  check(hipMallocArray(&array, &pair, kWidth));
  check(hipMemcpy2DToArray(array, 0, 0, volume.data(), kWidth * sizeof(float2), kWidth * sizeof(float2), 1,
                           hipMemcpyHostToDevice));
  texture = texture_of(array, hipFilterModePoint, true);
  of_a_line<<<1, kWidth>>>(texture, reinterpret_cast<float2*>(out));
  test.equal("line", to_host(out, kWidth * 2), std::vector<float>(volume.begin(), volume.begin() + kWidth * 2));
  check(hipDestroyTextureObject(texture));
  check(hipFreeArray(array));

  hipChannelFormatDesc one = hipCreateChannelDesc<float>();
  check(hipMallocArray(&array, &one, kWidth, kHeight));
  const std::size_t row = kWidth * sizeof(float);
  check(hipMemcpy2DToArray(array, 0, 0, volume.data(), row, row, kHeight, hipMemcpyHostToDevice));
  texture = texture_of(array, hipFilterModePoint, false);
  float4* gathered = device_array<float4>(kWidth * kHeight);
  gather<<<kHeight, kWidth>>>(texture, gathered);
  std::vector<float4> fours = to_host(gathered, kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      float4 got = fours[y * kWidth + x];
      int right = std::min(x + 1, kWidth - 1), below = std::min(y + 1, kHeight - 1);
      test.expect(got.x == at(volume, x, below, 0) && got.y == at(volume, right, below, 0) &&
                      got.z == at(volume, right, y, 0) && got.w == at(volume, x, y, 0),
                  "other four texels");
    }
  check(hipDestroyTextureObject(texture));
  check(hipFreeArray(array));
  check(hipFree(gathered));
  check(hipFree(out));
  return test.finish();
}
