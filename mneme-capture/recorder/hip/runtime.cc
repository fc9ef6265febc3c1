// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/runtime.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "memory/arena.h"
#include "objects/function_address.h"
#include "recorder/hip/devices.h"
#include "recorder/hip/waiting.h"
#include "recorder/runtime/quiet_stream.h"

namespace mneme::record::hip {

CALL(Status, hipFree, void*)
CALL(int, hipGetStreamDeviceId, void*)
CALL(Status, mneme_hostgpu_lifted, const void*, const void**, size_t*)
CALL(Status, mneme_hostgpu_prepare, const void*)
CALL(Status, mneme_hostgpu_settle, unsigned)
CALL(void, mneme_hostgpu_hold)
CALL(void, mneme_hostgpu_let_go)
CALL(Status, mneme_hostgpu_global, void*, const char*, void**, size_t*)
CALL(Status, hipHostGetDevicePointer, void**, void*, unsigned)
CALL(Status, hipDeviceSetLimit, int, size_t)
CALL(Status, hipRuntimeGetVersion, int*)
CALL(Status, hipModuleGetGlobal, void**, size_t*, Module, const char*)
CALL(void, __hipRegisterVar, void*, void*, char*, const char*, int, size_t, int, int)
CALL(Status, hipMemcpy, void*, const void*, size_t, int)
CALL(Status, hipGetSymbolAddress, void**, const void*)
CALL(Status, hipGetSymbolSize, size_t*, const void*)
CALL(Status, hipMemcpyToSymbol, const void*, const void*, size_t, size_t, int)

namespace {

constexpr char kWhere[] = "the application's device code";

// The bytes that a variable has which code for each processor exports: which of them is loaded is not asked. 0: none.
uint64_t exported_size(const ProgramCode& code, const std::string& name) {
  uint64_t size = 0;
  for (const objects::DeviceCode& image : code.images) {
    auto variable = objects::elf_variable(image.image, name, kWhere);
    if (!variable || variable->size == 0 || (size != 0 && variable->size != size)) return 0;
    size = variable->size;
  }
  return size;
}

bool may_have(const ProgramCode& code, const std::string& name) {
  return std::ranges::any_of(code.images,
                             [&](auto& image) { return objects::elf_may_have(image.image, name, kWhere); });
}

// Whether the code says all that there is to know of what memory may point to (mneme-inject).
bool is_exposed(const ProgramCode& code) { return exported_size(code, objects::kExposedSymbol) != 0; }

std::optional<MemoryRange> find_by_host(const void* host_variable) {
  void* address = nullptr;
  size_t size = 0;
  bool found = succeeds(next::hipGetSymbolAddress(&address, host_variable)) &&
               succeeds(next::hipGetSymbolSize(&size, host_variable));
  return found ? std::optional(MemoryRange{reinterpret_cast<uint64_t>(address), size}) : std::nullopt;
}

}  // namespace

MemoryRange HipRuntime::reserve(uint64_t base, uint64_t size, int device) {
  return memory_.reserve(base, size, device);
}

void HipRuntime::unreserve(uint64_t base, uint64_t size) { memory_.unreserve(base, size); }

std::optional<Fd> HipRuntime::back(uint64_t address, uint64_t size, int device) {
  std::optional<Fd> backed = memory_.back(address, size, device);
  if (backed) use(device);
  return backed;
}

void HipRuntime::unback(uint64_t address, uint64_t size) { memory_.unback(address, size); }

bool HipRuntime::adopt_host(void* address, uint64_t size) {
  if (!VendorRuntime::adopt_host(address, size)) return false;
  if (is_stand_in()) return true;
  // Pointers to it are recorded as they are, so that the device has to have it at the host's address.
  void* there = nullptr;
  if (succeeds(next::hipHostGetDevicePointer(&there, address, 0)) && there == address) return true;
  disown_host(address);
  throw mneme::Error(
      "this GPU sees host memory at other addresses than the host does, so kernels' accesses to it cannot be recorded");
}

bool HipRuntime::works() { return succeeds(next::hipFree(nullptr)); }

int HipRuntime::ask_device_of(void* stream) {
  return next::hipGetStreamDeviceId ? next::hipGetStreamDeviceId(stream) : -1;
}

int HipRuntime::synchronize(std::chrono::milliseconds patience) {
  if (is_stand_in()) return next::mneme_hostgpu_settle(static_cast<unsigned>(patience.count()));
  return on_devices([&](int device) { return wait_for_device(device, patience); });
}

int HipRuntime::synchronize(void* stream, std::chrono::milliseconds patience) {
  if (!is_stand_in()) return wait_for(stream, device_of(stream), patience);
  OnDevice its(device_of(stream));  // whose errors count
  return synchronize(patience);
}

// The vendor's runtime has no such thing: there the hooks of what changes memory wait.
void HipRuntime::hold() {
  if (is_stand_in()) return next::mneme_hostgpu_hold();
  VendorRuntime::hold();
}

void HipRuntime::let_go() {
  if (is_stand_in()) return next::mneme_hostgpu_let_go();
  VendorRuntime::let_go();
}

bool HipRuntime::is_stand_in() {
  static const bool is = static_cast<bool>(next::mneme_hostgpu_settle);
  return is;
}

bool HipRuntime::is_capturing(void* stream) {
  // AMD's runtime answers with an error where anything is waited for meanwhile, and the graph is lost.
  return (!is_stand_in() && VendorRuntime::is_capturing(stream)) || notes_down(stream);
}

bool HipRuntime::prepare(const void* host_function, int device) {
  OnDevice there(device);
  return !next::mneme_hostgpu_prepare || succeeds(next::mneme_hostgpu_prepare(host_function));
}

// Releases that cannot be asked for one do not say how large it is, either.
uint64_t HipRuntime::stack_bytes(int device) {
  return next::hipDeviceSetLimit ? VendorRuntime::stack_bytes(device) : 0;
}

Status HipRuntime::is_of_6_or_later(bool& is) {
  constexpr int kFirst = 60'000'000;
  static std::atomic<int> known = 0;
  int version = known;
  if (version == 0) {
    if (Status status = next::hipRuntimeGetVersion(&version)) return status;
    known = version;
  }
  is = version >= kFirst;
  return kSuccess;
}

// ---- variables ----

void HipRuntime::add_reference(void* fat_binary, const char* name) {
  std::lock_guard lock(mutex_);
  references_[fat_binary].insert(name);
}

void HipRuntime::add_fat_binary(void* fat_binary, const std::byte* image) {
  std::lock_guard lock(mutex_);
  images_[fat_binary] = image;
}

// To the vendor it becomes an ordinary variable, which holds a pointer.
bool HipRuntime::lead_to(void* fat_binary, const char* name, void* memory) try {
  const std::byte* image = nullptr;
  {
    std::lock_guard lock(mutex_);
    image = images_[fat_binary];
  }
  if (!image || devices.count() == 0) return false;
  auto images = objects::device_code_of_image(image, SIZE_MAX, kWhere);
  const ProgramCode code{fat_binary, images};
  const void* variable = exported_size(code, name) == sizeof memory ? host_variable(code, name) : nullptr;
  if (!variable) return false;
  for (int device = 0; device < devices.count(); ++device) {
    OnDevice there(device);
    if (!succeeds(next::hipMemcpyToSymbol(variable, &memory, sizeof memory, 0, kHostToDevice))) {
      return false;
    }
  }
  return true;
} catch (const std::exception&) {
  return false;
}

void HipRuntime::add_managed_variable(void* fat_binary, const char* name) {
  std::lock_guard lock(mutex_);
  managed_[fat_binary].insert(name);
  variables_[fat_binary].erase(name);
}

std::string HipRuntime::why_missing(const ProgramCode& code, const bundle::KernelInfo& kernel,
                                    const std::string& name) {
  if (is_stand_in()) return {};
  std::lock_guard lock(mutex_);
  auto binary = managed_.find(code.handle);
  if (binary != managed_.end() && binary->second.contains(name))
    return fmt::format("the managed variable '{}' is out of the recorder's reach on an AMD GPU", name);
  auto registered = variables_.find(code.handle);
  bool known = registered != variables_.end() && registered->second.contains(name);
  if (known) return fmt::format("the HIP runtime does not say where the variable '{}' lies", name);
  // Other constants hold what they do in a replay's code, too.
  auto global = std::ranges::find(kernel.globals, name, &bundle::Global::name);
  const bool matters = global != kernel.globals.end() && (!global->constant || !kernel.functions.empty());
  if (!matters || name == bundle::kDeviceHeap || is_exposed(code) || !may_have(code, name)) return {};
  return fmt::format(
      "the application's code does not say where the variable '{}' lies, as mneme-inject makes it do "
      "where it is not relocatable (-fgpu-rdc)",
      name);
}

std::vector<uint64_t> HipRuntime::function_addresses(const ProgramCode& code, const bundle::KernelInfo& kernel,
                                                     int device, std::vector<std::string>& missing) {
  if (is_stand_in() || kernel.functions.empty()) return {};
  std::vector<uint64_t> addresses;
  for (const std::string& name : kernel.functions) {
    addresses.push_back(function_address(code, name, device));
    // One of which exposed code says nothing is not there any more, or nothing takes its address.
    if (addresses.back() != 0 || !missing.empty()) continue;
    if (exported_size(code, objects::address_symbol(name)) != 0) {
      missing.push_back(fmt::format("the HIP runtime does not say where the function '{}' lies", name));
    } else if (!is_exposed(code) && may_have(code, name)) {
      missing.push_back(
          fmt::format("the application's code does not say where the function '{}' lies, as mneme-inject "
                      "makes it do where it is not relocatable (-fgpu-rdc)",
                      name));
    }
  }
  if (std::ranges::all_of(addresses, [](uint64_t address) { return address == 0; })) addresses.clear();
  return addresses;
}

// What the variable holds that mneme-inject has added for it; 0: there is none.
uint64_t HipRuntime::function_address(const ProgramCode& code, const std::string& name, int device) {
  {
    std::lock_guard lock(mutex_);
    auto known = addresses_.find({code.handle, name, device});
    if (known != addresses_.end()) return known->second;
  }
  OnDevice there(device);
  uint64_t address = 0;
  std::optional<MemoryRange> holder = find_variable(code, objects::address_symbol(name));
  if (!holder || holder->size != sizeof address) return 0;
  const void* from = reinterpret_cast<const void*>(holder->address);
  if (!succeeds(next::hipMemcpy(&address, from, sizeof address, kDeviceToHost))) return 0;
  std::lock_guard lock(mutex_);
  addresses_[{code.handle, name, device}] = address;
  return address;
}

void HipRuntime::add_module(Module module) {
  std::lock_guard lock(mutex_);
  modules_.insert(module);
}

std::vector<MemoryRange> HipRuntime::remove_code(void* handle) {
  {
    std::lock_guard lock(mutex_);
    managed_.erase(handle);
    references_.erase(handle);
    images_.erase(handle);
    modules_.erase(handle);
  }
  return VendorRuntime::remove_code(handle);
}

// Start-up code has one for each variable that the application's source has outside of functions. For what the compiler
// made, one is registered here, as that would: where the code lacks the variable, AMD's runtime ends the process.
const void* HipRuntime::host_variable(const ProgramCode& code, const std::string& name) {
  std::lock_guard lock(mutex_);
  std::map<std::string, const void*>& registered = variables_[code.handle];
  if (auto known = registered.find(name); known != registered.end()) return known->second;
  // Registered in a way of its own.
  if (managed_[code.handle].contains(name) || references_[code.handle].contains(name)) return nullptr;
  const uint64_t size = exported_size(code, name);
  if (size == 0 || !next::__hipRegisterVar) return nullptr;
  void* variable = &host_variables_.emplace_back();
  auto [entry, fresh] = registered.emplace(name, variable);
  next::__hipRegisterVar(code.handle, variable, const_cast<char*>(entry->first.c_str()), entry->first.c_str(), 0, size,
                         0, 0);
  return variable;
}

// Where the vendor has a variable: in a module by its name, else by its host variable.
std::optional<MemoryRange> HipRuntime::find_variable(const ProgramCode& code, const std::string& name) {
  bool module = false;
  {
    std::lock_guard lock(mutex_);
    module = modules_.contains(code.handle);
  }
  if (!module) {
    const void* variable = host_variable(code, name);
    return variable ? find_by_host(variable) : std::nullopt;
  }
  void* address = nullptr;
  size_t size = 0;
  bool found = succeeds(next::hipModuleGetGlobal(&address, &size, code.handle, name.c_str()));
  return found ? std::optional(MemoryRange{reinterpret_cast<uint64_t>(address), size}) : std::nullopt;
}

Bytes HipRuntime::lifted_records(void* program) {
  const void* records = nullptr;
  size_t size = 0;
  if (!is_stand_in() || next::mneme_hostgpu_lifted(program, &records, &size) != kSuccess) return {};
  return {static_cast<const std::byte*>(records), size};
}

// The stand-in's heap is recorded.
std::optional<uint64_t> HipRuntime::heap_limit(int device) {
  return is_stand_in() ? std::nullopt : VendorRuntime::heap_limit(device);
}

std::optional<MemoryRange> HipRuntime::global(const ProgramCode& code, const std::string& name, int device) {
  if (!is_stand_in()) return VendorRuntime::global(code, name, device);
  OnDevice there(device);
  void* address = nullptr;
  size_t size = 0;
  if (next::mneme_hostgpu_global(code.handle, name.c_str(), &address, &size) != kSuccess) return std::nullopt;
  return MemoryRange{reinterpret_cast<uint64_t>(address), size};
}

// Never destroyed: applications call HIP from destructors that run last.
HipRuntime& runtime() {
  static auto* only = new HipRuntime;
  return *only;
}

}  // namespace mneme::record::hip
