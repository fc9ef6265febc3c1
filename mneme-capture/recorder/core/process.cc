// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/process.h"

#include <pthread.h>

#include <cstdio>
#include <mutex>

#include "base/error.h"
#include "memory/own_region.h"

namespace mneme::record {
namespace {

// Never destroyed: applications call their runtime from destructors that run last.
std::atomic<Core*> the_core{nullptr};

std::unique_ptr<Connection> open_connection(Runtime& runtime) try {
  if (memory::is_layout_taken()) {
    throw Error(
        "it is built with -fsanitize=thread or -fsanitize=memory, which leave no room at the addresses of recorded "
        "memory; build it without, or with -fsanitize=address");
  }
  return Connection::open(runtime.fetches());
} catch (const std::exception& error) {
  std::fprintf(stderr, "mneme-capture: warning: this process is not recorded: %s\n", error.what());
  return nullptr;
}

std::unique_ptr<Applier> open_applier(Runtime& runtime, const Devices& devices) try {
  return Applier::open(runtime, devices);
} catch (const std::exception& error) {
  std::fprintf(stderr, "mneme-capture: warning: no variant is applied in this process: %s\n", error.what());
  return nullptr;
}

}  // namespace

Core* core() { return the_core.load(std::memory_order_acquire); }

void start(Runtime& runtime, const Devices& devices) {
  static std::once_flag once;
  std::call_once(once, [&] {
    std::unique_ptr<Applier> applier = open_applier(runtime, devices);
    std::unique_ptr<Connection> connection = open_connection(runtime);
    if (!connection && !applier) return;
    the_core.store(new Core(runtime, std::move(connection), std::move(applier)), std::memory_order_release);
    ::pthread_atfork([] { core()->before_fork(); }, [] { core()->after_fork_in_parent(); },
                     [] { core()->after_fork_in_child(); });
  });
}

}  // namespace mneme::record
