// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <mutex>

#include "base/error.h"
#include "memory/arena.h"
#include "memory/own_region.h"

namespace mneme::record {
namespace {

// Never destroyed: applications call their runtime from destructors that run last.
std::atomic<Core*> the_core{nullptr};

// By AddressSanitizer: that of g++ keeps its memory there, that of clang elsewhere.
bool has_sanitizer_taken_host_range() {
  unsigned char in_memory = 0;
  return ::dlsym(RTLD_DEFAULT, "__asan_init") &&
         ::mincore(reinterpret_cast<void*>(memory::kHostBase), 1, &in_memory) == 0;
}

std::unique_ptr<Connection> open_connection(Runtime& runtime) try {
  if (memory::is_layout_taken()) {
    throw Error(
        "it is built with -fsanitize=thread or -fsanitize=memory, which leave no room at the addresses of recorded "
        "memory; build it without, or with -fsanitize=address");
  }
  if (has_sanitizer_taken_host_range()) {
    throw Error(
        "it is built with g++ -fsanitize=address, which has its memory at the addresses of recorded host memory; build "
        "it "
        "with clang++ -fsanitize=address");
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
