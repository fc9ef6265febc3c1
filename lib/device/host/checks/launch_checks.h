// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The detectors of one launch of code with checks (docs/checks.md). Such code runs its blocks on one thread, so nothing
// here is locked.
#pragma once
#include <memory>
#include <span>

#include "codegen/host/abi.h"
#include "device/host/checks/findings.h"

namespace mneme::device::host {

struct RunOptions;
class Races;
class Synchronisation;
class Unwritten;

class LaunchChecks {
 public:
  // Null where the code has no checks, or RunOptions no room for findings.
  static std::unique_ptr<LaunchChecks> make(const codegen::host::CodeObject& code, const RunOptions& options);
  LaunchChecks(const codegen::host::CodeObject& code, const RunOptions& options);
  ~LaunchChecks();

  // Members of Services (codegen/host/abi.h).
  void track(const codegen::host::BlockContext& context, uint32_t thread, const void* address, uint64_t size,
             uint64_t value, const codegen::host::Site& site);
  void track_sync(const codegen::host::BlockContext& context, uint32_t thread, uint32_t kind,
                  const codegen::host::Site& site);
  void track_mask(const codegen::host::BlockContext& context, uint32_t thread, uint64_t mask, uint64_t here,
                  const codegen::host::Site& site);
  // Before a block begins; sets what is the checks' own of the context.
  void begin(codegen::host::BlockContext& context);
  // A barrier was released that not all came to, as Services::diverged has it. False: nobody looks for that.
  bool missed_barrier(const codegen::host::BlockContext& context, std::span<const uint32_t> points);
  Unwritten* unwritten() { return unwritten_.get(); }
  void found_number(const codegen::host::BlockContext& context, uint32_t thread, const char* operation, double result,
                    std::span<const double> operands, const codegen::host::Site& site);
  // A kernel has allocated it: what was there before is another's.
  void forget(const void* address, uint64_t size);

 private:
  Findings& findings_;
  std::unique_ptr<Races> races_;
  std::unique_ptr<Synchronisation> synchronisation_;
  std::unique_ptr<Unwritten> unwritten_;
};

}  // namespace mneme::device::host
