// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel compiled for the host device and whoever calls it agree on. Plain data, no LLVM: the
// code generator (lower.cc) lays out the same structures in IR, and a test compares the two.
#pragma once
#include <cstdint>

namespace mneme::codegen::host {

inline constexpr uint32_t kAbiVersion = 1;
inline constexpr char kEntrySymbol[] = "mneme_code_object";  // a CodeObject, in the shared object

// Everything that the work-items of one block see. One a thread of the CPU; `group` changes from
// block to block.
struct BlockContext {
  const void* arguments;    // the kernel's argument bytes
  const void* implicit;     // 256 bytes laid out as AMDGPU's implicit arguments (code object v5)
  const void* dispatch;     // 64 bytes laid out as an AQL kernel dispatch packet
  void* shared;             // static shared memory, then dynamic, aligned to 128
  void* frames;             // room for what work-items keep across barriers
  uint64_t frames_size;     // bytes
  uint32_t group[3];        // block index
  uint32_t block[3];        // threads in a block
  uint32_t grid[3];         // blocks in the grid
  uint32_t shared_dynamic;  // bytes of dynamic shared memory
  // How the block ended, set by the code: 0 well; see BlockFault.
  uint32_t fault;
  uint32_t fault_thread;  // linear index in the block
};

enum BlockFault : uint32_t {
  kNoFault = 0,
  kFramesExhausted = 1  // `frames_size` is too small for what the block's work-items keep
};

// A device variable that the code refers to. Its memory is the caller's, who stores its address
// before the first block runs. `initial` is what a fresh one holds (for a constant, always); pointers
// inside it to other variables are listed in `relocations`.
struct GlobalRelocation {
  uint64_t offset;  // in `initial`: 8 bytes to add the address of `target` to
  uint64_t target;  // index of a variable
};
struct GlobalSlot {
  const char* name;
  uint64_t size;
  uint64_t align;
  const void* initial;  // `size` bytes; null: zeros
  const GlobalRelocation* relocations;
  uint64_t relocation_count;
  void* address;  // written by the caller
};

struct CodeObject {
  uint32_t version;  // kAbiVersion
  uint32_t keeps;    // 1: work-items keep something across barriers, in `frames`; 0: `frames` may be null
  uint32_t ordered;  // 1: the result depends on the order of blocks (order of atomics): run them in order
  uint32_t reserved;
  void (*run_block)(BlockContext*);
  uint64_t shared_static;  // bytes of static shared memory
  GlobalSlot* globals;
  uint64_t global_count;
  const char* kernel;  // demangled name, for messages
};

}  // namespace mneme::codegen::host
