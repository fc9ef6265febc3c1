// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface, as far as recorders and the programs beside this call it: contexts, memory, streams.
#include "driver.h"

#include <sys/mman.h>

#include <atomic>
#include <string_view>

#include "memory/arena.h"
#include "vendor/cuda/api.h"

using namespace mneme::gpu_stand;
namespace declared = mneme::vendor::cuda;

namespace {

// One context a device, whoever asks for one, and one device.
char the_context;
thread_local void* current = nullptr;

// NVIDIA's own memory does not lie where recorders put theirs, and what the stand-in of lib/hostgpu has would: so the
// place is kept until somebody asks for it.
class KeptPlace {
 public:
  KeptPlace()
      : kept_(::mmap(pointer(mneme::memory::kDeviceBase), kSize, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)) {}
  ~KeptPlace() { free(); }  // CUPTI loads the library, and lets it go, more than once
  void free() {
    if (void* kept = kept_.exchange(MAP_FAILED); kept != MAP_FAILED) ::munmap(kept, kSize);
  }

 private:
  static constexpr size_t kSize = size_t{1} << 40;
  std::atomic<void*> kept_;
};
KeptPlace kept_place;

}  // namespace

extern "C" {

// The stand-in of lib/hostgpu asks a recorder for what that knows. NVIDIA's library does not.
void* __real_dlsym(void* library, const char* name);
void* __wrap_dlsym(void* library, const char* name) {
  return std::string_view(name).starts_with("mneme_record_") ? nullptr : __real_dlsym(library, name);
}

Result cuInit(unsigned) { return 0; }
Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
Result cuDeviceGetCount(int* count) { return result(hipGetDeviceCount(count)); }
Result cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
Result cuGetErrorString(Result status, const char** text) {
  *text = hipGetErrorString(static_cast<hipError_t>(status));
  return 0;
}

// ---- contexts ----

Result cuCtxCreate_v2(void** context, unsigned, int) {
  *context = current = &the_context;
  return 0;
}
Result cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &the_context;
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(int) { return 0; }
Result cuCtxDestroy_v2(void*) { return 0; }
Result cuCtxSetCurrent(void* context) {
  current = context;
  return 0;
}
Result cuCtxGetCurrent(void** context) {
  *context = current;
  return 0;
}
Result cuCtxSynchronize() { return current ? result(hipDeviceSynchronize()) : kInvalidContext; }
Result cuCtxGetLimit(size_t* value, int limit) {
  return current ? result(hipDeviceGetLimit(value, static_cast<hipLimit_t>(limit))) : kInvalidContext;
}
Result cuCtxSetLimit(int limit, size_t value) {
  return current ? result(hipDeviceSetLimit(static_cast<hipLimit_t>(limit), value)) : kInvalidContext;
}

// ---- memory at addresses of the caller's ----

Result cuMemAddressReserve(Address* address, size_t size, size_t align, Address wanted, unsigned long long flags) {
  kept_place.free();
  void* got = nullptr;
  hipError_t status = hipMemAddressReserve(&got, size, align, pointer(wanted), flags);
  *address = reinterpret_cast<Address>(got);
  return result(status);
}
Result cuMemAddressFree(Address address, size_t size) { return result(hipMemAddressFree(pointer(address), size)); }
Result cuMemCreate(declared::Handle* handle, size_t size, const declared::MemoryProperties* properties,
                   unsigned long long flags) {
  hipMemAllocationProp hips{};
  hips.type = static_cast<hipMemAllocationType>(properties->type);
  hips.location = {static_cast<hipMemLocationType>(properties->location.type), properties->location.id};
  hipMemGenericAllocationHandle_t made = nullptr;
  hipError_t status = hipMemCreate(&made, size, &hips, flags);
  *handle = reinterpret_cast<declared::Handle>(made);
  return result(status);
}
Result cuMemRelease(declared::Handle handle) {
  return result(hipMemRelease(reinterpret_cast<hipMemGenericAllocationHandle_t>(handle)));
}
Result cuMemMap(Address address, size_t size, size_t offset, declared::Handle handle, unsigned long long flags) {
  return result(
      hipMemMap(pointer(address), size, offset, reinterpret_cast<hipMemGenericAllocationHandle_t>(handle), flags));
}
Result cuMemUnmap(Address address, size_t size) { return result(hipMemUnmap(pointer(address), size)); }
Result cuMemSetAccess(Address address, size_t size, const mneme::vendor::Access* access, size_t count) {
  static_assert(sizeof(mneme::vendor::Access) == sizeof(hipMemAccessDesc));
  return result(hipMemSetAccess(pointer(address), size, reinterpret_cast<const hipMemAccessDesc*>(access), count));
}

// Of memory that programs map, as the recorder does too, the driver knows no context, nor whether copies of it wait;
// and all that is mapped at once is one range.
Result cuPointerGetAttribute(void* data, int which, Address address) {
  constexpr int kContext = 1, kSynchronises = 6, kRangeStart = 11, kRangeSize = 12;
  constexpr size_t kMapped = size_t{1} << 40;
  const bool is_mapped = address - mneme::memory::kDeviceBase < kMapped;
  int device = 0;
  hipError_t status = hipPointerGetAttribute(&device, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer(address));
  if (status != hipSuccess) return kInvalidValue;
  switch (which) {
    case kContext:
      *static_cast<void**>(data) = is_mapped ? nullptr : &the_context;
      return 0;
    case kSynchronises:
      if (is_mapped) return kInvalidValue;
      *static_cast<bool*>(data) = false;
      return 0;
    case kRangeStart:
    case kRangeSize:
      if (!is_mapped) break;
      *static_cast<uint64_t*>(data) = which == kRangeStart ? mneme::memory::kDeviceBase : kMapped;
      return 0;
  }
  return result(hipPointerGetAttribute(data, static_cast<hipPointer_attribute>(which), pointer(address)));
}
Result cuPointerGetAttributes(unsigned count, int* which, void** data, Address address) {
  for (unsigned i = 0; i < count; ++i) {
    if (cuPointerGetAttribute(data[i], which[i], address) != 0) *static_cast<bool*>(data[i]) = false;
  }
  return 0;
}

Result cuMemGetAllocationGranularity(size_t* granularity, const declared::MemoryProperties*, int) {
  *granularity = size_t{2} << 20;
  return 0;
}
Result cuMemRetainAllocationHandle(declared::Handle* handle, void* address) {
  hipMemGenericAllocationHandle_t retained = nullptr;
  hipError_t status = hipMemRetainAllocationHandle(&retained, address);
  *handle = reinterpret_cast<declared::Handle>(retained);
  return result(status);
}
Result cuMemGetAllocationPropertiesFromHandle(declared::MemoryProperties* properties, declared::Handle handle) {
  hipMemAllocationProp hips{};
  hipError_t status =
      hipMemGetAllocationPropertiesFromHandle(&hips, reinterpret_cast<hipMemGenericAllocationHandle_t>(handle));
  *properties = {};
  properties->type = hips.type;
  properties->location = {hips.location.type, hips.location.id};
  return result(status);
}

// ---- memory of the driver's ----

Result cuMemAlloc_v2(Address* address, size_t size) {
  void* memory = nullptr;
  hipError_t status = hipMalloc(&memory, size);
  *address = reinterpret_cast<Address>(memory);
  return result(status);
}
Result cuMemFree_v2(Address address) { return result(hipFree(pointer(address))); }
Result cuMemAllocAsync(Address* address, size_t size, hipStream_t stream) {
  void* memory = nullptr;
  hipError_t status = hipMallocAsync(&memory, size, stream);
  *address = reinterpret_cast<Address>(memory);
  return result(status);
}
Result cuMemFreeAsync(Address address, hipStream_t stream) { return result(hipFreeAsync(pointer(address), stream)); }
Result cuMemAllocPitch_v2(Address* address, size_t* pitch, size_t width, size_t height, unsigned) {
  void* memory = nullptr;
  hipError_t status = hipMallocPitch(&memory, pitch, width, height);
  *address = reinterpret_cast<Address>(memory);
  return result(status);
}
Result cuMemAllocManaged(Address* address, size_t size, unsigned flags) {
  void* memory = nullptr;
  hipError_t status = hipMallocManaged(&memory, size, flags);
  *address = reinterpret_cast<Address>(memory);
  return result(status);
}
Result cuMemAllocHost_v2(void** memory, size_t size) { return result(hipHostMalloc(memory, size, 0)); }
Result cuMemHostAlloc(void** memory, size_t size, unsigned flags) { return result(hipHostMalloc(memory, size, flags)); }
Result cuMemFreeHost(void* memory) { return result(hipHostFree(memory)); }

Result cuMemcpyHtoD_v2(Address to, const void* from, size_t size) {
  return result(hipMemcpy(pointer(to), from, size, hipMemcpyHostToDevice));
}
Result cuMemcpyDtoH_v2(void* to, Address from, size_t size) {
  return result(hipMemcpy(to, pointer(from), size, hipMemcpyDeviceToHost));
}
Result cuMemcpyDtoD_v2(Address to, Address from, size_t size) {
  return result(hipMemcpy(pointer(to), pointer(from), size, hipMemcpyDeviceToDevice));
}
Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t size, hipStream_t stream) {
  return result(hipMemcpyAsync(pointer(to), from, size, hipMemcpyHostToDevice, stream));
}
Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t size, hipStream_t stream) {
  return result(hipMemcpyAsync(to, pointer(from), size, hipMemcpyDeviceToHost, stream));
}
Result cuMemsetD8_v2(Address to, unsigned char value, size_t count) {
  return result(hipMemsetD8(pointer(to), value, count));
}
Result cuMemsetD32_v2(Address to, unsigned value, size_t count) {
  return result(hipMemsetD32(pointer(to), static_cast<int>(value), count));
}

// ---- streams ----

Result cuStreamCreate(hipStream_t* stream, unsigned flags) { return result(hipStreamCreateWithFlags(stream, flags)); }
Result cuStreamDestroy_v2(hipStream_t stream) { return result(hipStreamDestroy(stream)); }
Result cuStreamQuery(hipStream_t stream) { return result(hipStreamQuery(stream)); }
Result cuStreamSynchronize(hipStream_t stream) { return result(hipStreamSynchronize(stream)); }

}  // extern "C"
