// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "device/host/launch.h"

namespace mneme::device::host {
namespace {

using codegen::host::CodeObject;
using codegen::host::GlobalSlot;

// The loader takes a path it has seen for the object it has already, and descriptors are reused: so each load spells
// the descriptor's path in a way of its own, a number written with "./" for 0 and ".//" for 1.
std::string unique_path(int fd) {
  static std::atomic<uint64_t> loads{0};
  std::string path = "/proc/self/fd/";
  for (uint64_t number = ++loads; number; number /= 2) path += number % 2 ? ".//" : "./";
  return path + std::to_string(fd);
}

}  // namespace

std::unique_ptr<HostCode> HostCode::load(const std::string& path, const std::string& kernel) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Error::of("cannot load the code of kernel '{}': {}", kernel, ::dlerror());
  std::unique_ptr<HostCode> code(new HostCode(handle));
  code->object_ = static_cast<CodeObject*>(::dlsym(handle, codegen::host::kEntrySymbol));
  if (!code->object_) {
    throw Error::of("the code of kernel '{}' is not code for the host device: it lacks '{}'", kernel,
                    codegen::host::kEntrySymbol);
  }
  if (code->object_->version != codegen::host::kAbiVersion) {
    throw Error::of("the code of kernel '{}' is of version {}, but this Mneme runs version {}; compile it again",
                    kernel, code->object_->version, codegen::host::kAbiVersion);
  }
  return code;
}

std::unique_ptr<HostCode> HostCode::load(Bytes code, const std::string& kernel) {
  Fd file = memory_file("mneme-code", code);
  return load(unique_path(file.get()), kernel);
}

HostCode::~HostCode() { ::dlclose(handle_); }

std::span<GlobalSlot> HostCode::globals() const { return {object_->globals, object_->global_count}; }

void initialise_global(const GlobalSlot& slot, std::span<const GlobalSlot> all) {
  if (slot.initial) {
    std::memcpy(slot.address, slot.initial, slot.size);
  } else {
    std::memset(slot.address, 0, slot.size);
  }
  for (const auto& relocation : std::span(slot.relocations, slot.relocation_count)) {
    if (relocation.target >= all.size() || slot.size < 8 || relocation.offset > slot.size - 8) {
      throw Error::of("the code's variable '{}' has a pointer that leads nowhere; compile it again", slot.name);
    }
    auto* place = static_cast<std::byte*>(slot.address) + relocation.offset;
    uint64_t word;
    std::memcpy(&word, place, sizeof word);
    word += reinterpret_cast<uint64_t>(all[relocation.target].address);
    std::memcpy(place, &word, sizeof word);
  }
}

}  // namespace mneme::device::host
