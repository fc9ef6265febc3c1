// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the host device keeps with a block's context, and the services by which its work-items and blocks converge.
#pragma once
#include <optional>

#include "codegen/host/abi.h"
#include "device/host/fibers/fiber.h"
#include "device/host/fibers/item_fibers.h"
#include "device/host/heap/heap.h"

namespace mneme::device::host {

// Why a block was left.
enum class Pause {
  kNone,
  kAtGrid,  // until all blocks are there
  kMoved,   // while others go on, since some work-items wait
  kStuck    // likewise; and nothing else has happened in it
};

// Every context that run_grid gives to code is part of one.
struct RunningBlock : codegen::host::BlockContext {
  ItemFibers* items = nullptr;                  // for code that keeps stacks
  Fiber* fiber = nullptr;                       // that the block runs on, for code that waits for other blocks
  Pause pause = Pause::kNone;                   // `fiber`, last
  const Stacks* stacks = nullptr;               // of which `fiber` has one
  uint64_t checked_begin = 0, checked_end = 0;  // memory that was looked up last, in code compiled to be checked
  HeapPiece checked_piece = {};                 // likewise, of the device's heap,
  uint64_t checked_turn = 0;                    // and DeviceHeap::turn() then
  std::optional<uint32_t> checked_thread;       // which work-item that was for, by its linear index
  std::optional<uint64_t> refused_address;      // that of an access which may not be
};

// Members of Services (codegen/host/abi.h).
void converge_grid(codegen::host::BlockContext* context, uint32_t thread);
void yield(codegen::host::BlockContext* context, uint32_t thread, uint32_t moved);
void run_items(codegen::host::BlockContext* context, uint32_t thread, codegen::host::ItemFunction item,
               uint32_t wave_size);
uint64_t converge(codegen::host::BlockContext* context, uint32_t thread, uint32_t collective, uint32_t point,
                  uint64_t value, uint64_t otherwise, uint32_t lane);
void enter(codegen::host::BlockContext* context, uint32_t thread, uint32_t point);
void leave(codegen::host::BlockContext* context, uint32_t thread);

}  // namespace mneme::device::host
