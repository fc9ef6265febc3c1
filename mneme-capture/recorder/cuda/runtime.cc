// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/runtime.h"

#include <algorithm>

#include "base/error.h"
#include "memory/arena.h"
#include "objects/function_address.h"
#include "objects/ptx_name.h"
#include "recorder/cuda/devices.h"
#include "recorder/cuda/textures.h"
#include "recorder/cuda/waiting.h"
#include "recorder/runtime/quiet_stream.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Result(Address*, size_t, size_t, Address, unsigned long long)> next_reserve(kDriver,
                                                                                           "cuMemAddressReserve");
constinit Next<Result(Address, size_t)> next_unreserve(kDriver, "cuMemAddressFree");
constinit Next<Result(Handle*, size_t, const MemoryProperties*, unsigned long long)> next_create(kDriver,
                                                                                                 "cuMemCreate");
constinit Next<Result(Handle)> next_release(kDriver, "cuMemRelease");
constinit Next<Result(Address, size_t, size_t, Handle, unsigned long long)> next_map(kDriver, "cuMemMap");
constinit Next<Result(Address, size_t)> next_unmap(kDriver, "cuMemUnmap");
constinit Next<Result(Address, size_t, const Access*, size_t)> next_set_access(kDriver, "cuMemSetAccess");
constinit Next<Error(void*)> next_free(kLibrary, "cudaFree");
constinit Next<Error(void*, size_t, unsigned)> next_register(kLibrary, "cudaHostRegister");
constinit Next<Error(void*)> next_unregister(kLibrary, "cudaHostUnregister");
constinit Next<Error()> next_device_synchronize(kLibrary, "cudaDeviceSynchronize");
constinit Next<Error(Stream, int*)> next_is_capturing(kLibrary, "cudaStreamIsCapturing");
constinit Next<Error(Stream, int*)> next_stream_device(kLibrary, "cudaStreamGetDevice");
constinit Next<Error(int*, int, int)> next_can_access(kLibrary, "cudaDeviceCanAccessPeer");
constinit Next<Error()> next_last_error(kLibrary, "cudaGetLastError");
constinit Next<const char*(Error)> next_error_string(kLibrary, "cudaGetErrorString");
constinit Next<Error(FunctionAttributes*, const void*)> next_attributes(kLibrary, "cudaFuncGetAttributes");
constinit Next<Error(size_t*, int)> next_limit(kLibrary, "cudaDeviceGetLimit");
constinit Next<Error(void**, const void*)> next_symbol_address(kLibrary, "cudaGetSymbolAddress");
constinit Next<Error(size_t*, const void*)> next_symbol_size(kLibrary, "cudaGetSymbolSize");
constinit Next<Result(Address*, size_t*, void*, const char*)> next_module_global(kDriver, "cuModuleGetGlobal_v2");
constinit Next<Result(Address*, size_t*, void*, const char*)> next_library_global(kDriver, "cuLibraryGetGlobal");
constinit Next<Error(Function*, const void*)> next_function_of(kLibrary, "cudaGetFuncBySymbol");
constinit Next<Result(Module*, Function)> next_module_of(kDriver, "cuFuncGetModule");
std::atomic<bool> started{false};
thread_local bool holds = false;

// The devices that may use each other's memory get access to all that is recorded.
std::vector<Access> access_for(int device) {
  std::vector<Access> list = {{{kLocationDevice, device}, kReadWrite}};
  for (int other = 0; other < devices.count(); ++other) {
    int can = 0;
    if (other == device || next_can_access.call_or(kNotSupported, &can, other, device) != kSuccess || !can) continue;
    list.push_back({{kLocationDevice, other}, kReadWrite});
  }
  return list;
}

}  // namespace

MemoryRange CudaRuntime::reserve(uint64_t base, uint64_t size, int) {
  if (!next_free) {
    throw mneme::Error::of(
        "it uses CUDA's driver, and recording also needs the runtime library: {} where the loader finds it, as in "
        "LD_LIBRARY_PATH",
        kLibrary);
  }
  next_free.call_or(kNotSupported, nullptr);  // the driver has to be initialised
  Address got = 0;
  Result status = next_reserve.call_or(kNotSupported, &got, size, 0, base, 0);
  if (status == kNotSupported) throw mneme::Error("this NVIDIA driver lacks the virtual memory functions");
  if (status == kSuccess && got == base) return {base, size};
  if (status == kSuccess) next_unreserve.call_or(kNotSupported, got, size);
  throw mneme::Error::of(
      "the address range {:#x} to {:#x}, where device memory is recorded, is taken or too large in the application's "
      "process",
      base, base + size);
}

