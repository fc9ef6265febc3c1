// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that wait for each other, each on a fiber of its own.
//
// For those that meet as a whole grid there are phases: all blocks run until they have ended or are at a meeting. What
// yields takes turns within a phase. Where blocks only yield there is one phase, and a block begins, in order, when
// those before have ended or wait and nothing happens in them: mostly few of them are there at once.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "device/host/grid/arithmetic_mode.h"
#include "device/host/grid/cores.h"
#include "device/host/grid/grid_launch.h"
#include "device/host/grid/team.h"

namespace mneme::device::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kStackSize = 1024 * 1024;

// What a block takes besides stacks for its work-items, in stacks: its own, shared memory, frames.
constexpr uint64_t kStacksWorth = 3;

// What looks like movement may be work-items that go round in circles: now and then a block begins all the same.
constexpr uint64_t kTurns = 64;

// A thread that finds nothing to do looks again at once for so many times, then after a pause.
constexpr int kLooks = 200;
constexpr auto kRest = std::chrono::microseconds(50);
constexpr auto kWhile = std::chrono::milliseconds(100);
constexpr auto kLong = std::chrono::seconds(10);

// What a block needs to wait in the middle.
struct ResidentBlock {
  ResidentBlock(GridLaunch& launch_, std::span<std::byte> stack_, const Stacks& stacks)
      : workspace(Workspace::kFramesLeast), launch(launch_), stack(stack_) {
    if (launch.code().keeps & codegen::host::kKeepsStacks) items = borrow_fibers();
    block = launch.make_block(workspace, items.get());
    block.fiber = &fiber;
    block.stacks = &stacks;
  }
  void begin(uint64_t number) {
    launch.prepare(block, number);
    block.pause = Pause::kNone;
    fiber.prepare(stack, [](void* self) { static_cast<ResidentBlock*>(self)->run(); }, this);
  }
  void run() { launch.code().run_block(&block); }
  bool goes_on() const { return !fiber.ended() && block.pause != Pause::kAtGrid; }

  Workspace workspace;
  BorrowedFibers items;
  GridLaunch& launch;
  std::span<std::byte> stack;
  Fiber fiber;
  RunningBlock block;
};

// Blocks that are still to begin.
struct Numbers {
  std::atomic<uint64_t> next = 0;
  uint64_t last = 0;
};

// The blocks that one thread runs: always the same, since their code has thread-local variables.
class Share {
 public:
  // At most `most` at once. `idle` counts the threads that find nothing to do, of `all`.
  Share(GridLaunch& launch, Numbers& numbers, uint64_t most, std::atomic<uint64_t>& idle, uint64_t all)
      : launch_(launch),
        numbers_(numbers),
        most_(most),
        stacks_(static_cast<uint32_t>(most), kStackSize),
        idle_(idle),
        all_(all) {}

  // Each up to where it waits for the grid or ends. False when all have ended or the launch has failed.
  bool run_phase() {
    be_busy();
    for (auto& resident : blocks_) resident->block.pause = Pause::kNone;
    while (launch_.code().waits & codegen::host::kWaitAtGrid && begin_next()) {
    }
    for (;;) {
      Turn turn = take_turns();
      if (launch_.failed()) return false;
      if (turn.moved) be_busy();
      if (turn.moved && turn.some && ++turns_ % kTurns) continue;
      if (begin_next()) continue;
      if (!turn.some) break;
      if (!turn.moved) rest();
    }
    be_idle();
    return std::ranges::any_of(blocks_, [](const auto& resident) { return !resident->fiber.ended(); });
  }

 private:
  struct Turn {
    bool some = false;   // go on
    bool moved = false;  // did more than to look again
  };

  Turn take_turns() {
    FaultGuard guard;
    const ArithmeticMode mode;
    if (int signal = sigsetjmp(guard.jump, 0)) {
      launch_.fail(blocks_[running_]->block, signal, guard);
      return {};
    }
    Turn turn;
    for (running_ = 0; running_ < blocks_.size(); ++running_) {
      ResidentBlock& resident = *blocks_[running_];
      if (!resident.goes_on()) continue;
      resident.fiber.resume();
      if (resident.fiber.ended() && launch_.failed(resident.block)) return {};
      if (resident.fiber.ended()) free_.push_back(&resident);
      turn.some |= resident.goes_on();
      turn.moved |= resident.fiber.ended() || resident.block.pause != Pause::kStuck;
    }
    return turn;
  }

