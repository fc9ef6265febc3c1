// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services.h"

#include "device/host/fault_guard.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;

std::string& reason() {
  thread_local std::string text;
  return text;
}

void stop(BlockContext* context, uint32_t thread, uint32_t fault, const char* text) {
  const char* more = text ? text : "";
  switch (fault) {
    case codegen::host::kTrapped:
      stop_block(context, thread, "trapped");
    case codegen::host::kAborted:
      stop_block(context, thread, "called abort()");
    case codegen::host::kAssertionFailed:
      stop_block(context, thread, std::string("failed an assertion: ") + more);
    case codegen::host::kWildCall:
      stop_block(context, thread, "called a function through a pointer that leads to none");
    default:
      stop_block(context, thread, more);
  }
}

}  // namespace

void stop_block(BlockContext* context, uint32_t thread, std::string why) {
  reason() = std::move(why);
  context->fault = codegen::host::kOther;
  context->fault_thread = thread;
  FaultGuard::leave();
}

const std::string& stop_reason() { return reason(); }

const codegen::host::Services& services() {
  static const codegen::host::Services kServices = {
      .stop = stop,
      .print_begin = [](BlockContext* context, uint32_t thread, uint32_t) -> uint64_t {
        stop_block(context, thread, "uses printf, which the host device does not have");
      },
      .print_string = [](BlockContext*, uint32_t, uint64_t, const char*, uint64_t, uint32_t) -> uint64_t { return 0; },
      .print_words = [](BlockContext*, uint32_t, uint64_t, uint32_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t, uint32_t) -> uint64_t { return 0; },
      .allocate = [](BlockContext*, uint32_t, uint64_t) -> void* { return nullptr; },
      .release = [](BlockContext*, uint32_t, void*) {},
      .check = [](BlockContext*, uint32_t, const void*, uint64_t, uint32_t) {},
      .meet_grid =
          [](BlockContext* context, uint32_t thread) {
            stop_block(context, thread, "synchronises its grid, which the host device does not have");
          },
  };
  return kServices;
}

}  // namespace mneme::device::host
