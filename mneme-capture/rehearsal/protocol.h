// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-capture says to mneme-rehearse, in a file that is its standard input, and what that answers on its
// standard output. Both are one build.
#pragma once
#include <string>
#include <vector>

#include "bundle/format.h"
#include "recorder/link/protocol.h"

namespace mneme::capture {

inline constexpr char kRehearseProgram[] = "mneme-rehearse";

// Memory that is the first `size` bytes of a file, of which mneme-rehearse inherits the descriptor.
struct InheritedMemory {
  uint64_t address = 0;
  uint64_t size = 0;
  int32_t file = -1;
  void visit(auto& visitor) { visitor(address, size, file); }
};

// { u64 size }, `size` bytes of this, and from the next multiple of kBlockSize on the contents of `filled`, one block
// behind the other.
struct RehearsalRequest {
  std::string kernel_json, bitcode;
  bundle::Dim3 grid, block;
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  bundle::Dim3 cluster;
  std::string arguments;
  // Memory that is not recorded lies in the same blocks as recorded memory (that the application registered): all
  // accesses are to be checked against the segments.
  bool mixed = false;
  bool in_order = false;                      // one block after the other, on one core
  std::vector<record::WireSegment> segments;  // if not mixed, only those that have names
  std::vector<record::MemoryRange> memory;    // whole blocks, by address: all that is recorded
  std::vector<record::MemoryRange> foreign;   // where the application has memory that is not recorded
  std::vector<InheritedMemory> shared;        // with contents, by address; more than is recorded
  std::vector<uint64_t> filled;               // addresses of the other blocks that are not zeros
  void visit(auto& visitor) {
    visitor(kernel_json, bitcode, grid, block, shared_bytes, cooperative, cluster, arguments, mixed, in_order, segments,
            memory, foreign, shared, filled);
  }
};

struct RehearsalReply {
  enum class Outcome : uint32_t {
    kEnded = 1,
    kFault,   // at `address`, in `block`
    kWaits,   // for memory that the kernel does not change itself
    kTaken,   // this process has memory of its own where the application has; another may not
    kFailed,  // for another reason, which says nothing of the recording
  };
  Outcome outcome = Outcome::kFailed;
  uint64_t address = 0;
  bundle::Dim3 block;
  std::string reason;
  void visit(auto& visitor) { visitor(outcome, address, block, reason); }
};

}  // namespace mneme::capture
