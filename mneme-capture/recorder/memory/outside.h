// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "recorder/link/protocol.h"

namespace mneme::record {

// Memory that kernels may reach and of which no recording can be made, each piece with the reason. Thread-safe.
class Outside {
 public:
  void add(uint64_t address, uint64_t size, std::string reason);
  void remove(uint64_t address);                        // of what add() was told
  void remove_all_in(uint64_t address, uint64_t size);  // what begins there
  std::vector<OutsideMemory> list() const;              // by address
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, OutsideMemory> pieces_;
};

// Sentences on the arguments that point to memory that is outside and not in the segments (by address, disjoint), also
// from within a structure.
std::vector<std::string> missing_of(const bundle::KernelInfo& kernel, const std::string& arguments,
                                    const std::vector<WireSegment>& segments,
                                    const std::vector<OutsideMemory>& outside);

}  // namespace mneme::record
