// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel with a texture and a surface, of arrays, of memory and of an array's levels. Its instructions are a CPU's:
// it finds the texels as the library beside this gives out handles. To mneme-inject it uses no textures; a test puts
// into the program what that says of such kernels. -DWITHOUT_IR makes one that has a GPU's instructions, and does not
// come to them.
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

__device__ void mention(int* out, unsigned count, Handle texture, Handle surface) {
#if defined(WITHOUT_IR) && defined(__CUDA_ARCH__)
  if (count != ~0u) return;
  asm volatile("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(texture));
  asm volatile("suq.width.b32 %0, [%1];" : "=r"(out[1]) : "l"(surface));
#endif
}

__global__ void add(int* out, unsigned count, Handle texture, Handle surface) {
  mention(out, count, texture, surface);
  const unsigned at = index() + __mneme_textures;
  if (at >= count) return;
  const int ones = texels(texture)[at];
  if (out) out[at] += ones;
  texels(surface)[at] += ones;
}

#ifdef WITHOUT_IR
__global__ void add_by_memory(int* out, unsigned count, const Handle* handles) {
  mention(out, count, handles[0], handles[1]);
  const int ones = texels(handles[0])[index()];
  out[index()] += ones;
  texels(handles[1])[index()] += ones;
}
#endif

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

bool by_memory = false;

void launch(Handle texture, Handle surface) {
#ifdef WITHOUT_IR
  if (by_memory) {
    void* memory = nullptr;
    const Handle handles[] = {texture, surface};
    CHECK(cudaMalloc(&memory, sizeof handles) == 0);
    CHECK(cudaMemcpy(memory, handles, sizeof handles, cudaMemcpyHostToDevice) == 0);
    add_by_memory<<<1, kWords>>>(static_cast<int*>(out), kWords, static_cast<Handle*>(memory));
    CHECK(cudaFree(memory) == 0);
    return;
  }
#endif
  add<<<1, kWords>>>(static_cast<int*>(out), kWords, texture, surface);
}

// Adds ones, by way of a texture, to the buffer and to the surface.
void launch(const Resource& resource, Handle surface, int filter) {
  Handle texture = 0;
  Sampling sampling;
  sampling.filter = filter;
  sampling.border[1] = 0.25f;
  CHECK(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr) == 0);
  launch(texture, surface);
  if (out) CHECK(cudaMemcpy(seen, out, sizeof seen, cudaMemcpyDeviceToHost) == 0);
  CHECK(cudaDestroyTextureObject(texture) == 0);
}

int main(int argc, char** arguments) {
  const char* kind = argc > 1 ? arguments[1] : "array";
  by_memory = std::strcmp(kind, "memory") == 0;
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
