// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays with levels, as a cube's faces, and of layers that a kernel writes. The same
// array may be a texture and a surface, and a level of one a surface.

#include "../check.h"

constexpr int kSide = 16, kLevels = 3, kFaces = 6, kLayers = 3;

struct Images {
  cudaTextureObject_t levels, faces;
  cudaSurfaceObject_t layers, level;
};

// Of each level the texel at this place, and of each face the one that is met in its direction.
__global__ void read(Images images, float* out) {
  const int x = threadIdx.x, y = blockIdx.x;
  const float u = (x + 0.5f) / kSide, v = (y + 0.5f) / kSide;
  float sum = 0;
  for (int level = 0; level < kLevels; ++level) sum += tex2DLod<float>(images.levels, u, v, level);
  sum += texCubemap<float>(images.faces, 1, 0.1f, 0.1f) + 2 * texCubemap<float>(images.faces, 0.1f, -1, 0.1f);
  out[y * kSide + x] = sum;
  for (int layer = 0; layer < kLayers; ++layer) surf2DLayeredwrite(sum + layer, images.layers, x * 4, y, layer);
  if (x < kSide / 2 && y < kSide / 2) surf2Dwrite(sum, images.level, x * 4, y);
}

cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource) {
  cudaTextureDesc description = {};
  for (auto& mode : description.addressMode) mode = cudaAddressModeClamp;
  description.normalizedCoords = 1;
  description.maxMipmapLevelClamp = kLevels - 1;
  cudaTextureObject_t texture = 0;
  check(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

int main() {
  Test test("texture_mipmaps");
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();

  // Each level's texels are their numbers, and a thousand for each level.
  cudaMipmappedArray_t levels = nullptr;
  check(cudaMallocMipmappedArray(&levels, &channel, make_cudaExtent(kSide, kSide, 0), kLevels));
  for (int level = 0; level < kLevels; ++level) {
    const int side = kSide >> level;
    std::vector<float> values(side * side);
    for (int i = 0; i < side * side; ++i) values[i] = static_cast<float>(1000 * level + i);
    cudaArray_t array = nullptr;
    check(cudaGetMipmappedArrayLevel(&array, levels, level));
    check(cudaMemcpy2DToArray(array, 0, 0, values.data(), side * 4, side * 4, side, cudaMemcpyHostToDevice));
  }
  cudaResourceDesc of_levels = {};
  of_levels.resType = cudaResourceTypeMipmappedArray;
  of_levels.res.mipmap.mipmap = levels;

  // Each face is of one number.
  cudaArray_t faces = nullptr, layers = nullptr;
  check(cudaMalloc3DArray(&faces, &channel, make_cudaExtent(kSide, kSide, kFaces), cudaArrayCubemap));
  std::vector<float> numbers;
  for (int face = 0; face < kFaces; ++face) numbers.insert(numbers.end(), kSide * kSide, 10000.0f * (face + 1));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(numbers.data(), kSide * 4, kSide, kSide);
  copy.dstArray = faces;
  copy.extent = make_cudaExtent(kSide, kSide, kFaces);
  copy.kind = cudaMemcpyHostToDevice;
  check(cudaMemcpy3D(&copy));
  check(cudaMalloc3DArray(&layers, &channel, make_cudaExtent(kSide, kSide, kLayers),
                          cudaArrayLayered | cudaArraySurfaceLoadStore));

  cudaMipmappedArray_t written = nullptr;
  cudaArray_t level = nullptr;
  check(cudaMallocMipmappedArray(&written, &channel, make_cudaExtent(kSide, kSide, 0), kLevels,
                                 cudaArraySurfaceLoadStore));
  check(cudaGetMipmappedArrayLevel(&level, written, 1));

  Images images = {texture_of(of_levels), texture_of(resource_of(faces)), 0, 0};
  cudaResourceDesc of_layers = resource_of(layers), of_level = resource_of(level);
  check(cudaCreateSurfaceObject(&images.layers, &of_layers));
  check(cudaCreateSurfaceObject(&images.level, &of_level));
  float* out = device_array<float>(kSide * kSide);
  read<<<kSide, kSide>>>(images, out);
  check(cudaGetLastError());

  std::vector<float> want;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      int texels = 0;
      for (int i = 0; i < kLevels; ++i) texels += 1000 * i + (y >> i) * (kSide >> i) + (x >> i);
      want.push_back(static_cast<float>(texels) + 10000 + 2 * 40000);
    }
  test.equal("texels", to_host(out, kSide * kSide), want);

  std::vector<float> got(kSide * kSide * kLayers), want_layers;
  for (int layer = 0; layer < kLayers; ++layer)
    for (float sum : want) want_layers.push_back(sum + static_cast<float>(layer));
  cudaMemcpy3DParms back = {};
  back.srcArray = layers;
  back.dstPtr = make_cudaPitchedPtr(got.data(), kSide * 4, kSide, kSide);
  back.extent = make_cudaExtent(kSide, kSide, kLayers);
  back.kind = cudaMemcpyDeviceToHost;
  check(cudaMemcpy3D(&back));
  test.equal("layers", got, want_layers);

  std::vector<float> got_level(kSide * kSide / 4), want_level;
  for (int y = 0; y < kSide / 2; ++y)
    for (int x = 0; x < kSide / 2; ++x) want_level.push_back(want[y * kSide + x]);
  check(cudaMemcpy2DFromArray(got_level.data(), kSide * 2, level, 0, 0, kSide * 2, kSide / 2, cudaMemcpyDeviceToHost));
  test.equal("level", got_level, want_level);
  return test.finish();
}
