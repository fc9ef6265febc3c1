// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip_runtime.h"

#include <algorithm>
#include <vector>

#include "memory/arena.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(void**, size_t, size_t, void*, unsigned long long)> next_reserve(kLibrary, "hipMemAddressReserve");
constinit Next<Error(void*, size_t)> next_unreserve(kLibrary, "hipMemAddressFree");
constinit Next<Error(Handle*, size_t, const MemoryProperties*, unsigned long long)> next_create(kLibrary,
                                                                                                "hipMemCreate");
constinit Next<Error(Handle)> next_release(kLibrary, "hipMemRelease");
constinit Next<Error(void*, size_t, size_t, Handle, unsigned long long)> next_map(kLibrary, "hipMemMap");
constinit Next<Error(void*, size_t)> next_unmap(kLibrary, "hipMemUnmap");
constinit Next<Error(void*, size_t, const MemoryAccess*, size_t)> next_set_access(kLibrary, "hipMemSetAccess");
constinit Next<Error(void*, Handle, int, unsigned long long)> next_export(kLibrary, "hipMemExportToShareableHandle");
constinit Next<Error(void*, size_t, unsigned)> next_register(kLibrary, "hipHostRegister");
constinit Next<Error(void*)> next_unregister(kLibrary, "hipHostUnregister");
constinit Next<Error()> next_device_synchronize(kLibrary, "hipDeviceSynchronize");
constinit Next<Error(Stream)> next_stream_synchronize(kLibrary, "hipStreamSynchronize");
constinit Next<Error(Stream, int*)> next_is_capturing(kLibrary, "hipStreamIsCapturing");
constinit Next<Error(int*)> next_device_count(kLibrary, "hipGetDeviceCount");
constinit Next<Error(int*)> next_get_device(kLibrary, "hipGetDevice");
constinit Next<Error(int)> next_set_device(kLibrary, "hipSetDevice");
constinit Next<Error(int*, int, int)> next_can_access(kLibrary, "hipDeviceCanAccessPeer");
constinit Next<int(Stream)> next_stream_device(kLibrary, "hipGetStreamDeviceId");
constinit Next<Error()> next_last_error(kLibrary, "hipGetLastError");
constinit Next<const char*(Error)> next_error_string(kLibrary, "hipGetErrorString");
constinit Next<Error(const void*)> next_prepare(kLibrary, "mneme_hostgpu_prepare");
constinit Next<Error(unsigned)> next_settle(kLibrary, "mneme_hostgpu_settle");
constinit Next<void()> next_hold(kLibrary, "mneme_hostgpu_hold");
constinit Next<void()> next_let_go(kLibrary, "mneme_hostgpu_let_go");
constinit Next<Error(void*, const char*, void**, size_t*)> next_global(kLibrary, "mneme_hostgpu_global");

constexpr uint64_t kGranularity = 2 << 20;
// A kernel may wait for what the application does next. As long as a replay may take.

void* pointer_to(uint64_t address) { return reinterpret_cast<void*>(address); }

// As many as the runtime has, and those that are recorded.
int count_devices() {
  static const int count = [] {
    int found = 0;
    return next_device_count.call_or(kNotSupported, &found) == kSuccess ? std::max(found, 1) : 1;
  }();
  return count;
}

bool has_several_devices() { return count_devices() > 1; }

// Makes a device the thread's for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (!has_several_devices()) return;
    next_get_device.call_or(kNotSupported, &before_);
    if (before_ == device || next_set_device.call_or(kNotSupported, device) != kSuccess) before_ = -1;
  }
  ~OnDevice() {
    if (before_ >= 0) next_set_device.call_or(kNotSupported, before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = -1;
};

// The devices that may use each other's memory get access to all that is recorded.
std::vector<MemoryAccess> access_for(int device) {
  std::vector<MemoryAccess> list = {{{kLocationDevice, device}, kReadWrite}};
  for (int other = 0; other < count_devices(); ++other) {
    int can = 0;
    if (other == device || next_can_access.call_or(kNotSupported, &can, other, device) != kSuccess || !can) continue;
    list.push_back({{kLocationDevice, other}, kReadWrite});
  }
  return list;
}

}  // namespace

void HipRuntime::reserve(uint64_t base, uint64_t size) {
  void* got = nullptr;
  Error status = next_reserve.call_or(kNotSupported, &got, size, kGranularity, pointer_to(base), 0);
  if (status == kNotSupported) {
    throw mneme::Error("this HIP runtime lacks the virtual memory functions that recording needs (ROCm 6 has them)");
  }
  if (status == kSuccess && got == pointer_to(base)) return;
  if (status == kSuccess) next_unreserve.call_or(kNotSupported, got, size);
  throw mneme::Error::of(
      "the address range {:#x} to {:#x}, where device memory is recorded, is taken or too large in the application's "
      "process",
      base, base + size);
}