void CudaRuntime::unreserve(uint64_t base, uint64_t size) { next_unreserve.call_or(kNotSupported, base, size); }

std::optional<Fd> CudaRuntime::back(uint64_t address, uint64_t size, int device) {
  OnDevice there(device);
  next_free.call_or(kNotSupported, nullptr);  // makes its context
  MemoryProperties properties{};
  properties.type = kPinned;
  properties.location = {kLocationDevice, device};
  Handle handle = 0;
  if (next_create.call_or(kNotSupported, &handle, size, &properties, 0) != kSuccess) return std::nullopt;
  bool mapped = next_map.call_or(kNotSupported, address, size, 0, handle, 0) == kSuccess;
  next_release.call_or(kNotSupported, handle);  // a mapping keeps the memory
  const std::vector<Access> access = access_for(device);
  bool ready =
      mapped && next_set_access.call_or(kNotSupported, address, size, access.data(), access.size()) == kSuccess;
  if (mapped && !ready) next_unmap.call_or(kNotSupported, address, size);
  if (!ready) return std::nullopt;
  used_devices_ |= uint64_t{1} << device;
  return Fd();
}

void CudaRuntime::unback(uint64_t address, uint64_t size) { next_unmap.call_or(kNotSupported, address, size); }

// ---- host memory, devices, streams ----

bool CudaRuntime::adopt_host(void* address, uint64_t size) {
  unsigned flags = kRegisterMapped | (devices.several() ? kRegisterPortable : 0);
  return succeeds(next_register.call_or(kNotSupported, address, size, flags));
}

void CudaRuntime::disown_host(void* address) { succeeds(next_unregister.call_or(kNotSupported, address)); }

int CudaRuntime::device_count() { return devices.count(); }

int CudaRuntime::device() { return devices.current(); }

// What has no runtime library has the driver's, which says so itself.
bool CudaRuntime::works() { return !next_free || next_free.call_or(kNotSupported, nullptr) == kSuccess; }

int CudaRuntime::device_of(void* stream) {
  // What lies below are streams of the thread's device, too.
  int device = -1;
  if (devices.several() && reinterpret_cast<uintptr_t>(stream) > kPerThreadStream &&
      succeeds(next_stream_device.call_or(kNotSupported, stream, &device))) {
    return device;
  }
  return this->device();
}

template <class Wait>
int CudaRuntime::on_devices(const Wait& wait) {
  const uint64_t devices = uint64_t{1} << device() | used_devices_;
  Error status = kSuccess;
  for (int device = 0; device < memory::kMostDevices && status == kSuccess; ++device) {
    if (!(devices >> device & 1)) continue;
    OnDevice there(device);
    status = wait();
  }
  return status;
}

int CudaRuntime::synchronize(std::chrono::milliseconds patience) {
  return on_devices([&] { return wait_for_device(patience); });
}

int CudaRuntime::synchronize(void* stream, std::chrono::milliseconds patience) { return wait_for(stream, patience); }

int CudaRuntime::wait() {
  return on_devices([] { return next_device_synchronize.call_or(kNotSupported); });
}

void CudaRuntime::hold() {
  changes_.lock();
  holds = true;
}

void CudaRuntime::let_go() {
  holds = false;
  changes_.unlock();
}

CudaRuntime::Changing::Changing(CudaRuntime& runtime) : runtime_(runtime), locked_(recorder() && !holds) {
  if (locked_) runtime_.changes_.lock_shared();
}

CudaRuntime::Changing::~Changing() {
  if (locked_) runtime_.changes_.unlock_shared();
}

bool CudaRuntime::notes_down(void* stream) {
  if (!is_capturing(stream)) return false;  // asking is not free
  int capturing = 0;
  if (next_is_capturing.call_or(kNotSupported, stream, &capturing) == kSuccess) return capturing != 0;
  next_last_error.call_or(kNotSupported);  // our question, not the application's error
  return false;
}

std::string CudaRuntime::error_text(int error) {
  const char* text = next_error_string.call_or(nullptr, error);
  return text ? text : "CUDA error " + std::to_string(error);
}

// ---- kernels and variables ----

void CudaRuntime::add_code(void* handle, Code kind) {
  std::lock_guard lock(mutex_);
  code_[handle] = kind;
}

void CudaRuntime::add_function(const void* function) {
  std::lock_guard lock(mutex_);
  functions_.insert(function);
}

std::vector<MemoryRange> CudaRuntime::remove_code(void* handle) {
  {
    std::lock_guard lock(mutex_);
    code_.erase(handle);
  }
  return remove_variables(handle);
}

