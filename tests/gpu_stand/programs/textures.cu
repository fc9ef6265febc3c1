// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that reads a texture: with -DREAD, for a GPU. Without one it is taken for such a kernel, by a variable with
// the name that mneme-inject lists for those.
#include "cuda.h"

using cudaTextureObject_t = unsigned long long;

#ifdef READ
struct Resource {  // cudaResourceDesc, of linear memory
  int type, padding;
  void* data;
  int bits[4], kind;  // of a channel
  size_t bytes;
  char rest[64];
};
struct Texture {  // cudaTextureDesc
  char zeros[128];
};
extern "C" int cudaCreateTextureObject(cudaTextureObject_t*, const Resource*, const Texture*, const void*);
extern "C" int cudaDestroyTextureObject(cudaTextureObject_t);
#endif

#ifdef READ
__device__ int read(cudaTextureObject_t texture, int at) {
  int x = 0;
#ifdef __CUDA_ARCH__
  int y, z, w;
  asm("tex.1d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5}];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(texture), "r"(at));
#endif
  return x;
}
#else
extern "C" __device__ int __mneme_textures;
__device__ int __mneme_textures;
__device__ int read(cudaTextureObject_t, int) { return __mneme_textures; }
#endif

__global__ void sum(int* out, cudaTextureObject_t texture) {
  const int at = static_cast<int>(index());
  out[at] += read(texture, at) + at;
}

int main() {
  void *out = nullptr, *in = nullptr;
  int host[64];
  cudaTextureObject_t texture = 0;
  CHECK(cudaMalloc(&out, sizeof host) == 0 && cudaMemset(out, 0, sizeof host) == 0);
  CHECK(cudaMalloc(&in, sizeof host) == 0 && cudaMemset(in, 0, sizeof host) == 0);
#ifdef READ
  for (int i = 0; i < 64; ++i) host[i] = 100 * i;
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice) == 0);
  Resource resource{};
  resource.type = 2;
  resource.data = in;
  resource.bits[0] = 32;
  resource.bytes = sizeof host;
  Texture how{};
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr) == 0);
#endif
  sum<<<1, 64>>>(static_cast<int*>(out), texture);
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == 0);
#ifdef READ
  for (int i = 0; i < 64; ++i) CHECK(host[i] == 101 * i);
  CHECK(cudaDestroyTextureObject(texture) == 0);
#else
  for (int i = 0; i < 64; ++i) CHECK(host[i] == i);
#endif
  CHECK(cudaFree(out) == 0 && cudaFree(in) == 0);
  std::puts("textures: ok");
}