void HipRuntime::unreserve(uint64_t base, uint64_t size) {
  next_unreserve.call_or(kNotSupported, pointer_to(base), size);
}

std::optional<Fd> HipRuntime::back(uint64_t address, uint64_t size, int device) {
  MemoryProperties properties{};
  properties.location = {kLocationDevice, device};
  properties.requested_handle_type = kFileDescriptor;
  properties.type = kPinned;
  Handle handle = nullptr;
  if (next_create.call_or(kNotSupported, &handle, size, &properties, 0) != kSuccess) return std::nullopt;
  const std::vector<MemoryAccess> access = access_for(device);
  int descriptor = -1;
  bool mapped = next_map.call_or(kNotSupported, pointer_to(address), size, 0, handle, 0) == kSuccess;
  bool ready =
      mapped &&
      next_set_access.call_or(kNotSupported, pointer_to(address), size, access.data(), access.size()) == kSuccess &&
      next_export.call_or(kNotSupported, &descriptor, handle, kFileDescriptor, 0) == kSuccess;
  if (mapped && !ready) next_unmap.call_or(kNotSupported, pointer_to(address), size);
  next_release.call_or(kNotSupported, handle);  // a mapping keeps the memory
  if (!ready) return std::nullopt;
  backed_devices_.fetch_or(uint64_t{1} << device);
  return Fd(descriptor);
}

void HipRuntime::unback(uint64_t address, uint64_t size) {
  next_unmap.call_or(kNotSupported, pointer_to(address), size);
}

bool HipRuntime::adopt_host(void* address, uint64_t size) {
  unsigned flags = kRegisterMapped | (has_several_devices() ? kRegisterPortable : 0);
  return next_register.call_or(kNotSupported, address, size, flags) == kSuccess;
}

void HipRuntime::disown_host(void* address) { next_unregister.call_or(kNotSupported, address); }

int HipRuntime::device_count() { return count_devices(); }

int HipRuntime::device() {
  int device = 0;
  if (has_several_devices()) next_get_device.call_or(kNotSupported, &device);
  return device;
}

int HipRuntime::device_of(void* stream) {
  constexpr uintptr_t kPerThread = 2;  // and what lies below: streams of the thread's device
  if (!has_several_devices() || reinterpret_cast<uintptr_t>(stream) <= kPerThread) return device();
  int device = next_stream_device.call_or(-1, stream);
  return device >= 0 ? device : this->device();
}

int HipRuntime::synchronize(std::chrono::milliseconds patience) {
  return is_stand_in() ? next_settle.call_or(kNotSupported, static_cast<unsigned>(patience.count())) : wait();
}

int HipRuntime::wait() {
  if (!has_several_devices()) return next_device_synchronize.call_or(kNotSupported);
  Error status = kSuccess;
  uint64_t devices = backed_devices_.load() | uint64_t{1} << device();
  for (int device = 0; device < memory::kMostDevices && status == kSuccess; ++device) {
    if (!(devices >> device & 1)) continue;
    OnDevice there(device);
    status = next_device_synchronize.call_or(kNotSupported);
  }
  return status;
}

int HipRuntime::synchronize(void* stream, std::chrono::milliseconds patience) {
  if (!is_stand_in()) return next_stream_synchronize.call_or(kNotSupported, stream);
  OnDevice its(device_of(stream));  // whose errors count
  return synchronize(patience);
}

// The vendor's runtime has no such thing.
void HipRuntime::hold() {
  if (is_stand_in()) next_hold.call();
}

void HipRuntime::let_go() {
  if (is_stand_in()) next_let_go.call();
}

bool HipRuntime::is_stand_in() {
  static const bool is = static_cast<bool>(next_settle);
  return is;
}

bool HipRuntime::is_capturing(void* stream) {
  if (!captures_streams.load(std::memory_order_relaxed)) return false;
  int capturing = 0;
  if (next_is_capturing.call_or(kNotSupported, stream, &capturing) == kSuccess) return capturing != 0;
  next_last_error.call_or(kNotSupported);  // our question, not the application's error
  return false;
}

std::string HipRuntime::error_text(int error) {
  const char* text = next_error_string.call_or(nullptr, error);
  return text ? text : "HIP error " + std::to_string(error);
}

bool HipRuntime::prepare(const void* host_function, int device) {
  OnDevice there(device);
  return !next_prepare || next_prepare.call_or(kNotSupported, host_function) == kSuccess;
}

std::optional<MemoryRange> HipRuntime::global(void* fat_binary, const std::string& name, int device) {
  OnDevice there(device);
  void* address = nullptr;
  size_t size = 0;
  if (next_global.call_or(kNotSupported, fat_binary, name.c_str(), &address, &size) != kSuccess) return std::nullopt;
  return MemoryRange{reinterpret_cast<uint64_t>(address), size};
}

// Never destroyed: applications call HIP from destructors that run last.
HipRuntime& runtime() {
  static auto* only = new HipRuntime;
  return *only;
}

}  // namespace mneme::record::hip
