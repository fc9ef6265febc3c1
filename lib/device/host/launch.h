// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running a compiled kernel on the CPU's cores: shared by the replaying Device and by lib/hostgpu.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "bundle/format.h"
#include "codegen/host/abi.h"

namespace mneme::device::host {

// A loaded shared object. Immutable once its globals are placed; launches may run concurrently.
class HostCode {
 public:
  // `path` names a file, or a descriptor as /proc/self/fd/N.
  static std::unique_ptr<HostCode> load(const std::string& path, const std::string& kernel);
  ~HostCode();

  std::span<codegen::host::GlobalSlot> globals() const;
  const codegen::host::CodeObject& object() const { return *object_; }

 private:
  explicit HostCode(void* handle) : handle_(handle) {}
  void* handle_;
  codegen::host::CodeObject* object_ = nullptr;
};

// Writes a fresh variable's contents to its address: initial value, then relocations against `all`,
// whose addresses must be set.
void initialise_global(const codegen::host::GlobalSlot& slot, std::span<const codegen::host::GlobalSlot> all);

// Runs all blocks, over the cores with oneTBB unless the code wants order, and returns when the last
// one ended. Throws Error for a launch that cannot be (no threads, too much shared memory) and for a
// fault that the code reported, naming kernel, block and thread.
void run_grid(const HostCode& code, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments);

}  // namespace mneme::device::host
