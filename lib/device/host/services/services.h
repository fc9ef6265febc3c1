// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What running kernels ask of the host device (codegen/host/abi.h: Services).
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/host/abi.h"
#include "device/host/checks/launch_checks.h"
#include "device/host/launch.h"
#include "device/host/services/printf.h"

namespace mneme::device::host {

// A message on its way: print_begin() to the part that is the last.
struct PrintMessage {
  int stream = 1;
  std::vector<PrintPart> parts;
};

// What the services of one launch share; BlockContext::launch points to it.
struct ServiceState {
  const RunOptions& options;
  const char* kernel;                         // for messages
  std::unique_ptr<LaunchChecks> checks = {};  // of code with checks; null: nothing is looked for
  std::mutex output = {};                     // for what follows, and one message at a time
  std::map<uint64_t, PrintMessage> messages = {};
  uint64_t last_message = 0;
  std::atomic<bool> told_that_diverged = false;  // diverged.h
};

const codegen::host::Services& services();

// Why the block that ran last on this thread was stopped, after FaultGuard::kStopped: "failed an assertion: …", to
// read after "kernel". The thread is the context's fault_thread, the kind (BlockFault) its fault.
const std::string& stop_reason();

// Ends the block that runs on this thread. `why` reads after "kernel".
[[noreturn]] void stop_block(codegen::host::BlockContext* context, uint32_t thread, std::string why,
                             uint32_t fault = codegen::host::kOther);

}  // namespace mneme::device::host
