// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All blocks of a grid at once, in phases: each block, in order, runs until it waits for the others or has ended.
#include <oneapi/tbb/info.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/host/grid_launch.h"

namespace mneme::device::host {
namespace {

constexpr uint64_t kStackSize = 1024 * 1024;

// What a block takes besides stacks for its work-items, in stacks: its own, shared memory, frames.
constexpr uint64_t kStacksWorth = 3;

// A block with all that it needs to wait in the middle.
struct ResidentBlock {
  ResidentBlock(GridLaunch& launch_, uint64_t number, Stacks& stacks, uint32_t stack)
      : workspace(Workspace::kFramesLeast), launch(launch_) {
    if (launch.code().keeps == codegen::host::kKeepsStacks) items = borrow_fibers();
    block = launch.make_block(workspace, items.get());
    block.fiber = &fiber;
    block.stacks = &stacks;
    launch.prepare(block, number);
    fiber.prepare(stacks[stack], [](void* self) { static_cast<ResidentBlock*>(self)->run(); }, this);
  }
  void run() { launch.code().run_block(&block); }

  Workspace workspace;
  BorrowedFibers items;
  GridLaunch& launch;
  Fiber fiber;
  RunningBlock block;
};

// The blocks that one thread runs: always the same, since their code has thread-local variables.
class Share {
 public:
  Share(GridLaunch& launch, uint64_t first, uint64_t last)
      : launch_(launch), stacks_(static_cast<uint32_t>(last - first), kStackSize) {
    for (uint64_t number = first; number < last; ++number) {
      auto stack = static_cast<uint32_t>(number - first);
      blocks_.push_back(std::make_unique<ResidentBlock>(launch, number, stacks_, stack));
    }
  }

  // Each up to where it waits or ends. False when all have ended or the launch has failed.
  bool run_phase() {
    FaultGuard guard;
    if (int signal = sigsetjmp(guard.jump, 0)) {
      launch_.fail(blocks_[running_]->block, signal, guard);
      return false;
    }
    bool waiting = false;
    for (running_ = 0; running_ < blocks_.size(); ++running_) {
      ResidentBlock& resident = *blocks_[running_];
      if (resident.fiber.ended()) continue;
      resident.fiber.resume();
      if (resident.fiber.ended() && launch_.failed(resident.block)) return false;
      waiting |= !resident.fiber.ended();
    }
    return waiting;
  }

 private:
  GridLaunch& launch_;
  Stacks stacks_;
  std::vector<std::unique_ptr<ResidentBlock>> blocks_;
  size_t running_ = 0;
};

}  // namespace

uint64_t most_resident_blocks(const HostCode& code, bundle::Dim3 block) {
  uint64_t stacks = code.object().keeps == codegen::host::kKeepsStacks ? block.count() : 0;
  return std::max<uint64_t>(Stacks::limit() / (kStacksWorth + stacks), 1);
}

void run_resident_grid(GridLaunch& launch) {
  uint64_t count = launch.block_count();
  uint64_t cores = static_cast<uint64_t>(oneapi::tbb::info::default_concurrency());
  uint64_t workers = launch.code().ordered ? 1 : std::min(count, cores);
  std::vector<std::unique_ptr<Share>> shares;
  for (uint64_t i = 0; i < workers; ++i) {
    shares.push_back(std::make_unique<Share>(launch, count * i / workers, count * (i + 1) / workers));
  }

  std::atomic<bool> waiting = false;
  bool again = true;
  std::barrier phase(static_cast<ptrdiff_t>(workers), [&]() noexcept {
    again = waiting && !launch.failed();
    waiting = false;
  });
  auto work = [&](Share& share) {
    while (again) {
      if (share.run_phase()) waiting = true;
      phase.arrive_and_wait();
    }
  };
  std::vector<std::jthread> threads;
  for (uint64_t i = 1; i < workers; ++i) threads.emplace_back([&, i] { work(*shares[i]); });
  work(*shares[0]);
}

}  // namespace mneme::device::host
