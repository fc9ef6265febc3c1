// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "device/host/fault_guard.h"
#include "device/host/launch.h"
#include "device/host/services.h"
#include "device/host/workspace.h"

namespace mneme::device::host {
namespace {

using bundle::Dim3;
using codegen::host::BlockContext;

// Waking another core costs more than the smallest grids: those of so few threads run on one, and of others,
// unless there are but few blocks, the first are run alone for so long, which may be all of them.
constexpr uint64_t kSerialThreads = 2048;
constexpr uint64_t kBlocksPerCore = 8;
constexpr auto kMoment = std::chrono::microseconds(10);

template <typename T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// All that the blocks of a launch have in common.
struct Launch {
  Launch(const HostCode& code, Dim3 grid, Dim3 block, uint32_t shared_bytes, Bytes bytes, const RunOptions& options);

  const HostCode& code;
  Dim3 grid, block;
  uint64_t shared_size;
  alignas(64) std::byte implicit[256] = {};  // AMDGPU's implicit arguments, code object version 5
  alignas(64) std::byte dispatch[64] = {};   // an AQL kernel dispatch packet
  std::vector<uint64_t> arguments;           // words, for their alignment
  BlockContext context = {};
  ServiceState services;

  // The first fault that was met.
  std::mutex mutex;
  std::string fault;
  oneapi::tbb::task_group_context tasks;

