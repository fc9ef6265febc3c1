// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block's work-items, each on a stack of its own, and who of them goes on: for code in the fiber form.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/host/abi.h"
#include "device/host/fibers/fiber.h"
#include "device/host/fibers/stacks.h"

namespace mneme::device::host {

// One work-item runs at a time, up to a convergence point. Waves take turns: the lanes of one go on until
// each has ended or waits for the block. Of those that wait for their wave the ones at the least
// convergence point (codegen/host/analysis/convergence.h) take part in one operation and go on first. When nobody can,
// those that wait for the block do. Those that yield go on when all others had their turn. However a block was left,
// the next can be run.
class ItemFibers {
 public:
  ItemFibers();

  // Until all have ended. `item` and `wave_size` as in abi.h's Services. On a fault it does not return.
  void run(codegen::host::BlockContext& context, codegen::host::ItemFunction item, uint32_t wave_size);

  // What the running work-item asks for, as in abi.h's Services.
  uint64_t converge(codegen::host::CollectiveKind collective, uint32_t point, uint64_t value, uint64_t otherwise,
                    uint32_t lane);
  void enter(uint32_t point);
  void leave();

  // The linear index of the work-item that is running, or was when the block was left by a jump. Forgets it.
  std::optional<uint32_t> take_running();
  const Stacks& stacks() const { return stacks_; }

 private:
  enum class State { kReady, kAtWave, kAtBlock, kYields, kEnded };
  struct WorkItem {
    ItemFibers* all = nullptr;
    uint32_t index = 0;
    Fiber fiber;
    State state = State::kReady;
    std::optional<uint32_t> stack;
    // What it brought to where it waits.
    codegen::host::CollectiveKind collective = codegen::host::kBlockBarrier;
    std::vector<uint32_t> where;  // the calls that it is in, outermost first, then the point
    uint64_t value = 0, otherwise = 0;
    uint32_t lane = 0;
    uint64_t result = 0;
    std::vector<uint32_t> looked;  // where it yielded, if it has done nothing else since
  };
  using Lanes = std::span<WorkItem>;

  void begin(uint32_t count);
  void settle(Lanes wave);
  void resume(WorkItem& item);
  void give_stack(WorkItem& item);
  void note_movement(WorkItem& item);
  static void start(void* item);
  static bool converge_wave(Lanes wave);
  bool look_again(Lanes block, uint32_t wave_size);
  bool converge_block(Lanes block);
  void tell_that_diverged(Lanes block);

  Stacks stacks_;
  std::vector<uint32_t> free_stacks_;
  codegen::host::BlockContext* context_ = nullptr;
  codegen::host::ItemFunction item_ = nullptr;
  std::vector<WorkItem> items_;
  std::optional<uint32_t> running_;
  bool moved_ = false;  // whether a work-item has got further since all had their turn
  std::vector<uint32_t> points_;
};

// Those that are not in use are kept for the next launch.
struct GiveBack {
  void operator()(ItemFibers* fibers) const;
};
using BorrowedFibers = std::unique_ptr<ItemFibers, GiveBack>;
// Throws Error when there is no room for more.
BorrowedFibers borrow_fibers();

}  // namespace mneme::device::host
