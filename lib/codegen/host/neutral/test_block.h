// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: code as compile() gives it, loaded, and one block of it run.
#pragma once
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "codegen/host/abi.h"

namespace mneme::codegen::host {

class LoadedCode {
 public:
  explicit LoadedCode(std::string_view code) {
    Fd file = memory_file("code", bytes_of(code));
    handle_ = ::dlopen(("/proc/self/fd/" + std::to_string(file.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw Error(::dlerror());
    object = static_cast<CodeObject*>(::dlsym(handle_, kEntrySymbol));
  }
  ~LoadedCode() {
    if (handle_) ::dlclose(handle_);
  }
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  CodeObject* object = nullptr;

 private:
  void* handle_ = nullptr;
};

// A block of one row, in a grid of one row, with all that the block sees. Its shared memory holds anything.
class TestBlock {
 public:
  struct Launch {
    uint32_t threads = 1, group = 0, groups = 1;
    uint32_t shared_dynamic = 0;  // bytes
    uint64_t frames = 8 << 20;    // bytes
  };

  TestBlock(const CodeObject& object, const void* arguments, const Launch& launch)
      : object_(object), frames_(new Line[launch.frames / sizeof(Line) + 1]) {
    std::fill_n(shared_, std::size(shared_), uint64_t{0xa5a5a5a5a5a5a5a5});
    implicit_[0] = launch.groups;
    implicit_[1] = implicit_[2] = 1;
    dispatch_[1] = launch.threads;  // an AQL packet has 16 bits for it
    dispatch_[7] = static_cast<uint32_t>((object.shared_static + 15) / 16 * 16 + launch.shared_dynamic);
    context.arguments = arguments;
    context.implicit = implicit_;
    context.dispatch = dispatch_;
    context.shared = shared_;
    context.frames = frames_.get();
    context.frames_size = launch.frames;
    context.group[0] = launch.group;
    context.block[0] = launch.threads;
    context.grid[0] = launch.groups;
    context.block[1] = context.block[2] = context.grid[1] = context.grid[2] = 1;
    context.shared_dynamic = launch.shared_dynamic;
  }

  // `launch` is what the services find in the context.
  BlockContext& run(const Services& services, void* launch = nullptr) {
    context.services = &services;
    context.launch = launch;
    object_.run_block(&context);
    return context;
  }

  BlockContext context{};

 private:
  struct alignas(64) Line {
    uint64_t words[8];
  };
  const CodeObject& object_;
  std::unique_ptr<Line[]> frames_;
  alignas(128) uint64_t shared_[8192];
  uint32_t implicit_[64] = {}, dispatch_[16] = {};
};

}  // namespace mneme::codegen::host
