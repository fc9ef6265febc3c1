// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip_runtime.h"

#include "base/error.h"
#include "memory/arena.h"
#include "recorder/hip_devices.h"
#include "recorder/hip_waiting.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(void*, size_t, unsigned)> next_register(kLibrary, "hipHostRegister");
constinit Next<Error(void*)> next_unregister(kLibrary, "hipHostUnregister");
constinit Next<Error()> next_device_synchronize(kLibrary, "hipDeviceSynchronize");
constinit Next<Error(Stream, int*)> next_is_capturing(kLibrary, "hipStreamIsCapturing");
constinit Next<int(Stream)> next_stream_device(kLibrary, "hipGetStreamDeviceId");
constinit Next<const char*(Error)> next_error_string(kLibrary, "hipGetErrorString");
constinit Next<Error(const void*)> next_prepare(kLibrary, "mneme_hostgpu_prepare");
constinit Next<Error(unsigned)> next_settle(kLibrary, "mneme_hostgpu_settle");
constinit Next<void()> next_hold(kLibrary, "mneme_hostgpu_hold");
constinit Next<void()> next_let_go(kLibrary, "mneme_hostgpu_let_go");
constinit Next<Error(void*, const char*, void**, size_t*)> next_global(kLibrary, "mneme_hostgpu_global");
constinit Next<Error(void**, void*, unsigned)> next_device_pointer(kLibrary, "hipHostGetDevicePointer");
constinit Next<Error(size_t*, int)> next_limit(kLibrary, "hipDeviceGetLimit");
constinit Next<Error(int, size_t)> next_set_limit(kLibrary, "hipDeviceSetLimit");
constinit Next<Error(int*)> next_version(kLibrary, "hipRuntimeGetVersion");
constinit Next<Error(void**, const void*)> next_symbol_address(kLibrary, "hipGetSymbolAddress");
constinit Next<Error(size_t*, const void*)> next_symbol_size(kLibrary, "hipGetSymbolSize");
constinit Next<Error(void**, size_t*, Module, const char*)> next_module_global(kLibrary, "hipModuleGetGlobal");
thread_local bool holds = false;

}  // namespace

MemoryRange HipRuntime::reserve(uint64_t base, uint64_t size, int device) {
  return memory_.reserve(base, size, device);
}

void HipRuntime::unreserve(uint64_t base, uint64_t size) { memory_.unreserve(base, size); }

std::optional<Fd> HipRuntime::back(uint64_t address, uint64_t size, int device) {
  std::optional<Fd> backed = memory_.back(address, size, device);
  if (backed) backed_devices_.fetch_or(uint64_t{1} << device);
  return backed;
}

void HipRuntime::unback(uint64_t address, uint64_t size) { memory_.unback(address, size); }

bool HipRuntime::adopt_host(void* address, uint64_t size) {
  unsigned flags = kRegisterMapped | (devices.several() ? kRegisterPortable : 0);
  if (!succeeds(next_register.call_or(kNotSupported, address, size, flags))) return false;
  if (is_stand_in()) return true;
  // Pointers to it are recorded as they are, so that the device has to have it at the host's address.
  void* there = nullptr;
  if (succeeds(next_device_pointer.call_or(kNotSupported, &there, address, 0)) && there == address) return true;
  disown_host(address);
  throw mneme::Error(
      "this GPU sees host memory at other addresses than the host does, so what kernels do with it cannot be recorded");
}

void HipRuntime::disown_host(void* address) { succeeds(next_unregister.call_or(kNotSupported, address)); }

int HipRuntime::device_count() { return devices.count(); }

int HipRuntime::device() { return devices.current(); }

int HipRuntime::device_of(void* stream) {
  // This one and what lies below are streams of the thread's device.
  if (!devices.several() || reinterpret_cast<uintptr_t>(stream) <= kPerThread) return device();
  int device = next_stream_device.call_or(-1, stream);
  return device >= 0 ? device : this->device();
}

int HipRuntime::synchronize(std::chrono::milliseconds patience) {
  if (is_stand_in()) return next_settle.call_or(kNotSupported, static_cast<unsigned>(patience.count()));
  return on_devices([&](int device) { return wait_for_device(device, patience); });
}

template <class Wait>
int HipRuntime::on_devices(const Wait& wait) {
  Error status = kSuccess;
  const uint64_t devices = backed_devices_.load() | uint64_t{1} << device();
  for (int device = 0; device < memory::kMostDevices && status == kSuccess; ++device) {
    if (devices >> device & 1) status = wait(device);
  }
  return status;
}

int HipRuntime::wait() {
  if (!devices.several()) return next_device_synchronize.call_or(kNotSupported);
  return on_devices([](int device) {
    OnDevice there(device);
    return next_device_synchronize.call_or(kNotSupported);
  });
}

int HipRuntime::synchronize(void* stream, std::chrono::milliseconds patience) {
  if (!is_stand_in()) return wait_for(stream, device_of(stream), patience);
  OnDevice its(device_of(stream));  // whose errors count
  return synchronize(patience);
}

// The vendor's runtime has no such thing: there the hooks of what changes memory wait.
void HipRuntime::hold() {
  if (is_stand_in()) return next_hold.call();
  changes_.lock();
  holds = true;
}

void HipRuntime::let_go() {
  if (is_stand_in()) return next_let_go.call();
  holds = false;
  changes_.unlock();
}

HipRuntime::Changing::Changing(HipRuntime& runtime)
    : runtime_(runtime), locked_(core() && !runtime.is_stand_in() && !holds) {
  if (locked_) runtime_.changes_.lock_shared();
}

