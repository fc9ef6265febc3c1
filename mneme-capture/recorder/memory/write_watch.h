// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "recorder/link/kept_descriptor.h"
#include "recorder/link/protocol.h"
#include "recorder/memory/page_scan.h"

namespace mneme::record {

// Which memory of this process has not been written since one looked the last time, and need not be read again. That is
// noted page by page as it is written (page_scan.h): memory that most is written of is not watched for a while, since
// that would cost more than reading it. Where the system cannot tell, nothing is known of any.
class WriteWatch {
 public:
  // Whole pages, mapped shared, to which nobody writes but through that mapping, and in which no holes are made
  // (MADV_REMOVE): these are not noted; or memory that is the process's alone, and no file's. Of what it holds now
  // nothing is known.
  void add(MemoryRange memory);
  // What was added of these addresses.
  void remove(MemoryRange memory);
  // Nobody looks any more, or in a child of a fork: what is watched is the parent's.
  void forget();

  // Runs of whole blocks, by address. Safe while others write: what they write during the call counts as written
  // after it.
  std::vector<MemoryRange> look();

 private:
  static constexpr uint64_t kRegionSize = 2 << 20;

  struct Region {
    uint64_t watched = 0;  // bytes of it that are
    int rests = 0;         // looks for which none is
    int next_rest = 1;     // how many, if much of it is written again
  };
  struct Watched {
    uint64_t size = 0;
    std::vector<Region> regions;
  };

  bool look_at(const PageScan& pages, uint64_t address, Watched& memory, std::vector<MemoryRange>& unwritten);
  void rest_where_busy(MemoryRange stretch, uint64_t address, Watched& memory, const std::vector<MemoryRange>& still,
                       const std::vector<MemoryRange>& written) const;
  void unwatch_all();

  std::optional<KeptDescriptor> protector_;
  std::map<uint64_t, Watched> all_;  // by address
};

}  // namespace mneme::record
