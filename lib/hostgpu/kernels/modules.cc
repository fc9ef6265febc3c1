// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Modules: device code that the program loads at run time, from a file or from its memory.
#include <map>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/held_over_forks.h"
#include "hostgpu/kernels/registration.h"

namespace mneme::hostgpu {
namespace {

struct Module {
  explicit Module(std::string bytes)
      : image(std::move(bytes)), program(reinterpret_cast<const std::byte*>(image.data())) {}

  std::string image;  // a copy: the application may free its own
  Program program;
  // As far as asked for:
  std::map<std::string, Function*> functions;
  std::map<std::string, std::unique_ptr<textureReference>> textures;
};

struct Modules {
  HeldOverForks<std::mutex> mutex;
  std::map<hipModule_t, std::unique_ptr<Module>> live;
};

// Never destroyed: modules are unloaded from destructors that run last.
Modules& modules() {
  static auto* all = new Modules;
  return *all;
}

// The address of its program is what stands for a module: the recorder asks for variables by it.
hipModule_t handle_of(Module& module) { return reinterpret_cast<hipModule_t>(&module.program); }

// With the lock held.
Module& find(hipModule_t handle) {
  auto found = modules().live.find(handle);
  require(found != modules().live.end(), hipErrorInvalidHandle);
  return *found->second;
}

// A module's, or one that start-up code registered, which stands for itself, too. With the lock held.
Program& program_of(hipModule_t handle) {
  auto found = modules().live.find(handle);
  if (found != modules().live.end()) return found->second->program;
  Program* registered = registered_program(handle);
  require(registered, hipErrorInvalidHandle);
  return *registered;
}

hipFunction_t function_of(hipModule_t handle, const char* name) {
  auto found = modules().live.find(handle);
  if (found == modules().live.end()) {
    const void* function = host_function_of(program_of(handle), name);
    require(function, hipErrorNotFound);
    return reinterpret_cast<hipFunction_t>(const_cast<void*>(function));
  }
  Module& module = *found->second;
  require(module.program.kernel(name), hipErrorNotFound);
  Function*& known = module.functions[name];
  if (!known) known = &add_function(module.program, name);
  return reinterpret_cast<hipFunction_t>(known);
}

void load(hipModule_t* handle, std::string bytes) {
  auto module = std::make_unique<Module>(std::move(bytes));
  bool usable = module->program.has_kernels();
  require(!module->program.is_damaged(), hipErrorInvalidImage);
  if (!usable) say_once("a module carries no IR: build it with mneme-inject");
  require(usable, hipErrorNoBinaryForGpu);
  std::lock_guard lock(modules().mutex);
  *handle = handle_of(*module);
  modules().live[*handle] = std::move(module);
}

hipError_t load_data(hipModule_t* handle, const void* image) {
  return answer([&] {
    require(handle && image);
    const auto* start = static_cast<const std::byte*>(image);
    size_t size = 0;
    try {
      size = objects::size_of_image(start, "the module");
    } catch (const Error& error) {
      throw HipError(hipErrorInvalidImage, error.what());
    }
    load(handle, std::string(reinterpret_cast<const char*>(start), size));
  });
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  return answer([&] {
    require(module && path && *path);
    std::string bytes;
    try {
      bytes = mneme::read_file(path);
    } catch (const mneme::Error& error) {
      throw HipError(hipErrorFileNotFound, error.what());
    }
    try {
      // Code that ends early must not lead behind the file's contents.
      auto start = reinterpret_cast<const std::byte*>(bytes.data());
      mneme::objects::device_code_of_image(start, bytes.size(), path);
      require(mneme::objects::size_of_image(start, path) <= bytes.size(), hipErrorInvalidImage);
    } catch (const mneme::Error& error) {
      throw HipError(hipErrorInvalidImage, error.what());
    }
    load(module, std::move(bytes));
  });
}

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) { return load_data(module, image); }

// The options are for a compiler that is not here.
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, hipJitOption*, void**) {
  return load_data(module, image);
}

hipError_t hipModuleUnload(hipModule_t module) {
  return answer([&] {
    {
      std::lock_guard lock(modules().mutex);
      find(module);
    }
    static_cast<void>(hipDeviceSynchronize());  // its kernels may be running still
    std::unique_ptr<Module> gone;
    {
      std::lock_guard lock(modules().mutex);
      find(module);
      gone = std::move(modules().live.extract(module).mapped());
    }
    forget(gone->program);
    gone->program.release_variables();
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t handle, const char* name) {
  return answer([&] {
    require(function && name && *name);
    std::lock_guard lock(modules().mutex);
    *function = function_of(handle, name);
  });
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* size, hipModule_t handle, const char* name) {
  return answer_on_device([&] {
    require(name && *name);
    std::lock_guard lock(modules().mutex);
    auto variable = program_of(handle).on(current_device()).find_variable(name);
    require(variable.has_value(), hipErrorNotFound);
    if (address) *address = variable->address;
    if (size) *size = variable->size;
  });
}

hipError_t hipModuleGetTexRef(textureReference** reference, hipModule_t handle, const char* name) {
  return answer_on_device([&] {
    require(reference && name && *name);
    std::lock_guard lock(modules().mutex);
    Module& module = find(handle);
    auto variable = module.program.on(current_device()).find_variable(name);
    require(variable && variable->size == sizeof(textureReference), hipErrorNotFound);
    std::unique_ptr<textureReference>& known = module.textures[name];
    if (!known) {
      known = std::make_unique<textureReference>();
      *known = {};
      add_symbol(known.get(), module.program, name, sizeof(textureReference));
    }
    *reference = known.get();
  });
}

__attribute__((visibility("default"))) int mneme_hostgpu_module_of(const void* function, hipModule_t* module) {
  return answer([&] {
    require(module);
    *module = reinterpret_cast<hipModule_t>(registered_function(function).program);
  });
}

__attribute__((visibility("default"))) const char* mneme_hostgpu_kernel_name(hipModule_t module, size_t index) {
  try {
    std::lock_guard lock(modules().mutex);
    const std::string* name = program_of(module).kernel_name(index);
    return name ? name->c_str() : nullptr;
  } catch (const HipError&) {
    return nullptr;
  }
}

const char* hipKernelNameRef(const hipFunction_t function) {
  try {
    return registered_function(function).name.c_str();
  } catch (const HipError&) {
    return nullptr;
  }
}

}  // extern "C"