bool CudaRuntime::prepare(const void* host_function, int device) {
  {
    std::lock_guard lock(mutex_);
    if (functions_.contains(host_function)) return true;  // what is asked for of its code loads it
  }
  OnDevice there(device);
  FunctionAttributes attributes;
  return next_attributes.call_or(kNotSupported, &attributes, host_function) == kSuccess;
}

bool CudaRuntime::has_code(void* handle) {
  std::lock_guard lock(mutex_);
  return code_.contains(handle);
}

void CudaRuntime::add_kernel(void* fat_binary, const void* host_function, const char* name) {
  std::lock_guard lock(mutex_);
  kernels_[fat_binary].try_emplace(name, host_function);
}

// Null: the vendor has none.
Module CudaRuntime::module_behind(const void* host_function) {
  Function function = nullptr;
  Module module = nullptr;
  if (!succeeds(next_function_of.call_or(kNotSupported, &function, host_function))) return nullptr;
  return next_module_of.call_or(kNotSupported, &module, function) == kSuccess ? module : nullptr;
}

const void* CudaRuntime::host_function(Module module, const std::string& name) {
  std::vector<const void*> of_that_name;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [fat_binary, functions] : kernels_) {
      if (auto found = functions.find(name); found != functions.end()) of_that_name.push_back(found->second);
    }
  }
  auto found = std::ranges::find(of_that_name, module, [&](const void* one) { return module_behind(one); });
  return found == of_that_name.end() ? nullptr : *found;
}

void CudaRuntime::add_variable(void* fat_binary, const void* host_variable, const char* name) {
  std::lock_guard lock(mutex_);
  variables_[fat_binary][name] = host_variable;
}

std::vector<MemoryRange> CudaRuntime::remove_variables(void* fat_binary) {
  std::lock_guard lock(mutex_);
  variables_.erase(fat_binary);
  kernels_.erase(fat_binary);
  std::erase_if(addresses_, [&](const auto& entry) { return std::get<0>(entry.first) == fat_binary; });
  std::vector<MemoryRange> gone;
  for (auto at = found_.begin(); at != found_.end();) {
    if (at->first.first != fat_binary) {
      ++at;
      continue;
    }
    gone.push_back(at->second);
    at = found_.erase(at);
  }
  return gone;
}

// By its name: of code that the application loaded itself, and of the module that is behind a kernel which start-up
// code registered.
std::optional<MemoryRange> CudaRuntime::find_in_code(void* fat_binary, const std::string& name) {
  void* handle = fat_binary;
  const void* kernel = nullptr;
  std::optional<Code> code;
  {
    std::lock_guard lock(mutex_);
    if (auto loaded = code_.find(fat_binary); loaded != code_.end()) code = loaded->second;
    if (auto found = kernels_.find(fat_binary); found != kernels_.end()) kernel = found->second.begin()->second;
  }
  if (!code) {
    if (!kernel) return std::nullopt;
    handle = module_behind(kernel);
    if (!handle) return std::nullopt;
  }
  Address address = 0;
  size_t size = 0;
  const auto& next = code == Code::kLibrary ? next_library_global : next_module_global;
  if (next.call_or(kNotSupported, &address, &size, handle, objects::ptx_name(name).c_str()) != kSuccess)
    return std::nullopt;
  return MemoryRange{address, size};
}

// Where the vendor has a variable: by its host variable, if start-up code registered one.
std::optional<MemoryRange> CudaRuntime::find_variable(void* fat_binary, const std::string& name) {
  const void* variable = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto binary = variables_.find(fat_binary);
    if (binary != variables_.end() && binary->second.contains(name)) variable = binary->second.at(name);
  }
  if (!variable) return find_in_code(fat_binary, name);
  void* address = nullptr;
  size_t size = 0;
  if (next_symbol_address.call_or(kNotSupported, &address, variable) != kSuccess ||
      next_symbol_size.call_or(kNotSupported, &size, variable) != kSuccess) {
    next_last_error.call_or(kNotSupported);
    return std::nullopt;
  }
  return MemoryRange{reinterpret_cast<uint64_t>(address), size};
}

bool CudaRuntime::has_variable(const std::string& name) {
  std::vector<void*> codes;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [fat_binary, functions] : kernels_) codes.push_back(fat_binary);
    for (const auto& [handle, kind] : code_) codes.push_back(handle);
  }
  return std::ranges::any_of(codes, [&](void* code) { return find_variable(code, name).has_value(); });
}

