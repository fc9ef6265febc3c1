// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel with a texture and a surface, of arrays, of memory and of an array's levels. Its instructions are a CPU's:
// it finds the texels as the library beside this gives out handles. To mneme-inject it uses no textures; a test puts
// into the program what that says of such kernels.
#include <cstring>

#include "cuda.h"

using Handle = unsigned long long;
constexpr Handle kMask = 0x5a5a'0000'0000'0000;
constexpr unsigned kSide = 8, kWords = kSide * kSide;

struct Channels {
  int bits[4] = {32, 0, 0, 0}, kind = 0;  // signed
};
struct Extent {
  size_t width, height, depth;
};
struct Resource {  // cudaResourceDesc
  int type = 0, padding = 0;
  void* what = nullptr;
  Channels channels;  // of memory, as what follows
  size_t sizes[3] = {};
  char rest[64] = {};
};
struct Sampling {  // cudaTextureDesc
  int address_modes[3] = {1, 1, 1}, filter = 0, read_mode = 0, srgb = 0;
  float border[4] = {};
  char rest[88] = {};
};

extern "C" {
int cudaMallocArray(void**, const Channels*, size_t, size_t, unsigned);
int cudaMallocMipmappedArray(void**, const Channels*, Extent, unsigned, unsigned);
int cudaGetMipmappedArrayLevel(void**, void*, unsigned);
int cudaFreeArray(void*);
int cudaFreeMipmappedArray(void*);
int cudaMemcpy2DToArray(void*, size_t, size_t, const void*, size_t, size_t, size_t, int);
int cudaMemcpy2DFromArray(void*, size_t, void*, size_t, size_t, size_t, size_t, int);
int cudaCreateTextureObject(Handle*, const Resource*, const Sampling*, const void*);
int cudaCreateSurfaceObject(Handle*, const Resource*);
int cudaDestroyTextureObject(Handle);
int cudaDestroySurfaceObject(Handle);
}

#ifdef WITHOUT_IR
constexpr int __mneme_textures = 0;
#else
extern "C" __device__ int __mneme_textures;
__device__ int __mneme_textures;
#endif

__device__ int* texels(Handle handle) { return reinterpret_cast<int*>(handle ^ kMask); }

__global__ void add(int* out, unsigned count, Handle texture, Handle surface) {
  const unsigned at = index() + __mneme_textures;
  if (at >= count) return;
  const int ones = texels(texture)[at];
  if (out) out[at] += ones;
  texels(surface)[at] += ones;
}

void* out = nullptr;
int seen[kWords];

void* array_of(int first, int step, unsigned flags = 0) {
  void* array = nullptr;
  Channels channels;
  CHECK(cudaMallocArray(&array, &channels, kSide, kSide, flags) == 0);
  for (unsigned i = 0; i < kWords; ++i) seen[i] = first + step * static_cast<int>(i);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, seen, 4 * kSide, 4 * kSide, kSide, cudaMemcpyHostToDevice) == 0);
  return array;
}

Handle surface_of(void* array) {
  Handle surface = 0;
  Resource resource;
  resource.what = array;
  CHECK(cudaCreateSurfaceObject(&surface, &resource) == 0);
  return surface;
}

// Adds ones, by way of a texture, to the buffer and to the surface.
void launch(const Resource& resource, Handle surface, int filter) {
  Handle texture = 0;
  Sampling sampling;
  sampling.filter = filter;
  sampling.border[1] = 0.25f;
  CHECK(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr) == 0);
  add<<<1, kWords>>>(static_cast<int*>(out), kWords, texture, surface);
  if (out) CHECK(cudaMemcpy(seen, out, sizeof seen, cudaMemcpyDeviceToHost) == 0);
  CHECK(cudaDestroyTextureObject(texture) == 0);
}

int main(int argc, char** arguments) {
  const char* kind = argc > 1 ? arguments[1] : "array";
  const bool alone = std::strcmp(kind, "alone") == 0;  // with no other memory
  CHECK(alone || (cudaMalloc(&out, sizeof seen) == 0 && cudaMemset(out, 0, sizeof seen) == 0));
  void *ones = nullptr, *levels = nullptr, *written = array_of(1000, 3);
  const Handle surface = surface_of(written);
  Resource resource;
  if (std::strcmp(kind, "linear") == 0 || std::strcmp(kind, "pitched") == 0) {
    CHECK(cudaMalloc(&ones, sizeof seen) == 0);
    for (int& word : seen) word = 1;
    CHECK(cudaMemcpy(ones, seen, sizeof seen, cudaMemcpyHostToDevice) == 0);
    resource.what = ones;
    resource.type = std::strcmp(kind, "linear") == 0 ? 2 : 3;
    resource.sizes[0] = resource.type == 2 ? sizeof seen : kSide;
    resource.sizes[1] = kSide;
    resource.sizes[2] = 4 * kSide;
  } else if (std::strcmp(kind, "levels") == 0) {
    Channels channels;
    resource.type = 1;
    CHECK(cudaMallocMipmappedArray(&resource.what, &channels, {kSide, kSide, 0}, 3, 0) == 0);
    for (int& word : seen) word = 1;
    for (unsigned level = 0; level < 3; ++level) {
      const unsigned side = kSide >> level;
      CHECK(cudaGetMipmappedArrayLevel(&levels, resource.what, level) == 0);
      CHECK(cudaMemcpy2DToArray(levels, 0, 0, seen, 4 * side, 4 * side, side, cudaMemcpyHostToDevice) == 0);
    }
  } else if (std::strcmp(kind, "refused") == 0) {
    resource.what = array_of(1, 0, 0x20);
  } else {
    resource.what = array_of(1, 0);
  }
  if (std::strcmp(kind, "none") == 0) {  // a handle of nothing
    add<<<1, kWords>>>(static_cast<int*>(out), 0, 0x77, surface);
  } else {
    for (int launches = 1; launches <= 2; ++launches) {
      launch(resource, surface, launches - 1);
      for (int word : seen) CHECK(alone || word == launches);
    }
    CHECK(cudaMemcpy2DFromArray(seen, 4 * kSide, written, 0, 0, 4 * kSide, kSide, cudaMemcpyDeviceToHost) == 0);
    for (int i = 0; i < static_cast<int>(kWords); ++i) CHECK(seen[i] == 1002 + 3 * i);
  }
  CHECK(cudaDestroySurfaceObject(surface) == 0 && cudaFreeArray(written) == 0);
  CHECK(alone || cudaFree(out) == 0);
  std::puts("textures: ok");
}
