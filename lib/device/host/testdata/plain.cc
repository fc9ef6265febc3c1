// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A code object as the code generator writes them: notes what it is shown, and uses its variables.
#include <cstring>

#include "codegen/host/abi.h"

using namespace mneme::codegen::host;

namespace {

constexpr long kTable[2] = {40, 2};
constexpr GlobalRelocation kToTable[] = {{0, 0}};
constexpr long kOffset = 8;

GlobalSlot globals[] = {
    {"table", sizeof kTable, 8, kTable, nullptr, 0, nullptr},
    {"second", 8, 8, &kOffset, kToTable, 1, nullptr},  // &table[1]
    {"calls", 8, 8, nullptr, nullptr, 0, nullptr},
    {"first", 8, 8, nullptr, kToTable, 1, nullptr},  // &table[0]: zeros, but for the address
};

// What a block sees. The kernel has one argument: where to write one of these for each block.
struct Seen {
  unsigned group[3];
  unsigned grid[3];
  unsigned short block[3];
  unsigned work_items;  // along x, from the dispatch packet
  unsigned dirty;       // bytes of shared memory that were not zero
  unsigned misaligned;  // of shared memory
  long sum;             // of the variables
};

void run_block(BlockContext* context) {
  const auto* implicit = static_cast<const char*>(context->implicit);
  const auto* dispatch = static_cast<const char*>(context->dispatch);
  unsigned linear = (context->group[2] * context->grid[1] + context->group[1]) * context->grid[0] + context->group[0];
  Seen& seen = (*static_cast<Seen* const*>(context->arguments))[linear];
  std::memcpy(seen.group, context->group, sizeof seen.group);
  std::memcpy(seen.grid, implicit, sizeof seen.grid);
  std::memcpy(seen.block, dispatch + 4, sizeof seen.block);
  if (std::memcmp(dispatch + 4, implicit + 12, 6) != 0) seen.block[0] = 0;
  std::memcpy(&seen.work_items, dispatch + 12, 4);
  auto* shared = static_cast<unsigned char*>(context->shared);
  unsigned size = 256 + context->shared_dynamic;
  for (unsigned i = 0; i < size; ++i) seen.dirty += shared[i] != 0;
  std::memset(shared, 0xff, size);
  seen.misaligned = reinterpret_cast<unsigned long>(shared) % 128;
  seen.sum = **static_cast<long**>(globals[3].address) + **static_cast<long**>(globals[1].address);
  __atomic_fetch_add(static_cast<long*>(globals[2].address), 1, __ATOMIC_RELAXED);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) CodeObject mneme_code_object;
CodeObject mneme_code_object = {kAbiVersion, 0, 0, 0, run_block, 256, globals, 4, "plain(Seen*)", 1024, {}, 0, 0, 0};
