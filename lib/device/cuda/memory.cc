// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/memory.h"

#include <algorithm>

#include "bundle/format.h"

namespace mneme::device::cuda {
namespace {

MemoryProperties properties_of(int device) {
  MemoryProperties properties{};
  properties.type = kPinned;
  properties.location = {kLocationDevice, device};
  return properties;
}

}  // namespace

CudaMemory::CudaMemory(int device) : device_(device) {
  MemoryProperties properties = properties_of(device);
  size_t granularity = 0;
  check(driver().cuMemGetAllocationGranularity(&granularity, &properties, kMinimumGranularity),
        "asking for the granularity of device memory");
  granularity_ = std::max<uint64_t>(granularity, bundle::kBlockSize);
}

CudaMemory::~CudaMemory() {
  driver().cuCtxSynchronize();  // what is still to be done to it
  give_all_back();
}

uint64_t CudaMemory::reserve_at(uint64_t window, uint64_t size) {
  Address got = 0;
  return driver().cuMemAddressReserve(&got, size, 0, window, 0) == 0 ? got : 0;
}

void CudaMemory::free_addresses(uint64_t window, uint64_t size) { driver().cuMemAddressFree(window, size); }

void CudaMemory::back_device(uint64_t begin, uint64_t size) {
  MemoryProperties properties = properties_of(device_);
  Handle handle = 0;
  check(driver().cuMemCreate(&handle, size, &properties, 0), "allocating device memory for the recording's");
  Result mapped = driver().cuMemMap(begin, size, 0, handle, 0);
  driver().cuMemRelease(handle);  // the mapping keeps it
  check(mapped, "mapping device memory at a recorded address");
  pieces_.emplace(begin, size);
  Access access{properties.location, kReadWrite};
  check(driver().cuMemSetAccess(begin, size, &access, 1), "making device memory accessible");
  check(driver().cuMemsetD8_v2(begin, 0, size), "zeroing device memory");
}

void CudaMemory::give_device_back(uint64_t address, uint64_t size) {
  check(driver().cuMemUnmap(address, size), "giving device memory back");
}

void CudaMemory::register_host(void* memory, uint64_t size) {
  check(driver().cuMemHostRegister_v2(memory, size, kRegisterPortable | kRegisterMapped),
        "making host memory known to the GPU");
}

uint64_t CudaMemory::seen_by_gpu(void* memory) {
  Address seen = 0;
  check(driver().cuMemHostGetDevicePointer_v2(&seen, memory, 0), "asking where the GPU sees host memory");
  return seen;
}

void CudaMemory::unregister_host(void* memory) {
  check(driver().cuMemHostUnregister(memory), "giving host memory back");
}

}  // namespace mneme::device::cuda