// The assembler's are in the kernel's record; what the loader decides the program's variables say.
std::vector<uint64_t> CudaRuntime::function_addresses(const ProgramCode& code, const bundle::KernelInfo& kernel,
                                                      int device, std::vector<std::string>& missing) {
  if (!kernel.function_addresses.empty()) return {};
  std::vector<uint64_t> addresses;
  for (const std::string& name : kernel.functions) {
    std::optional<uint64_t> address = function_address(code.handle, name, device);
    addresses.push_back(address.value_or(0));
    if (address || !missing.empty()) continue;
    missing.push_back(fmt::format("the CUDA runtime does not say where the function '{}' lies", name));
  }
  if (std::ranges::all_of(addresses, [](uint64_t address) { return address == 0; })) addresses.clear();
  return addresses;
}

// What the variable holds that mneme-inject has added for it. 0: there is none, and nothing takes its address. nullopt:
// it cannot be read.
std::optional<uint64_t> CudaRuntime::function_address(void* fat_binary, const std::string& name, int device) {
  {
    std::lock_guard lock(mutex_);
    auto known = addresses_.find({fat_binary, name, device});
    if (known != addresses_.end()) return known->second;
  }
  OnDevice there(device);
  uint64_t address = 0;
  std::optional<MemoryRange> holder = find_variable(fat_binary, objects::address_symbol(name));
  if (holder && holder->size == sizeof address &&
      !QuietStream(devices, device).read(holder->address, std::as_writable_bytes(std::span(&address, 1)))) {
    return std::nullopt;
  }
  std::lock_guard lock(mutex_);
  return addresses_[{fat_binary, name, device}] = address;
}

uint64_t CudaRuntime::stack_bytes(int device) {
  constexpr int kStackSize = 0;         // cudaLimitStackSize
  constexpr size_t kUsualStack = 1024;  // unless the application asks for another
  OnDevice there(device);
  size_t bytes = 0;
  return succeeds(next_limit.call_or(kNotSupported, &bytes, kStackSize)) && bytes > kUsualStack ? bytes : 0;
}

// ---- the heap from which kernels allocate ----

std::optional<uint64_t> CudaRuntime::heap_limit(int device) {
  constexpr int kHeapSize = 2;  // cudaLimitMallocHeapSize
  OnDevice there(device);
  size_t bytes = 0;
  if (!succeeds(devices.calls.get_limit.call_or(kNotSupported, &bytes, kHeapSize))) return std::nullopt;
  return bytes;
}

bool CudaRuntime::zero(MemoryRange memory, int device) {
  return QuietStream(devices, device).zero(memory.address, memory.size);
}

bool CudaRuntime::point_to_heap(const ProgramCode& code, const std::string& variable, const objects::HeapVariable& heap,
                                int device) {
  QuietStream stream(devices, device);
  std::optional<MemoryRange> found = find_variable(code.handle, variable);
  return found && found->size == sizeof heap && stream.write(found->address, std::as_bytes(std::span(&heap, 1)));
}

std::optional<MemoryRange> CudaRuntime::global(const ProgramCode& code, const std::string& name, int device) {
  OnDevice there(device);
  std::optional<MemoryRange> range = find_variable(code.handle, name);
  if (!range) return std::nullopt;
  used_devices_ |= uint64_t{1} << device;
  std::lock_guard lock(mutex_);
  found_[{code.handle, name}] = *range;
  return range;
}

TexturesOfLaunch CudaRuntime::textures(const bundle::KernelInfo& kernel, const std::string& arguments, int device,
                                       std::vector<std::string>& missing) {
  OnDevice there(device);
  return ask_for_textures(kernel, arguments, missing);
}

bool CudaRuntime::copy_array(const bundle::TextureArray& array, const std::vector<void*>& levels, uint64_t address) {
  return begin_to_copy(array, levels, address) && wait() == kSuccess;
}

// ---- the process's ----

// Never destroyed: applications call CUDA from destructors that run last.
CudaRuntime& runtime() {
  static auto* only = new CudaRuntime;
  return *only;
}

Core* recorder() { return started.load(std::memory_order_acquire) ? core() : nullptr; }

// CUDA's stand-in is the one for HIP, called otherwise.
bool find_stand_in() {
  constexpr char kOnlyItHas[] = "mneme_hostgpu_settle";
  if (::dlsym(RTLD_NEXT, kOnlyItHas)) return true;
  void* library = ::dlopen("libamdhip64.so.5", RTLD_LAZY | RTLD_NOLOAD);
  return library && ::dlsym(library, kOnlyItHas);
}

bool is_stand_in() {
  static const bool is = find_stand_in();
  return is;
}

void start() {
  if (started.load(std::memory_order_acquire) || is_stand_in()) return;
  record::start(runtime());
  started.store(true, std::memory_order_release);
}

Core* first_recorder() {
  start();
  return recorder();
}

}  // namespace mneme::record::cuda
