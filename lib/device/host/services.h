// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What running kernels ask of the host device (codegen/host/abi.h: Services).
#pragma once
#include <mutex>
#include <string>

#include "codegen/host/abi.h"
#include "device/host/launch.h"

namespace mneme::device::host {

// What the services of one launch share; BlockContext::launch points to it.
struct ServiceState {
  const RunOptions& options;
  std::mutex output;  // one message at a time
};

const codegen::host::Services& services();

// Why the block that ran last on this thread was stopped, after FaultGuard::kStopped: "failed an assertion: …", to
// read after "kernel". The thread is the context's fault_thread.
const std::string& stop_reason();

// Ends the block that runs on this thread. `why` reads after "kernel".
[[noreturn]] void stop_block(codegen::host::BlockContext* context, uint32_t thread, std::string why);

}  // namespace mneme::device::host