HipRuntime::Changing::~Changing() {
  if (locked_) runtime_.changes_.unlock_shared();
}

bool HipRuntime::is_stand_in() {
  static const bool is = static_cast<bool>(next_settle);
  return is;
}

bool HipRuntime::is_capturing(void* stream) {
  // AMD's runtime answers with an error where anything is waited for meanwhile, and the graph is lost.
  return (!is_stand_in() && captures.load(std::memory_order_relaxed) > 0) || notes_down(stream);
}

bool HipRuntime::notes_down(void* stream) {
  if (captures.load(std::memory_order_relaxed) == 0) return false;  // asking is not free
  int capturing = 0;
  return succeeds(next_is_capturing.call_or(kNotSupported, stream, &capturing)) && capturing != 0;
}

std::string HipRuntime::error_text(int error) {
  const char* text = next_error_string.call_or(nullptr, error);
  return text ? text : "HIP error " + std::to_string(error);
}

bool HipRuntime::prepare(const void* host_function, int device) {
  OnDevice there(device);
  return !next_prepare || succeeds(next_prepare.call_or(kNotSupported, host_function));
}

uint64_t HipRuntime::stack_bytes(int device) {
  constexpr int kStackSize = 0;         // hipLimitStackSize
  constexpr size_t kUsualStack = 1024;  // unless the application asks for another
  // Releases that cannot be asked for one do not say how large it is, either.
  if (!next_set_limit) return 0;
  OnDevice there(device);
  size_t bytes = 0;
  return succeeds(next_limit.call_or(kNotSupported, &bytes, kStackSize)) && bytes > kUsualStack ? bytes : 0;
}

bool HipRuntime::is_of_6_or_later() {
  static const bool is = [] {
    constexpr int kFirst = 60'000'000;
    int version = 0;
    return succeeds(next_version.call_or(kNotSupported, &version)) && version >= kFirst;
  }();
  return is;
}

// ---- variables ----

void HipRuntime::add_variable(void* fat_binary, const void* host_variable, const char* name) {
  std::lock_guard lock(mutex_);
  variables_[fat_binary][name] = host_variable;
}

void HipRuntime::add_managed_variable(void* fat_binary, const char* name) {
  std::lock_guard lock(mutex_);
  managed_[fat_binary].insert(name);
}

std::string HipRuntime::why_missing(void* fat_binary, const std::string& name) {
  std::lock_guard lock(mutex_);
  auto binary = managed_.find(fat_binary);
  // The compiler has a variable "x.managed", and "x" that points to it.
  bool managed = binary != managed_.end() && binary->second.contains(name.substr(0, name.rfind(".managed")));
  if (managed) return fmt::format("the managed variable '{}' is out of the recorder's reach on an AMD GPU", name);
  auto registered = variables_.find(fat_binary);
  bool known = registered != variables_.end() && registered->second.contains(name);
  return known ? fmt::format("the HIP runtime does not say where the variable '{}' lies", name) : "";
}

void HipRuntime::add_module(Module module) {
  std::lock_guard lock(mutex_);
  modules_.insert(module);
}

std::vector<MemoryRange> HipRuntime::remove_code(void* handle) {
  std::lock_guard lock(mutex_);
  variables_.erase(handle);
  managed_.erase(handle);
  modules_.erase(handle);
  std::vector<MemoryRange> gone;
  std::erase_if(found_, [&](const auto& entry) {
    if (entry.first.first == handle) gone.push_back(entry.second);
    return entry.first.first == handle;
  });
  return gone;
}

// Where the vendor has a variable: by its host variable, if start-up code registered one, or in a module by its name.
std::optional<MemoryRange> HipRuntime::find_variable(void* handle, const std::string& name) {
  const void* variable = nullptr;
  bool module = false;
  {
    std::lock_guard lock(mutex_);
    module = modules_.contains(handle);
    auto binary = variables_.find(handle);
    if (binary != variables_.end() && binary->second.contains(name)) variable = binary->second.at(name);
  }
  void* address = nullptr;
  size_t size = 0;
  bool found = false;
  if (module) {
    found = succeeds(next_module_global.call_or(kNotSupported, &address, &size, handle, name.c_str()));
  } else if (variable) {
    found = succeeds(next_symbol_address.call_or(kNotSupported, &address, variable)) &&
            succeeds(next_symbol_size.call_or(kNotSupported, &size, variable));
  }
  return found ? std::optional(MemoryRange{reinterpret_cast<uint64_t>(address), size}) : std::nullopt;
}

std::optional<MemoryRange> HipRuntime::global(void* fat_binary, const std::string& name, int device) {
  OnDevice there(device);
  if (is_stand_in()) {
    void* address = nullptr;
    size_t size = 0;
    if (next_global.call_or(kNotSupported, fat_binary, name.c_str(), &address, &size) != kSuccess) return std::nullopt;
    return MemoryRange{reinterpret_cast<uint64_t>(address), size};
  }
  std::optional<MemoryRange> range = find_variable(fat_binary, name);
  if (!range) return std::nullopt;
  backed_devices_.fetch_or(uint64_t{1} << device);
  std::lock_guard lock(mutex_);
  found_[{fat_binary, name}] = *range;
  return range;
}

// Never destroyed: applications call HIP from destructors that run last.
HipRuntime& runtime() {
  static auto* only = new HipRuntime;
  return *only;
}

}  // namespace mneme::record::hip
