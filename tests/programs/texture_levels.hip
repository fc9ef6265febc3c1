// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textures read at a level of detail and with gradients, of arrays that have one level: always that one. Layers of
// lines. What the host device has not is refused where the object is made, not where a kernel uses it.

#include "check.h"

constexpr int kSize = 16, kLayers = 3, kReads = 12;

struct Textures {
  hipTextureObject_t line, plane, volume, lines, planes;
};

__global__ void read(Textures t, float* out) {
  float x = (threadIdx.x + 0.5f) / kSize;
  float2 none = make_float2(0, 0);
  float4 none4 = make_float4(0, 0, 0, 0);
  const float results[kReads] = {tex1DLod<float>(t.line, x, 0),
                                 tex1DGrad<float>(t.line, x, 0, 0),
                                 tex2DLod<float>(t.plane, x, x, 0),
                                 tex2DGrad<float>(t.plane, x, x, none, none),
                                 tex3DLod<float>(t.volume, x, x, x, 0),
                                 tex3DGrad<float>(t.volume, x, x, x, none4, none4),
                                 tex1DLayered<float>(t.lines, x, 1),
                                 tex1DLayeredLod<float>(t.lines, x, 2, 0),
                                 tex1DLayeredGrad<float>(t.lines, x, 0, 0, 0),
                                 tex2DLayered<float>(t.planes, x, x, 2),
                                 tex2DLayeredLod<float>(t.planes, x, x, 1, 0),
                                 tex2DLayeredGrad<float>(t.planes, x, x, 2, none, none)};
  for (int f = 0; f < kReads; ++f) out[threadIdx.x * kReads + f] = results[f];
}

static hipResourceDesc resource_of(hipArray_t array) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

// An array whose elements are their numbers.
static hipTextureObject_t numbers(unsigned width, unsigned height, unsigned depth, unsigned flags) {
  hipExtent rows = make_hipExtent(width, height ? height : 1, depth ? depth : 1);
  std::vector<float> values(rows.width * rows.height * rows.depth);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray_t array = nullptr;
  check(hipMalloc3DArray(&array, &format, make_hipExtent(width, height, depth), flags));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(values.data(), width * sizeof(float), width, rows.height);
  copy.dstArray = array;
  copy.extent = rows;
  copy.kind = hipMemcpyHostToDevice;
  check(hipMemcpy3D(&copy));
  hipResourceDesc resource = resource_of(array);
  hipTextureDesc description = {};
  description.normalizedCoords = 1;
  for (auto& mode : description.addressMode) mode = hipAddressModeClamp;
  hipTextureObject_t texture = {};
  check(hipCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

#ifndef __CUDA__
// On a GPU these may succeed; the host device says that it has none, and makes nothing.
static void check_refusals(Test& test) {
  auto refused = [&](const char* what, hipError_t status) {
    test.expect(status == hipSuccess || status == hipErrorNotSupported || status == hipErrorInvalidValue, what);
    static_cast<void>(hipGetLastError());
    return status != hipSuccess;
  };
  hipChannelFormatDesc bytes = hipCreateChannelDesc<uchar4>();
  hipArray_t array = nullptr, cube = nullptr;
  hipMipmappedArray_t levels = nullptr;
  hipTextureObject_t texture = {};
  check(hipMallocArray(&array, &bytes, kSize, kSize));
  if (refused("a cube", hipMalloc3DArray(&cube, &bytes, make_hipExtent(kSize, kSize, 6), hipArrayCubemap))) {
    test.expect(cube == nullptr, "a refused cube");
  }
  if (refused("levels", hipMallocMipmappedArray(&levels, &bytes, make_hipExtent(kSize, kSize, 0), 3, 0))) {
    test.expect(levels == nullptr, "refused levels");
  }
  hipResourceDesc resource = resource_of(array);
  hipTextureDesc description = {};
  hipResourceViewDesc view = {};
  description.readMode = hipReadModeNormalizedFloat;
  view.format = hipResViewFormatUnsignedBlockCompressed1;
  view.width = view.height = kSize;
  if (refused("blocks", hipCreateTextureObject(&texture, &resource, &description, &view))) {
    test.expect(texture == nullptr, "refused blocks");
  }
  description.sRGB = 1;
  if (refused("sRGB", hipCreateTextureObject(&texture, &resource, &description, nullptr))) {
    test.expect(texture == nullptr, "refused sRGB");
  }
  check(hipFreeArray(array));
}
#endif

int main() {
  Test test("texture_levels");
#ifndef __CUDA__
  check_refusals(test);
#endif
  Textures textures = {numbers(kSize, 0, 0, 0), numbers(kSize, kSize, 0, 0), numbers(kSize, kSize, kSize, 0),
                       numbers(kSize, 0, kLayers, hipArrayLayered), numbers(kSize, kSize, kLayers, hipArrayLayered)};
  float* out = device_array<float>(kSize * kReads);
  read<<<1, kSize>>>(textures, out);
  check(hipGetLastError());
  std::vector<float> want;
  for (int i = 0; i < kSize; ++i) {
    int plane = i * (kSize + 1), volume = i * (kSize * kSize + kSize + 1), layer = kSize * kSize;
    for (int value : {i, i, plane, plane, volume, volume, kSize + i, 2 * kSize + i, i, 2 * layer + plane, layer + plane,
                      2 * layer + plane}) {
      want.push_back(static_cast<float>(value));
    }
  }
  test.equal("texels", to_host(out, want.size()), want);
  return test.finish();
}
