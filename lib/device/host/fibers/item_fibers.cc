// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/fibers/item_fibers.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.h"
#include "device/host/launch.h"
#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;
using codegen::host::CollectiveKind;

constexpr uint64_t kStackSize = 256 * 1024;

bool of_block(CollectiveKind collective) {
  return collective == codegen::host::kBlockBarrier || collective == codegen::host::kBlockCount ||
         collective == codegen::host::kGridBarrier;
}

}  // namespace

ItemFibers::ItemFibers() : stacks_(kMaxThreadsPerBlock, kStackSize) {}

void ItemFibers::run(BlockContext& context, codegen::host::ItemFunction item, uint32_t wave_size) {
  context_ = &context;
  item_ = item;
  uint32_t count = context.block[0] * context.block[1] * context.block[2];
  begin(count);
  Lanes block(items_.data(), count);
  do {
    for (uint32_t first = 0; first < count; first += wave_size) {
      settle(block.subspan(first, std::min(wave_size, count - first)));
    }
  } while (look_again(block, wave_size) || converge_block(block));
}

void ItemFibers::begin(uint32_t count) {
  if (items_.size() < count) items_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    items_[i].all = this;
    items_[i].index = i;
    items_[i].state = State::kReady;
    items_[i].stack.reset();
    items_[i].where.clear();
    items_[i].looked.clear();
  }
  free_stacks_.resize(count);
  std::iota(free_stacks_.rbegin(), free_stacks_.rend(), 0);
}

// Afterwards each lane has ended, waits for the block, or has yielded or waits for one that has.
void ItemFibers::settle(Lanes wave) {
  for (;;) {
    for (WorkItem& item : wave) {
      if (item.state == State::kReady) resume(item);
    }
    if (!converge_wave(wave)) return;
  }
}

// A work-item takes a stack when it begins, so where none of them meets they all run on the same.
void ItemFibers::resume(WorkItem& item) {
  if (!item.stack) give_stack(item);
  running_ = item.index;
  item.fiber.resume();
  running_.reset();
  if (!item.fiber.ended()) return;
  item.state = State::kEnded;
  moved_ = true;
  free_stacks_.push_back(*item.stack);
}

void ItemFibers::give_stack(WorkItem& item) {
  uint32_t number = free_stacks_.back();
  std::string failure;
  try {
    item.fiber.prepare(stacks_[number], start, &item);
  } catch (const Error& error) {
    failure = error.what();
  }
  // The kernel that called cannot be unwound.
  if (!failure.empty()) stop_block(context_, item.index, "ended early: " + failure);
  free_stacks_.pop_back();
  item.stack = number;
}

void ItemFibers::start(void* argument) {
  const auto& item = *static_cast<WorkItem*>(argument);
  BlockContext& context = *item.all->context_;
  uint32_t row = item.index / context.block[0];
  item.all->item_(&context, item.index % context.block[0], row % context.block[1], row / context.block[1]);
}

// False if nobody waits for the wave, or only for lanes that have yielded.
bool ItemFibers::converge_wave(Lanes wave) {
  const WorkItem* first = nullptr;
  for (const WorkItem& item : wave) {
    bool counts = item.state == State::kAtWave || (item.state == State::kYields && item.value);
    if (counts && (!first || item.where < first->where)) first = &item;
  }
  if (!first || first->state == State::kYields) return false;
  auto takes_part = [&](const WorkItem& item) { return item.state == State::kAtWave && item.where == first->where; };
  std::vector<WorkItem*> here;
  uint64_t ballot = 0;
  for (size_t lane = 0; lane < wave.size(); ++lane) {
    if (!takes_part(wave[lane])) continue;
    here.push_back(&wave[lane]);
    ballot |= (wave[lane].value & 1) << lane;
  }
  for (WorkItem* item : here) {
    switch (item->collective) {
      case codegen::host::kWaveBallot:
        item->result = ballot;
        break;
      case codegen::host::kWavePermute: {
        bool is_here = item->lane < wave.size() && takes_part(wave[item->lane]);
        item->result = is_here ? wave[item->lane].value : item->otherwise;
        break;
      }
      case codegen::host::kWaveFirst:
        item->result = here.front()->value;
        break;
      default:  // no more than to meet
        break;
    }
  }
  for (WorkItem* item : here) item->state = State::kReady;
  return true;
}

