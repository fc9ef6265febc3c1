// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface: what mneme-run calls of it besides. It has no kernels for comparing memory here, so that the
// host does that; and no textures.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "block_kernels.h"
#include "vendor/cuda/api.h"

using namespace mneme::fake_cuda;
namespace declared = mneme::vendor::cuda;

namespace {

struct Event {
  std::chrono::steady_clock::time_point at;
};

std::mutex registrations;
std::set<void*> registered;                // host memory
std::atomic<unsigned long long> lives{1};  // of primary contexts
constexpr Result kNotSupported = 801;

}  // namespace

extern "C" {

Result cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "a GPU that is played", static_cast<size_t>(size));
  return 0;
}
// All are of processor sm_90, unless a variable says what all but the first are.
Result cuDeviceGetAttribute(int* value, int which, int device) {
  constexpr int kMajor = 75, kMinor = 76, kCacheSize = 38;
  const char* other = device > 0 ? std::getenv("MNEME_TEST_OTHER_MAJOR") : nullptr;
  *value = which == kMajor ? (other ? std::atoi(other) : 9) : which == kMinor ? 0 : which == kCacheSize ? 5 << 20 : 1;
  return 0;
}

Result cuEventCreate(Event** event, unsigned) {
  *event = new Event;
  return 0;
}
Result cuEventDestroy_v2(Event* event) {
  delete event;
  return 0;
}
Result cuEventRecord(Event* event, hipStream_t) {
  static_cast<void>(hipDeviceSynchronize());
  event->at = std::chrono::steady_clock::now();
  return 0;
}
Result cuEventSynchronize(Event*) { return 0; }
Result cuEventQuery(Event*) { return 0; }
Result cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return 0;
}

Result cuMemHostRegister_v2(void* memory, size_t, unsigned) {
  constexpr Result kRegisteredAlready = 712;
  std::lock_guard lock(registrations);
  return registered.insert(memory).second ? 0 : kRegisteredAlready;
}
Result cuMemHostUnregister(void* memory) {
  std::lock_guard lock(registrations);
  registered.erase(memory);
  return 0;
}
// How a static runtime resets a device: by no function of a name, and with it goes what is registered.
Result cuFakeReset(int device) {
  std::lock_guard lock(registrations);
  registered.clear();
  ++lives;
  lose_functions(nullptr);
  return result(hipDevicePrimaryCtxReset(device));
}
int mneme_other_DeviceReset();
int cudaDeviceReset() {
  lose_functions(nullptr);
  return mneme_other_DeviceReset();
}
unsigned long long cuFakeRegistered() {
  std::lock_guard lock(registrations);
  return registered.size();
}
Result cuCtxGetId(void*, unsigned long long* id) {
  *id = lives;
  return 0;
}
Result cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned) {
  *address = reinterpret_cast<Address>(memory);
  return 0;
}
Result cuMemsetD8Async(Address to, unsigned char value, size_t count, hipStream_t) {
  return result(hipMemsetD8(pointer(to), value, count));
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t size, hipStream_t) {
  return result(hipMemcpy(pointer(to), pointer(from), size, hipMemcpyDeviceToDevice));
}

Result cuArray3DCreate_v2(void*, const void*) { return kNotSupported; }
Result cuArrayDestroy(void*) { return kNotSupported; }
Result cuMipmappedArrayCreate(void*, const void*, unsigned) { return kNotSupported; }
Result cuMipmappedArrayDestroy(void*) { return kNotSupported; }
Result cuTexObjectCreate(void*, const void*, const void*, const void*) { return kNotSupported; }
Result cuTexObjectDestroy(unsigned long long) { return kNotSupported; }
Result cuSurfObjectCreate(void*, const void*) { return kNotSupported; }
Result cuSurfObjectDestroy(unsigned long long) { return kNotSupported; }

}  // extern "C"
