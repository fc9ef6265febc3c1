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
  void found_number(const codegen::host::BlockContext& context, uint32_t thread, const char* operation, double result,
                    std::span<const double> operands, const codegen::host::Site& site);
  // A kernel has allocated it: what was there before is another's.
  void forget(const void* address, uint64_t size);

 private:
  Findings& findings_;
  std::unique_ptr<Races> races_;
};

}  // namespace mneme::device::host