  void run(uint64_t first, uint64_t last);
  uint64_t run_for_a_moment(uint64_t last);  // how many blocks have been run
  void fail(const uint32_t (&group)[3], const std::string& thread, const std::string& what);
};

Launch::Launch(const HostCode& code_, Dim3 grid_, Dim3 block_, uint32_t shared_bytes, Bytes bytes,
               const RunOptions& options)
    : code(code_), grid(grid_), block(block_), arguments((bytes.size() + 7) / 8 + 8), services{options, {}} {
  // Room to spare after the arguments: a vectorised load may take in more than it needs.
  if (!bytes.empty()) std::memcpy(arguments.data(), bytes.data(), bytes.size());
  shared_size = (code.object().shared_static + 15) / 16 * 16 + shared_bytes;

  const uint32_t blocks[3] = {grid.x, grid.y, grid.z}, threads[3] = {block.x, block.y, block.z};
  for (int i = 0; i < 3; ++i) {
    put(implicit + 4 * i, blocks[i]);
    put(implicit + 12 + 2 * i, static_cast<uint16_t>(threads[i]));
    put(implicit + 18 + 2 * i, uint16_t{0});  // HIP grids are whole blocks: no remainder
    put(implicit + 40 + 8 * i, uint64_t{0});  // global offset
    put(dispatch + 4 + 2 * i, static_cast<uint16_t>(threads[i]));
    put(dispatch + 12 + 4 * i, blocks[i] * threads[i]);
    context.block[i] = threads[i];
    context.grid[i] = blocks[i];
  }
  put(implicit + 64, uint16_t{3});  // dimensions, always three under HIP
  put(implicit + 120, shared_bytes);
  put(dispatch + 2, uint16_t{3});
  put(dispatch + 28, static_cast<uint32_t>(shared_size));
  put(dispatch + 40, arguments.data());
  context.arguments = arguments.data();
  context.implicit = implicit;
  context.dispatch = dispatch;
  context.shared_dynamic = shared_bytes;
  context.services = &host::services();
  context.launch = &services;
}

void Launch::fail(const uint32_t (&group)[3], const std::string& thread, const std::string& what) {
  std::lock_guard lock(mutex);
  if (fault.empty()) {
    fault = fmt::format("kernel '{}', block ({}, {}, {}){}: {}", code.object().kernel, group[0], group[1], group[2],
                        thread.empty() ? "" : ", thread " + thread, what);
  }
  tasks.cancel_group_execution();
}

std::string describe_thread(const BlockContext& context) {
  uint32_t thread = context.fault_thread;
  return fmt::format("({}, {}, {})", thread % context.block[0], thread / context.block[0] % context.block[1],
                     thread / context.block[0] / context.block[1]);
}

std::string describe(const BlockContext& context) {
  switch (context.fault) {
    case codegen::host::kFramesExhausted:
      return fmt::format("needs more than {} MiB for its threads' variables", context.frames_size >> 20);
    default:
      return fmt::format("failed (fault {}) at thread {}", context.fault, describe_thread(context));
  }
}

// Blocks [first, last) in order, x fastest.
void Launch::run(uint64_t first, uint64_t last) {
  BlockContext mine = context;
  Workspace& workspace = Workspace::of_this_thread();
  mine.shared = workspace.shared();
  if (code.object().keeps) {
    mine.frames = workspace.frames();
    mine.frames_size = workspace.frames_size();
  }
  mine.group[0] = static_cast<uint32_t>(first % grid.x);
  mine.group[1] = static_cast<uint32_t>(first / grid.x % grid.y);
  mine.group[2] = static_cast<uint32_t>(first / grid.x / grid.y);

  FaultGuard guard;
  if (int signal = sigsetjmp(guard.jump, 0)) {
    if (signal == FaultGuard::kStopped) {
      fail(mine.group, describe_thread(mine), stop_reason());
    } else {
      fail(mine.group, "", describe_fault(signal, guard));
    }
    return;
  }
  void (*run_block)(BlockContext*) = code.object().run_block;
  for (uint64_t i = first; i < last; ++i) {
    if (shared_size) std::memset(mine.shared, services.options.poison_shared ? kPoison : 0, shared_size);
    run_block(&mine);
    if (mine.fault != codegen::host::kNoFault) {
      fail(mine.group, "", describe(mine));
      return;
    }
    if (++mine.group[0] < grid.x) continue;
    mine.group[0] = 0;
    if (++mine.group[1] < grid.y) continue;
    mine.group[1] = 0;
    ++mine.group[2];
  }
}

uint64_t Launch::run_for_a_moment(uint64_t last) {
  auto start = std::chrono::steady_clock::now();
  uint64_t done = 0;
  do {
    run(done, done + 1);
    ++done;
  } while (done < last && fault.empty() && std::chrono::steady_clock::now() - start < kMoment);
  return done;
}

}  // namespace

void check_launch(const HostCode& code, Dim3 grid, Dim3 block, uint32_t shared_bytes) {
  const char* kernel = code.object().kernel;
  auto text = [](Dim3 d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); };
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) {
    throw Error::of("kernel '{}' cannot be launched with grid {} and block {}: no threads", kernel, text(grid),
                    text(block));
  }
  // Each first, so that the product cannot wrap.
  if (block.x > kMaxThreadsPerBlock || block.y > kMaxThreadsPerBlock || block.z > kMaxThreadsPerBlock ||
      block.count() > kMaxThreadsPerBlock) {
    throw Error::of("kernel '{}' cannot be launched with block {}: at most {} threads a block", kernel, text(block),
                    kMaxThreadsPerBlock);
  }
  if (uint64_t{grid.x} * block.x > kMaxThreadsPerDimension || uint64_t{grid.y} * block.y > kMaxThreadsPerDimension ||
      uint64_t{grid.z} * block.z > kMaxThreadsPerDimension || uint64_t{grid.x} * grid.y > UINT64_MAX / grid.z) {
    throw Error::of("kernel '{}' cannot be launched with grid {}: too many blocks", kernel, text(grid));
  }
  uint64_t shared_static = code.object().shared_static;
  if (shared_static > kMaxSharedBytes || (shared_static + 15) / 16 * 16 + shared_bytes > kMaxSharedBytes) {
    throw Error::of(
        "kernel '{}' cannot be launched with {} bytes of static and {} of dynamic shared memory: at most {}", kernel,
        shared_static, shared_bytes, kMaxSharedBytes);
  }
}

void run_grid(const HostCode& code, Dim3 grid, Dim3 block, uint32_t shared_bytes, Bytes arguments,
              const RunOptions& options) {
  check_launch(code, grid, block, shared_bytes);
  Launch launch(code, grid, block, shared_bytes, arguments, options);
  uint64_t count = grid.count();
  uint64_t done = 0;
  if (count == 1 || code.object().ordered || count * block.count() <= kSerialThreads) {
    launch.run(0, count);
    done = count;
  } else if (static const uint64_t many = kBlocksPerCore * oneapi::tbb::info::default_concurrency(); count >= many) {
    done = launch.run_for_a_moment(count);
  }
  if (done < count && launch.fault.empty()) {
    oneapi::tbb::parallel_for(
        oneapi::tbb::blocked_range<uint64_t>(done, count),
        [&launch](const auto& range) { launch.run(range.begin(), range.end()); }, launch.tasks);
  }
  if (!launch.fault.empty()) throw Error(launch.fault);
}

}  // namespace mneme::device::host
