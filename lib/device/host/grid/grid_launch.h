// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch on its way: what run_grid's ways to run blocks have in common.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "device/host/grid/fault_guard.h"
#include "device/host/grid/running_block.h"
#include "device/host/grid/workspace.h"
#include "device/host/launch.h"
#include "device/host/services/services.h"

namespace mneme::device::host {

class GridLaunch {
 public:
  GridLaunch(const HostCode& code, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments,
             const RunOptions& options);
  ~GridLaunch() { cease_to_wait(); }

  const codegen::host::CodeObject& code() const { return code_; }
  uint64_t block_count() const { return grid_.count(); }
  uint64_t threads_per_block() const { return block_.count(); }

  // A block that is still to be told which one it is.
  RunningBlock make_block(Workspace& workspace, ItemFibers* items) const;
  // Makes it the block with this number, x fastest, not begun, its shared memory fresh.
  void prepare(RunningBlock& block, uint64_t number) const;
  // Makes it the one with the next number.
  void prepare_next(RunningBlock& block) const;

  // Why a block did not end well: the first that is told is what the launch fails for; the others need not go on.
  // `signal`: what sigsetjmp returned for `guard`.
  void fail(const RunningBlock& block, int signal, const FaultGuard& guard);
  // What kept the host from running it.
  void fail(std::exception_ptr trouble);
  // True if the code reported a fault of this block's.
  bool failed(const RunningBlock& block);
  bool failed() const { return failed_; }
  const std::atomic<bool>& has_failed() const { return failed_; }  // to watch

  // Says, once, that nobody goes on: a block that waits is one of them.
  void warn_of_wait(const RunningBlock& block, std::chrono::seconds time);

  // All that has not ended waits for memory that it does not change itself; or does not any more.
  void begin_to_wait();
  void cease_to_wait();

  // Throws Error if the launch failed.
  void finish() const;

 private:
  void freshen_shared(RunningBlock& block) const;
  void fail(const RunningBlock& block, const std::string& thread, const std::string& what,
            std::optional<uint64_t> address = std::nullopt);

  const codegen::host::CodeObject& code_;
  bundle::Dim3 grid_, block_;
  uint64_t shared_size_;
  alignas(64) std::byte implicit_[256] = {};  // AMDGPU's implicit arguments, code object version 5
  alignas(64) std::byte dispatch_[64] = {};   // an AQL kernel dispatch packet
  std::vector<std::byte> room_;               // for arguments
  RunningBlock any_block_ = {};
  mutable ServiceState services_;
  std::atomic<bool> waits_ = false, told_of_wait_ = false;

  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::exception_ptr trouble_;
  std::string fault_;
  uint32_t fault_kind_ = codegen::host::kNoFault;
  bundle::Dim3 fault_block_;
  bool fault_is_exact_ = false;
  std::optional<uint64_t> fault_address_;
};

// Blocks on fibers of their own, for code whose blocks wait for each other: all at once if they meet as a grid.
void run_resident_grid(GridLaunch& launch);

}  // namespace mneme::device::host
