// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an application's start-up code registers: the same as HIP's does, but for what stands before the device code.
#include <deque>
#include <mutex>
#include <string>

#include "hostgpu/cuda/cuda.h"
#include "vendor/hip/api.h"

// As the application's start-up code calls them, so that a recorder sees them.
extern "C" {
void** __hipRegisterFatBinary(const void* wrapper);
int __hipRegisterFunction(void** handle, const void* host, char*, const char* name, unsigned, void*, void*, dim3*,
                          dim3*, int*);
void __hipRegisterVar(void** handle, void* host, char*, char* name, int, size_t size, int, int);
void __hipRegisterManagedVar(void** handle, void** pointer, void* initial, const char* name, size_t size, unsigned);
void __hipUnregisterFatBinary(void** handle);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t* stream);
}

namespace mneme::hostgpu::cuda {
namespace {

using Wrapper = vendor::FatBinaryWrapper;

// Wrappers stay: a recorder may keep what it is given. Never destroyed.
Wrapper& as_hip(const Wrapper& wrapper) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::deque<Wrapper>;
  std::lock_guard lock(*mutex);
  // One that is not understood is refused as HIP's would be.
  const bool known = wrapper.magic == vendor::cuda::kWrapperMagic, linked = known && wrapper.version == 2;
  return all->emplace_back(Wrapper{known ? vendor::hip::kWrapperMagic : 0, linked ? 2u : 1u, wrapper.data,
                                   linked ? wrapper.units : nullptr});
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

void** __cudaRegisterFatBinary(const mneme::vendor::FatBinaryWrapper* wrapper) {
  return wrapper ? __hipRegisterFatBinary(&as_hip(*wrapper)) : nullptr;
}
void __cudaRegisterFatBinaryEnd(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaUnregisterFatBinary(void** handle) { __hipUnregisterFatBinary(handle); }

void __cudaRegisterFunction(void** handle, const void* host, char* device, const char* name, int threads, void* tid,
                            void* bid, dim3* block, dim3* grid, int* wave) {
  __hipRegisterFunction(handle, host, device, name, static_cast<unsigned>(threads), tid, bid, block, grid, wave);
}

void __cudaRegisterVar(void** handle, void* host, char* device, char* name, int external, size_t size, int constant,
                       int global) {
  __hipRegisterVar(handle, host, device, name, external, size, constant, global);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  return __hipPushCallConfiguration(grid, block, shared, stream);
}
Error __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t* stream) {
  return error(__hipPopCallConfiguration(grid, block, shared, stream));
}

}  // extern "C"
