// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "device/host/grid/cores.h"

namespace mneme::device::host {

uint64_t core_count() { return static_cast<uint64_t>(oneapi::tbb::info::default_concurrency()); }

// oneTBB's start when there is work for them.
void start_cores() {}

void share_out(uint64_t first, uint64_t last, uint64_t most, const std::atomic<bool>& stop,
               const std::function<void(uint64_t, uint64_t)>& handle) {
  oneapi::tbb::task_group_context tasks;
  auto run = [&] {
    oneapi::tbb::parallel_for(
        oneapi::tbb::blocked_range<uint64_t>(first, last),
        [&](const auto& range) {
          if (stop) {
            tasks.cancel_group_execution();
          } else {
            handle(range.begin(), range.end());
          }
        },
        tasks);
  };
  if (most >= core_count()) return run();
  oneapi::tbb::task_arena(static_cast<int>(most)).execute(run);
}

}  // namespace mneme::device::host
