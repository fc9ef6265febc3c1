// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface, as far as NVIDIA's does something else than the host device's: contexts, and memory at
// addresses of the caller's.
#include "driver.h"

#include <sys/mman.h>

#include <atomic>
#include <string_view>

#include "memory/arena.h"
#include "vendor/cuda/api.h"

using namespace mneme::fake_cuda;
namespace declared = mneme::vendor::cuda;

namespace {

thread_local int contexts = 0;  // that the thread has taken

bool has_context() {
  int device = 0;
  return contexts > 0 || (hipGetDevice(&device) == hipSuccess && device != 0);
}

Result taken(hipError_t status) {
  if (status == hipSuccess) ++contexts;
  return result(status);
}

hipCtx_t primary_of(int device) {
  hipCtx_t context = nullptr;
  static_cast<void>(hipDevicePrimaryCtxRetain(&context, device));
  static_cast<void>(hipDevicePrimaryCtxRelease(device));
  return context;
}

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

// ---- contexts: a thread has none before it takes one, or another device than the first ----

Result cuCtxGetCurrent(hipCtx_t* context) {
  *context = nullptr;
  return has_context() ? result(hipCtxGetCurrent(context)) : 0;
}
Result cuCtxPushCurrent_v2(hipCtx_t context) { return taken(hipCtxPushCurrent(context)); }
Result cuCtxPopCurrent_v2(hipCtx_t* context) {
  if (contexts == 0) return kInvalidContext;
  --contexts;
  return result(hipCtxPopCurrent(context));
}
Result cuCtxSetCurrent(hipCtx_t context) {
  if (contexts > 0) --contexts;
  return context ? taken(hipCtxSetCurrent(context)) : result(hipCtxSetCurrent(context));
}
Result cuCtxCreate_v2(hipCtx_t* context, unsigned flags, int device) {
  return taken(hipCtxCreate(context, flags, device));
}
Result cuCtxCreate_v3(hipCtx_t* context, const void*, int, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
Result cuCtxCreate_v4(hipCtx_t* context, const void*, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
Result cuCtxDestroy_v2(hipCtx_t context) {
  hipCtx_t current = nullptr;
  if (contexts > 0 && hipCtxGetCurrent(&current) == hipSuccess && current == context) --contexts;
  lose_functions(context);
  return result(hipCtxDestroy(context));
}
Result cuCtxGetDevice(int* device) { return has_context() ? result(hipGetDevice(device)) : kInvalidContext; }
Result cuCtxSynchronize() { return has_context() ? result(hipDeviceSynchronize()) : kInvalidContext; }
Result cuCtxGetLimit(size_t* value, int limit) {
  return has_context() ? result(hipDeviceGetLimit(value, static_cast<hipLimit_t>(limit))) : kInvalidContext;
}
Result cuCtxSetLimit(int limit, size_t value) {
  return has_context() ? result(hipDeviceSetLimit(static_cast<hipLimit_t>(limit), value)) : kInvalidContext;
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
      *static_cast<void**>(data) = is_mapped ? nullptr : primary_of(device);
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

}  // extern "C"
