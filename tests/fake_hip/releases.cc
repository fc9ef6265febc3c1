// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In what AMD's releases differ for a recorder. $MNEME_TEST_ROCM says which one this is:
//   5.2      virtual memory functions are there, and not implemented
//   reserves addresses can be reserved, and memory cannot be put there
//   moves    addresses are given out, but not those that are asked for
//   6        they are implemented; structures and numbers are those of ROCm 6 and 7 (which is what there is without it)
//   apart    the same, and kernels see host memory that was registered at other addresses
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "hostgpu/hip.h"
#include "memory/arena.h"

// What the stand-in's own are called here.
extern "C" {
hipError_t mneme_stand_hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void* wanted,
                                            unsigned long long flags);
hipError_t mneme_stand_hipMemAddressFree(void* pointer, size_t size);
hipError_t mneme_stand_hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size,
                                    const hipMemAllocationProp* properties, unsigned long long flags);
hipError_t mneme_stand_hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp* properties,
                                                               hipMemGenericAllocationHandle_t handle);
hipError_t mneme_stand_hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer);
hipError_t mneme_stand_hipPointerGetAttribute(void* data, hipPointer_attribute which, hipDeviceptr_t pointer);
hipError_t mneme_stand_hipHostRegister(void* pointer, size_t size, unsigned flags);
hipError_t mneme_stand_hipHostGetDevicePointer(void** device, void* host, unsigned flags);
hipError_t mneme_stand_hipMemGetInfo(size_t* left, size_t* total);
hipError_t mneme_stand_hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type);
}

namespace {

std::string_view release() {
  const char* text = std::getenv("MNEME_TEST_ROCM");
  return text && *text ? text : "6";
}

bool is_6() { return release() == "6" || release() == "apart"; }

// hipMemAllocationProp as it is in ROCm 6: written down here once more, for a test that could not fail otherwise.
struct PropertiesOf6 {
  int type;
  int handle_type;
  int location_type, location_id;
  void* win32;
  unsigned char compression, rdma;
  unsigned short usage;
};

// AMD's own memory does not lie where the recorder puts its, and what lib/hostgpu has would: so a place is kept until
// the recorder takes it.
class KeptPlace {
 public:
  explicit KeptPlace(uint64_t base) : base_(base) { keep(); }
  void keep() {
    kept_ = ::mmap(reinterpret_cast<void*>(base_), kSize, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  }
  void free() {
    if (void* kept = kept_.exchange(MAP_FAILED); kept != MAP_FAILED) ::munmap(kept, kSize);
  }

 private:
  static constexpr size_t kSize = size_t{1} << 40;
  uint64_t base_;
  std::atomic<void*> kept_{MAP_FAILED};
};
KeptPlace device_place(mneme::memory::kDeviceBase);
KeptPlace host_place(mneme::memory::kHostBase);  // of managed variables, which the start-up code of programs asks for
std::atomic<void*> registered{nullptr};          // last, where kernels see it elsewhere

int type_of_6(int type, bool managed) {
  constexpr int kHost = 1, kDevice = 2, kManaged = 3;
  return managed ? kManaged : type == hipMemoryTypeHost ? kHost : kDevice;
}

// From 0 on, and copies of rows are copies.
int node_type_of_6(int type) {
  switch (type) {
    case hipGraphNodeTypeMemcpy1D:
      return hipGraphNodeTypeMemcpy - 1;
    case hipGraphNodeTypeMemcpyFromSymbol:
      return 12;
    case hipGraphNodeTypeMemcpyToSymbol:
      return 13;
    default:
      return type - 1;
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// The stand-in asks a recorder for what that knows. AMD's library does not.
void* __real_dlsym(void* library, const char* name);
void* __wrap_dlsym(void* library, const char* name) {
  return std::string_view(name).starts_with("mneme_record_") ? nullptr : __real_dlsym(library, name);
}

hipError_t hipRuntimeGetVersion(int* version) {
  *version = is_6() ? 60342131 : 50221153;
  return hipSuccess;
}
hipError_t hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }

hipError_t hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void* wanted, unsigned long long flags) {
  host_place.free();  // the recorder takes it right after a device's
  if (release() == "5.2") return hipErrorNotSupported;
  if (release() == "moves") wanted = static_cast<char*>(wanted) + (uint64_t{3} << 43);
  device_place.free();
  return mneme_stand_hipMemAddressReserve(pointer, size, alignment, wanted, flags);
}

hipError_t hipMemAddressFree(void* pointer, size_t size) {
  hipError_t status = mneme_stand_hipMemAddressFree(pointer, size);
  if (release() == "reserves") device_place.keep();
  return status;
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size, const hipMemAllocationProp* properties,
                        unsigned long long flags) {
  if (!is_6()) return hipErrorNotSupported;
  PropertiesOf6 asked{};
  std::memcpy(&asked, properties, sizeof asked);
  if (asked.type != hipMemAllocationTypePinned || asked.location_type != hipMemLocationTypeDevice) {
    return hipErrorInvalidValue;
  }
  hipMemAllocationProp ours{};
  ours.type = hipMemAllocationTypePinned;
  ours.requestedHandleType = static_cast<hipMemAllocationHandleType>(asked.handle_type);
  ours.location = {hipMemLocationTypeDevice, asked.location_id};
  return mneme_stand_hipMemCreate(handle, size, &ours, flags);
}

hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp* properties,
                                                   hipMemGenericAllocationHandle_t handle) {
  hipMemAllocationProp ours{};
  hipError_t status = mneme_stand_hipMemGetAllocationPropertiesFromHandle(&ours, handle);
  PropertiesOf6 theirs{};
  theirs.type = ours.type;
  theirs.location_type = ours.location.type;
  theirs.location_id = ours.location.id;
  if (status == hipSuccess) std::memcpy(static_cast<void*>(properties), &theirs, sizeof theirs);
  return status;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  hipError_t status = mneme_stand_hipPointerGetAttributes(attributes, pointer);
  if (status != hipSuccess || !is_6()) return status;
  attributes->memoryType = static_cast<hipMemoryType>(type_of_6(attributes->memoryType, attributes->isManaged));
  return status;
}

hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute which, hipDeviceptr_t pointer) {
  hipError_t status = mneme_stand_hipPointerGetAttribute(data, which, pointer);
  if (status == hipSuccess && is_6() && which == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    *static_cast<int*>(data) = type_of_6(*static_cast<int*>(data), false);
  }
  return status;
}

hipError_t hipHostRegister(void* pointer, size_t size, unsigned flags) {
  hipError_t status = mneme_stand_hipHostRegister(pointer, size, flags);
  if (status == hipSuccess && release() == "apart") registered = pointer;
  return status;
}

hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  hipError_t status = mneme_stand_hipHostGetDevicePointer(device, host, flags);
  if (status == hipSuccess && host == registered) *device = static_cast<char*>(*device) + 4096;
  return status;
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  hipError_t status = mneme_stand_hipGraphNodeGetType(node, type);
  if (status == hipSuccess && is_6()) *type = static_cast<hipGraphNodeType>(node_type_of_6(*type));
  return status;
}

// What is little is soon used up.
hipError_t hipMemGetInfo(size_t* left, size_t* total) {
  hipError_t status = mneme_stand_hipMemGetInfo(left, total);
  if (status == hipSuccess && left) *left = std::min(*left, size_t{2} << 30);
  return status;
}

}  // extern "C"
#pragma GCC visibility pop
