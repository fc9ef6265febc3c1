// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/registration.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "base/long_names.h"
#include "hostgpu/api_call.h"
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "vendor/hip/api.h"

namespace mneme::hostgpu {
namespace {

struct Shadow {
  Program* program = nullptr;
  std::string name;
  void* managed = nullptr;  // a managed variable is used by its address
  uint64_t size = 0;
};

struct Registry {
  std::shared_mutex mutex;
  std::vector<std::unique_ptr<Program>> programs;
  std::unordered_map<const void*, std::unique_ptr<Function>> functions;
  std::unordered_map<const void*, Shadow> variables;
};

// Never destroyed: kernels are launched from destructors that run last.
Registry& registry() {
  static auto* all = new Registry;
  return *all;
}

Program* program_of(void** handle) { return reinterpret_cast<Program*>(handle); }

// What the program was linked of.
std::vector<Bytes> units_of(const vendor::FatBinaryWrapper& wrapper) {
  std::vector<Bytes> units;
  if (wrapper.version != 2 || !wrapper.units) return units;
  for (const std::byte* const* unit = wrapper.units; *unit; ++unit) units.emplace_back(*unit, SIZE_MAX);
  return units;
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                   std::free);
  return text ? text.get() : name;
}

}  // namespace

std::string first_target() {
  Program* first = nullptr;
  {
    std::shared_lock lock(registry().mutex);
    if (!registry().programs.empty()) first = registry().programs.front().get();
  }
  return first ? first->target() : std::string();
}

Function& registered_function(const void* host) {
  std::shared_lock lock(registry().mutex);
  auto found = registry().functions.find(host);
  require(found != registry().functions.end(), hipErrorInvalidDeviceFunction);
  return *found->second;
}

Kernel& found_kernel(const void* host) {
  Function& function = registered_function(host);
  const int device = current_device();
  std::atomic<Kernel*>& known = function.kernels[static_cast<size_t>(device)];
  Kernel* kernel = known.load(std::memory_order_acquire);
  if (!kernel) {
    kernel = function.program->on(device).kernel(function.name);
    if (!kernel) {
      // Of IR that cannot be read the program has told.
      if (!function.program->is_damaged())
        say_once(fmt::format("kernel '{}' {}", cut_in_the_middle(demangled(function.name)),
                             function.program->on(device).why_missing(function.name)));
      throw HipError(hipErrorInvalidDeviceFunction);
    }
    known.store(kernel, std::memory_order_release);
  }
  return *kernel;
}

Kernel& ready_kernel(const void* host) {
  Kernel& kernel = found_kernel(host);
  if (!kernel.code()) registered_function(host).program->on(current_device()).prepare(kernel);
  return kernel;
}

Function& add_function(Program& program, const std::string& name) {
  auto made = std::make_unique<Function>();
  made->program = &program;
  made->name = name;
  Function& function = *made;
  std::unique_lock lock(registry().mutex);
  registry().functions[&function] = std::move(made);
  return function;
}

void add_symbol(const void* host, Program& program, const std::string& name, uint64_t size) {
  std::unique_lock lock(registry().mutex);
  registry().variables.try_emplace(host, Shadow{&program, name, nullptr, size});
}

Program* registered_program(const void* program) {
  std::shared_lock lock(registry().mutex);
  auto found = std::ranges::find_if(registry().programs, [&](const auto& one) { return one.get() == program; });
  return found == registry().programs.end() || (*found)->unregistered ? nullptr : found->get();
}

const void* host_function_of(const Program& program, const std::string& name) {
  std::shared_lock lock(registry().mutex);
  auto found = std::ranges::find_if(registry().functions, [&](const auto& entry) {
    return entry.second->program == &program && entry.second->name == name;
  });
  return found == registry().functions.end() ? nullptr : found->first;
}

void forget(Program& program) {
  std::unique_lock lock(registry().mutex);
  program.unregistered = true;
  std::erase_if(registry().functions, [&](const auto& entry) { return entry.second->program == &program; });
  std::erase_if(registry().variables, [&](const auto& entry) { return entry.second.program == &program; });
}

