// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/running_block.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;

RunningBlock& block_of(BlockContext* context) { return *static_cast<RunningBlock*>(context); }

}  // namespace

void converge_grid(BlockContext* context, uint32_t) {
  block_of(context).pause = Pause::kAtGrid;
  block_of(context).fiber->pause();
}

void yield(BlockContext* context, uint32_t, uint32_t moved) {
  RunningBlock& block = block_of(context);
  if (!block.fiber) return;  // the work-items wait for each other only
  block.pause = moved ? Pause::kMoved : Pause::kStuck;
  block.fiber->pause();
}

void run_items(BlockContext* context, uint32_t, codegen::host::ItemFunction item, uint32_t wave_size) {
  block_of(context).items->run(*context, item, wave_size);
}

uint64_t converge(BlockContext* context, uint32_t, uint32_t collective, uint32_t point, uint64_t value,
                  uint64_t otherwise, uint32_t lane) {
  return block_of(context).items->converge(static_cast<codegen::host::CollectiveKind>(collective), point, value,
                                           otherwise, lane);
}

void enter(BlockContext* context, uint32_t, uint32_t point) { block_of(context).items->enter(point); }

void leave(BlockContext* context, uint32_t) { block_of(context).items->leave(); }

}  // namespace mneme::device::host