  bool begin_next() {
    if (free_.empty() && blocks_.size() == most_) return false;
    if (numbers_.next >= numbers_.last) return false;
    uint64_t number = numbers_.next++;
    if (number >= numbers_.last) return false;
    if (free_.empty()) {
      auto stack = static_cast<uint32_t>(blocks_.size());
      blocks_.push_back(std::make_unique<ResidentBlock>(launch_, stacks_[stack], stacks_));
      free_.push_back(blocks_.back().get());
    }
    free_.back()->begin(number);
    free_.pop_back();
    be_busy();
    return true;
  }

  void be_busy() {
    looks_ = 0;
    if (!std::exchange(is_idle_, false)) return;
    --idle_;
    launch_.cease_to_wait();
  }
  void be_idle() {
    if (std::exchange(is_idle_, true)) return;
    ++idle_;
    idle_since_ = Clock::now();
  }

  // Until what the blocks wait for may have come.
  void rest() {
    be_idle();
    if (++looks_ < kLooks) return std::this_thread::yield();
    std::this_thread::sleep_for(kRest);
    auto time = Clock::now() - idle_since_;
    if (idle_ < all_ || time < kWhile) return;
    launch_.begin_to_wait();
    if (idle_ < all_) launch_.cease_to_wait();  // another has gone on meanwhile
    if (time < kLong) return;
    auto waits = std::ranges::find_if(blocks_, [](const auto& resident) { return resident->goes_on(); });
    launch_.warn_of_wait((*waits)->block, kLong);
  }

  GridLaunch& launch_;
  Numbers& numbers_;
  uint64_t most_;
  Stacks stacks_;
  std::vector<std::unique_ptr<ResidentBlock>> blocks_;
  std::vector<ResidentBlock*> free_;  // those that have ended
  size_t running_ = 0;
  uint64_t turns_ = 0;

  std::atomic<uint64_t>& idle_;
  uint64_t all_;
  bool is_idle_ = false;
  Clock::time_point idle_since_;
  int looks_ = 0;
};

uint64_t most_at_once(const codegen::host::CodeObject& code, uint64_t threads) {
  uint64_t stacks = code.keeps & codegen::host::kKeepsStacks ? threads : 0;
  return std::max<uint64_t>(Stacks::limit() / (kStacksWorth + stacks), 1);
}

}  // namespace

uint64_t most_resident_blocks(const HostCode& code, bundle::Dim3 block) {
  return most_at_once(code.object(), block.count());
}

void run_resident_grid(GridLaunch& launch) {
  const codegen::host::CodeObject& code = launch.code();
  uint64_t count = launch.block_count();
  Team team(code.ordered ? 1 : std::min(count, core_count()));
  uint64_t workers = team.size();
  // Blocks that meet are spread evenly; of others, whoever has time takes the next.
  bool meet = code.waits & codegen::host::kWaitAtGrid;
  uint64_t most =
      meet ? count : std::clamp<uint64_t>(most_at_once(code, launch.threads_per_block()) / workers, 1, count);
  std::vector<Numbers> numbers(meet ? workers : 1);
  for (uint64_t i = 0; i < numbers.size(); ++i) {
    numbers[i].next = count * i / numbers.size();
    numbers[i].last = count * (i + 1) / numbers.size();
  }
  std::atomic<uint64_t> idle = 0;
  std::vector<std::unique_ptr<Share>> shares;
  for (uint64_t i = 0; i < workers; ++i) {
    shares.push_back(std::make_unique<Share>(launch, numbers[meet ? i : 0], most, idle, workers));
  }

  std::atomic<bool> waiting = false;
  bool again = true;
  std::barrier phase(static_cast<ptrdiff_t>(workers), [&]() noexcept {
    again = waiting && !launch.failed();
    waiting = false;
  });
  team.run([&](uint64_t number) {
    while (again) {
      try {
        if (shares[number]->run_phase()) waiting = true;
      } catch (...) {  // no room for another block
        launch.fail(std::current_exception());
      }
      phase.arrive_and_wait();
    }
  });
}

}  // namespace mneme::device::host
