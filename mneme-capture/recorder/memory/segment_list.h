// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "recorder/link/protocol.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record {

// Lists memory for the parent: what is alike and evenly spaced as one entry, since an application may have a million
// pieces; what is named, cut or described on its own.
class SegmentList {
 public:
  // `special`: all addresses that name() and annotate() will be called with.
  explicit SegmentList(std::vector<uint64_t> special);

  // A piece of memory. Those of one address range come by ascending address.
  void add(MemoryRange piece, bundle::SegmentKind kind, uint32_t device = 0);
  // The same for memory that lies anywhere.
  void add_apart(MemoryRange piece, bundle::SegmentKind kind, uint32_t device = 0);

  // Cuts a variable out of what holds it, if anything does.
  void name(MemoryRange variable, const std::string& symbol);
  // What lies from `address` on to the end of its piece begins a segment of its own. A variable stays whole: one that
  // is annotated in part is not annotated.
  void annotate(uint64_t address, const std::string& json);
  // The names of those.
  const std::set<std::string>& annotated_in_part() const { return annotated_in_part_; }

  std::vector<WireSegment> take();  // by address

 private:
  bool is_special(MemoryRange piece) const;
  WireSegment* holder(uint64_t address);
  WireSegment* split(uint64_t address);

  std::vector<uint64_t> special_;  // in order
  std::vector<WireSegment> runs_;
  bool open_ = false;  // the last of them may go on
  std::map<uint64_t, WireSegment> apart_;
  std::set<std::string> annotated_in_part_;
};

}  // namespace mneme::record
