// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running a compiled kernel on the CPU's cores: shared by the replaying Device and by lib/hostgpu.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"
#include "bundle/format.h"
#include "codegen/host/abi.h"

namespace mneme::device::host {

// A loaded shared object. Immutable once its globals are placed; launches may run concurrently.
class HostCode {
 public:
  // `path` names a file, or a descriptor as /proc/self/fd/N.
  // One file loaded twice at the same time is one copy, variables included. Throws Error naming `kernel`.
  static std::unique_ptr<HostCode> load(const std::string& path, const std::string& kernel);
  // Always a copy of its own, and no descriptor stays open.
  static std::unique_ptr<HostCode> load(Bytes code, const std::string& kernel);
  ~HostCode();
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

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

// What a launch may ask for at most.
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint64_t kMaxThreadsPerDimension = INT32_MAX;  // of the grid; the code generator relies on it
inline constexpr uint64_t kMaxSharedBytes = codegen::host::kMaxSharedBytes;

// How many blocks of these dimensions there can be at once: as many as a grid may have whose blocks wait for each
// other.
uint64_t most_resident_blocks(const HostCode& code, bundle::Dim3 block);

// Has what is made once, for all kernels or for this thread, made now. An application's memory lies where it does in
// other runs if that is when the application launches, not when a stream's thread comes to it. Costs nothing the second
// time.
void prepare_to_run();

// The same of what children of this process, forked from now on, find made already; it starts no thread.
void prepare_to_fork();

// Throws Error for a launch that cannot be: an empty grid or block, more than kMaxThreadsPerBlock, more
// than kMaxThreadsPerDimension, more than `most_shared` bytes of shared memory, more than most_resident_blocks() that
// wait for each other.
void check_launch(const HostCode& code, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes,
                  uint64_t most_shared = kMaxSharedBytes);

// Whether the code keeps a wave's lanes in step in blocks of these dimensions. A kernel that asks only for threadIdx.x
// is compiled for blocks whose rows share no wave; compiled to the fiber form it suits all.
bool suits(const HostCode& code, bundle::Dim3 block);

// Memory that a kernel may use, for code compiled to be checked.
struct KnownMemory {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string what;  // "a 4096-byte allocation of device memory"
};

class DeviceHeap;
class Findings;

// What a launch needs beyond its arguments. Referred to until run_grid returns.
struct RunOptions {
  // Takes what the kernel prints, to stdout (1) or stderr (2), a message a call; called from several threads, one at a
  // time. Empty: it is dropped.
  std::function<void(int stream, std::string_view text)> print;
  // The device's heap, for kernels that allocate: its memory is kept between launches. Null: there is none, and device
  // malloc() returns null.
  DeviceHeap* heap = nullptr;
  // Shared memory begins as kPoison bytes instead of zeros.
  bool poison_shared = false;
  // By address, disjoint. Looked at by checked code only; and what was freed, the last first, to tell so.
  std::span<const KnownMemory> memory, freed;
  // Runs this block alone.
  std::optional<bundle::Dim3> only;
  // Takes warnings about the kernel (threads that do not come to a barrier), a sentence a call, as `print` is called.
  std::function<void(const std::string& sentence)> warn;
  // Counts one more as long as all of the launch that has not ended waits for memory that none of it changes, and has
  // done so for a tenth of a second. May be null.
  std::atomic<int>* waiting = nullptr;
  // Takes what code with checks finds; null: nothing is looked for.
  Findings* findings = nullptr;
};
inline constexpr uint8_t kPoison = 0xCB;

// A kernel that did not end well.
class KernelFault : public Error {
 public:
  KernelFault(const std::string& sentence, uint32_t kind, bundle::Dim3 block, bool exact,
              std::optional<uint64_t> address = std::nullopt)
      : Error(sentence), kind_(kind), block_(block), exact_(exact), address_(address) {}
  // codegen::host::BlockFault. kNoFault: a signal came, and code that checks its accesses may tell more.
  uint32_t kind() const { return kind_; }
  bundle::Dim3 block() const { return block_; }
  // False: it is not known which of the block's work-items it was.
  bool exact() const { return exact_; }
  // The address that it may not use; nullopt: it was something else, or the signal does not tell.
  std::optional<uint64_t> address() const { return address_; }

 private:
  uint32_t kind_;
  bundle::Dim3 block_;
  bool exact_;
  std::optional<uint64_t> address_;
};

// Runs all blocks, over the cores with oneTBB unless the code wants order, and returns when the last
// one ended. Shared memory is zeroed for each block, so that even a kernel that reads what it never wrote gives the
// same bytes every time. Throws Error as check_launch() does, and for code that does not suit the block; KernelFault
// for a fault that the code reported, naming kernel, block and thread, and for a trap or a wild pointer, naming kernel,
// block and address.
void run_grid(const HostCode& code, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments,
              const RunOptions& options = {});

}  // namespace mneme::device::host
