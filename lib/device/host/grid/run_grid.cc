// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "device/host/grid/arithmetic_mode.h"
#include "device/host/grid/cores.h"
#include "device/host/grid/grid_launch.h"

namespace mneme::device::host {
namespace {

using bundle::Dim3;

// Waking another core costs more than the smallest grids: of many blocks the first are run alone for so long, which may
// be all of them, and few blocks of so few threads are left on one core.
constexpr uint64_t kSerialThreads = 2048;
constexpr uint64_t kBlocksPerCore = 8;
constexpr auto kMoment = std::chrono::microseconds(10);

// Blocks [first, last), at least one, in order.
void run_blocks(GridLaunch& launch, uint64_t first, uint64_t last) {
  BorrowedFibers items;
  if (launch.code().keeps & codegen::host::kKeepsStacks) items = borrow_fibers();
  RunningBlock block = launch.make_block(Workspace::of_this_thread(), items.get());
  FaultGuard guard;
  const ArithmeticMode mode;
  if (int signal = sigsetjmp(guard.jump, 0)) {
    launch.fail(block, signal, guard);
    return;
  }
  launch.prepare(block, first);
  while (true) {
    launch.code().run_block(&block);
    if (launch.failed(block) || ++first == last) return;
    launch.prepare_next(block);
  }
}

uint64_t run_for_a_moment(GridLaunch& launch, uint64_t last) {  // how many blocks have been run
  auto start = std::chrono::steady_clock::now();
  uint64_t done = 0, more = 1;
  do {
    uint64_t from = done;
    done = std::min(done + more, last);
    run_blocks(launch, from, done);
    more *= 2;  // so that looking at the clock costs tiny blocks little
  } while (done < last && !launch.failed() && std::chrono::steady_clock::now() - start < kMoment);
  return done;
}

void run_on_all_cores(GridLaunch& launch, uint64_t first, uint64_t last) {
  uint64_t most = core_count();
  // On so many that there are stacks for the work-items of their blocks.
  if (launch.code().keeps & codegen::host::kKeepsStacks) {
    most = std::clamp<uint64_t>(Stacks::limit() / launch.threads_per_block(), 1, most);
  }
  share_out(first, last, most, launch.has_failed(),
            [&launch](uint64_t from, uint64_t to) { run_blocks(launch, from, to); });
}

std::string text(Dim3 d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); }

}  // namespace

void prepare_to_run() {
  static thread_local bool prepared = false;
  if (prepared) return;
  prepared = true;
  start_cores();
  prepare_to_fork();
  Workspace::of_this_thread().shared(1);
}

void prepare_to_fork() {
  core_count();
  Stacks::limit();
  FaultGuard guard;
}

void check_launch(const HostCode& code, Dim3 grid, Dim3 block, uint32_t shared_bytes, uint64_t most_shared) {
  const char* kernel = code.object().kernel;
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
  const uint32_t* strides = code.object().block_strides;
  auto too_many = [](uint64_t blocks, uint32_t threads, uint32_t stride) {
    return blocks * std::max(threads, stride) > kMaxThreadsPerDimension;
  };
  if (too_many(grid.x, block.x, strides[0]) || too_many(grid.y, block.y, strides[1]) ||
      too_many(grid.z, block.z, strides[2]) || uint64_t{grid.x} * grid.y > UINT64_MAX / grid.z) {
    throw Error::of("kernel '{}' cannot be launched with grid {}: too many blocks", kernel, text(grid));
  }
  if (uint64_t most = most_resident_blocks(code, block);
      code.object().waits & codegen::host::kWaitAtGrid && grid.count() > most) {
    throw Error::of("kernel '{}' cannot be launched with grid {}: its blocks wait for each other, at most {} at once",
                    kernel, text(grid), most);
  }
  uint64_t shared_static = code.object().shared_static;
  if (shared_static > most_shared || (shared_static + 15) / 16 * 16 + shared_bytes > most_shared) {
    throw Error::of(
        "kernel '{}' cannot be launched with {} bytes of static and {} of dynamic shared memory: at most {}", kernel,
        shared_static, shared_bytes, most_shared);
  }
}

bool suits(const HostCode& code, Dim3 block) {
  uint32_t dimensions = code.object().wave_dimensions;
  if (dimensions == 0) return true;
  uint64_t alike = dimensions == 1 ? uint64_t{block.y} * block.z : block.z;
  return alike == 1 || block.count() / alike % code.object().wave_size == 0;
}

void run_grid(const HostCode& code, Dim3 grid, Dim3 block, uint32_t shared_bytes, Bytes arguments,
              const RunOptions& options) {
  check_launch(code, grid, block, shared_bytes);
  if (!suits(code, block)) {
    throw Error::of(
        "kernel '{}' tells work-items apart by {} only, but work-items of a wave have that in common in blocks of {}: "
        "compile it with --form fiber",
        code.object().kernel, code.object().wave_dimensions == 1 ? "threadIdx.x" : "threadIdx.x and .y", text(block));
  }
  GridLaunch launch(code, grid, block, shared_bytes, arguments, options);
  static const uint64_t many = kBlocksPerCore * core_count();
  uint64_t count = launch.block_count();
  uint64_t done = 0;
  if (launch.code().waits) {
    run_resident_grid(launch);
    done = count;
  } else if (options.only) {
    uint64_t number = options.only->x + uint64_t{grid.x} * (options.only->y + uint64_t{grid.y} * options.only->z);
    run_blocks(launch, number, number + 1);
    done = count;
  } else if (count == 1 || launch.code().ordered ||
             (count < many && count * launch.threads_per_block() <= kSerialThreads)) {
    run_blocks(launch, 0, count);
    done = count;
  } else if (count >= many) {
    done = run_for_a_moment(launch, count);
  }
  if (done < count && !launch.failed()) run_on_all_cores(launch, done, count);
  launch.finish();
}

}  // namespace mneme::device::host