// Lets those go on that yielded, but for lanes that are behind others of their wave. False if none did.
bool ItemFibers::look_again(Lanes block, uint32_t wave_size) {
  auto yields = [](const WorkItem& item) { return item.state == State::kYields; };
  if (std::ranges::none_of(block, yields)) return false;
  context_->services->yield(context_, 0, std::exchange(moved_, false));
  for (size_t begin = 0; begin < block.size(); begin += wave_size) {
    Lanes wave = block.subspan(begin, std::min<size_t>(wave_size, block.size() - begin));
    const WorkItem* first = nullptr;
    for (const WorkItem& item : wave) {
      bool waits = item.state == State::kAtWave || yields(item);
      if (waits && (!first || item.where < first->where)) first = &item;
    }
    for (WorkItem& item : wave) {
      bool goes_on = yields(item) && (!item.value || item.where == first->where);
      if (goes_on) item.state = State::kReady;
    }
  }
  return true;
}

// All have ended or wait for the block. False if nobody is left.
bool ItemFibers::converge_block(Lanes block) {
  const WorkItem* first = nullptr;
  bool together = true, grid = false;
  uint64_t count = 0;
  for (const WorkItem& item : block) {
    bool waits = item.state == State::kAtBlock;
    if (waits && !first) first = &item;
    together &= waits && item.where == first->where;
    grid |= waits && item.collective == codegen::host::kGridBarrier;
    count += waits && item.collective == codegen::host::kBlockCount && (item.value & 1);
  }
  if (!first) return false;
  if (!together) tell_that_diverged(block);
  if (grid) context_->services->converge_grid(context_, 0);
  for (WorkItem& item : block) {
    if (item.state != State::kAtBlock) continue;
    item.result = count;
    item.state = State::kReady;
  }
  return true;
}

void ItemFibers::tell_that_diverged(Lanes block) {
  // A point may lie in calls: it goes by the number of the first that waits there.
  points_.clear();
  for (const WorkItem& item : block) {
    auto here = [&](const WorkItem& other) { return other.state == State::kAtBlock && other.where == item.where; };
    points_.push_back(item.state == State::kEnded ? codegen::host::kEndedPoint
                                                  : static_cast<uint32_t>(std::ranges::find_if(block, here)->index));
  }
  context_->services->diverged(context_, 0, points_.data(), static_cast<uint32_t>(points_.size()));
}

uint64_t ItemFibers::converge(CollectiveKind collective, uint32_t point, uint64_t value, uint64_t otherwise,
                              uint32_t lane) {
  WorkItem& item = items_[running_.value()];
  item.collective = collective;
  item.value = value;
  item.otherwise = otherwise;
  item.lane = lane;
  item.state = of_block(collective)                  ? State::kAtBlock
               : collective == codegen::host::kYield ? State::kYields
                                                     : State::kAtWave;
  item.where.push_back(point);
  note_movement(item);
  item.fiber.pause();
  item.where.pop_back();
  return item.result;
}

void ItemFibers::note_movement(WorkItem& item) {
  if (item.state == State::kAtWave || (item.state == State::kYields && item.where == item.looked)) return;
  moved_ = true;
  if (item.state == State::kYields) {
    item.looked = item.where;
  } else {
    item.looked.clear();
  }
}

void ItemFibers::enter(uint32_t point) { items_[running_.value()].where.push_back(point); }

void ItemFibers::leave() { items_[running_.value()].where.pop_back(); }

std::optional<uint32_t> ItemFibers::take_running() { return std::exchange(running_, std::nullopt); }

namespace {

std::mutex idle_mutex;
std::vector<std::unique_ptr<ItemFibers>>& idle() {
  static auto* fibers = new std::vector<std::unique_ptr<ItemFibers>>();  // launches may outlive static objects
  return *fibers;
}

}  // namespace

void GiveBack::operator()(ItemFibers* fibers) const {
  std::unique_ptr<ItemFibers> owned(fibers);
  std::lock_guard lock(idle_mutex);
  if (idle().size() < std::thread::hardware_concurrency()) idle().push_back(std::move(owned));
}

BorrowedFibers borrow_fibers() {
  std::lock_guard lock(idle_mutex);
  if (idle().empty()) return BorrowedFibers(new ItemFibers());
  BorrowedFibers fibers(idle().back().release());
  idle().pop_back();
  return fibers;
}

}  // namespace mneme::device::host
