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

}  // namespace

Core* core() { return the_core.load(std::memory_order_acquire); }

void start(Runtime& runtime) {
  static std::once_flag once;
  std::call_once(once, [&runtime] {
    try {
      if (memory::is_layout_taken()) {
        throw Error(
            "it is built with -fsanitize=thread or -fsanitize=memory, which leave no room at the addresses of recorded "
            "memory; build it without, or with -fsanitize=address");
      }
      std::unique_ptr<Connection> connection = Connection::open(runtime.fetches());
      if (!connection) return;
      the_core.store(new Core(runtime, std::move(connection)), std::memory_order_release);
      ::pthread_atfork([] { core()->before_fork(); }, [] { core()->after_fork_in_parent(); },
                       [] { core()->after_fork_in_child(); });
    } catch (const std::exception& error) {
      std::fprintf(stderr, "mneme-capture: warning: this process is not recorded: %s\n", error.what());
    }
  });
}

}  // namespace mneme::record