Symbol registered_symbol(const void* host) {
  Shadow shadow;
  {
    std::shared_lock lock(registry().mutex);
    auto found = registry().variables.find(host);
    require(found != registry().variables.end(), hipErrorInvalidSymbol);
    shadow = found->second;
  }
  if (shadow.managed) return {shadow.managed, shadow.size};
  Program::Variable variable = shadow.program->on(current_device()).variable(shadow.name);
  return {variable.address, shadow.size};
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

#pragma GCC visibility push(default)
extern "C" {

void** __hipRegisterFatBinary(const void* data) {
  const auto* wrapper = static_cast<const mneme::vendor::FatBinaryWrapper*>(data);
  if (!wrapper || wrapper->magic != mneme::vendor::hip::kWrapperMagic || wrapper->version < 1 || wrapper->version > 2) {
    say("the application registers device code of a kind that is not understood; build it with mneme-inject");
    return nullptr;
  }
  // Translation units whose device code was linked into one register it each.
  std::unique_lock lock(registry().mutex);
  auto& programs = registry().programs;
  auto known = std::ranges::find_if(
      programs, [&](auto& program) { return program->fat_binary() == wrapper->data && !program->unregistered; });
  if (known == programs.end())
    known = programs.insert(programs.end(), std::make_unique<Program>(wrapper->data, units_of(*wrapper)));
  return reinterpret_cast<void**>(known->get());
}

// The first registration of a stub counts: a template used in two translation units is registered twice.
int __hipRegisterFunction(void** handle, const void* host, char*, const char* name, unsigned, void*, void*, dim3*,
                          dim3*, int*) {
  if (!handle) return hipErrorInvalidValue;
  std::unique_lock lock(registry().mutex);
  auto [entry, fresh] = registry().functions.try_emplace(host);
  if (!fresh) return hipSuccess;
  entry->second = std::make_unique<Function>();
  entry->second->program = program_of(handle);
  entry->second->name = name;
  return hipSuccess;
}

void __hipRegisterVar(void** handle, void* host, char*, char* name, int, size_t size, int, int) {
  if (!handle) return;
  program_of(handle)->add_variable(name, size);
  add_symbol(host, *program_of(handle), name, size);
}

void __hipRegisterTexture(void** handle, void* host, char*, char* name, int, int, int) {
  if (!handle) return;
  program_of(handle)->add_variable(name, sizeof(textureReference));
  add_symbol(host, *program_of(handle), name, sizeof(textureReference));
}

void __hipRegisterManagedVar(void** handle, void** pointer, void* initial, const char* name, size_t size, unsigned) {
  if (!handle) return;
  // The application may use it before it calls anything of this library.
  void* memory = nullptr;
  if (hipMallocManaged(&memory, size, hipMemAttachGlobal) != hipSuccess) {
    say(fmt::format("there is no memory for the managed variable '{}' of {} bytes", name, size));
    return;
  }
  std::memcpy(memory, initial, size);
  *pointer = memory;
  program_of(handle)->add_variable(name, size, memory);
  std::unique_lock lock(registry().mutex);
  registry().variables.try_emplace(pointer, Shadow{program_of(handle), name, memory, size});
  registry().variables.try_emplace(memory, Shadow{program_of(handle), name, memory, size});
}

// Its host pointers may come to stand for something else. The program itself stays: a launch may be under way.
void __hipUnregisterFatBinary(void** handle) {
  if (!handle || ApiCall::ends_interrupted()) return;
  forget(*program_of(handle));
}

int mneme_hostgpu_global(const void* fat_binary, const char* name, void** address, size_t* size) {
  return answer([&] {
    require(fat_binary && name && address && size);
    auto found = static_cast<Program*>(const_cast<void*>(fat_binary))->on(current_device()).peek(name);
    require(found.has_value(), hipErrorInvalidSymbol);
    *address = found->address;
    *size = found->size;
  });
}

int mneme_hostgpu_lifted(const void* program, const void** records, size_t* size) {
  return answer([&] {
    require(program && records && size);
    mneme::Bytes found = static_cast<Program*>(const_cast<void*>(program))->lifted_records();
    *records = found.data();
    *size = found.size();
  });
}

int mneme_hostgpu_prepare(const void* host_function) {
  return answer([&] { ready_kernel(host_function); });
}

}  // extern "C"
#pragma GCC visibility pop
