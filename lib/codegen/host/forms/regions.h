// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <set>
#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/analysis/convergence.h"
#include "codegen/host/analysis/uniformity.h"
#include "codegen/host/forms/collectives.h"
#include "codegen/host/forms/parallel.h"

namespace mneme::codegen::host {

// A work-item's convergence point: the number of the region that it is to run next, with kWaits if it waits for the
// whole block before that, or with kYields if it lets others go on before; or that it has ended. The lanes of a wave
// that has diverged go on from the smallest number.
inline constexpr uint32_t kEnded = kEndedPoint;
inline constexpr uint32_t kWaits = 1u << 31;
inline constexpr uint32_t kYields = 1u << 30;

// A value that lives on from one region to another.
struct Slot {
  llvm::AllocaInst* local;  // where the work-item function keeps it
  llvm::Type* type;
  bool uniform;         // the same for all work-items that are at the same convergence point
  uint64_t offset = 0;  // of its array in the frames: bytes for each work-item of the block
  uint64_t stride = 0;  // bytes from a work-item's element to the next one's: its size, and more if it wants aligning
  bool in_collective = false;  // an operand or result of collectives: read and written there
  bool in_memory =
      false;  // its address is taken, or it is a collective's: always the array's element, never a register
};

// The code between two convergence points, for one work-item.
struct Region {
  std::optional<Collective> collective;  // how it begins, but for the first
  bool begins_step() const { return collective && is_step(collective->operation); }
  // `{i32 point, uniform values…} (ptr context, i32 x, y, z, ptr frames, i64 count, i64 index, uniform values…)`
  // for when all work-items are at the same convergence point: uniform values come and go as such. `count` is the
  // rounded number of work-items, `index` this one's.
  llvm::Function* converged = nullptr;
  // `i32 point (ptr context, i32 x, y, z, ptr frames, i64 count, i64 index)` for when they are not: each
  // keeps its own of everything in the frames, and nobody goes through loops in step.
  llvm::Function* diverged = nullptr;
  std::optional<ParallelLoop> converged_loop, diverged_loop;  // for loops that call them
  std::set<uint32_t> exits;                                   // convergence points that it leads to
  bool diverges = false;  // whether work-items may come out at different ones; uniform values then go to the frames
  std::set<const Slot*> written;  // slots that it may change
};

// Cuts the work-item function (lower.h) at its convergence points.
//
//   a; mneme.barrier(); b   ──▶   region 1: a, return 2        region 2: b, return kEnded
//
// Relies on every convergence point standing in the item itself. A value that is needed across regions goes through its
// slot: loaded where the region begins, stored where it ends.
class Regions {
 public:
  Regions(llvm::Module& module, llvm::Function& item);

  // Region n is at n - 1. Erases the work-item function.
  std::vector<Region> make();
  const std::vector<Slot>& slots() const { return slots_; }
  uint64_t bytes_per_item() const { return bytes_per_item_; }

 private:
  void gather_locals();
  void hoist_what_each_region_can_compute();
  void find_convergence_points();
  void cut_at_convergence_points();
  std::set<llvm::BasicBlock*> reachable(llvm::BasicBlock* start, llvm::BasicBlock* stop);
  std::set<uint32_t> exits_of(const std::set<llvm::BasicBlock*>& blocks);
  bool may_diverge(const std::set<llvm::BasicBlock*>& blocks);
  bool is_needed_across_regions(llvm::Instruction& value);
  const std::set<llvm::BasicBlock*>& reached_without(llvm::BasicBlock* block);
  void keep_values_across_regions();
  void lay_out_slots();
  Region make_region(uint32_t number);
  llvm::Function* make_function(uint32_t number, bool converged, Region& region);
  using Kept = std::vector<std::pair<llvm::StoreInst*, llvm::Value*>>;  // with what the slot began with
  void connect(llvm::Function& function, const Slot& slot, llvm::AllocaInst& local, llvm::Value* initial, Kept* kept);

  llvm::Module& module_;
  llvm::Function& item_;
  llvm::IRBuilder<> builder_;
  std::unique_ptr<Uniformity> uniformity_;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<llvm::BasicBlock*> starts_;  // of region n at n - 1
  Collectives collectives_;
  std::vector<ConvergencePoint> points_;  // those of the block first; region n begins behind that at n - 2
  std::vector<Collective> collective_behind_;
  llvm::MapVector<llvm::BasicBlock*, uint32_t> exits_;  // blocks that end at a convergence point, and which
  std::set<uint32_t> steps_;                            // those that are steps only
  std::map<llvm::BasicBlock*, std::set<llvm::BasicBlock*>> reached_without_;
  std::vector<Slot> slots_;
  uint64_t bytes_per_item_ = 0;
};

// Where a work-item's element of a slot's array is.
llvm::Value* slot_address(llvm::IRBuilderBase& builder, const Slot& slot, llvm::Value* frames, llvm::Value* count,
                          llvm::Value* index);

}  // namespace mneme::codegen::host
