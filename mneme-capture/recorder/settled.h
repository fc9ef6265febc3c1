// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/kernels.h"

namespace mneme::record {

// Launches of which it is settled that they are only counted. The last one of each host function is remembered, so that
// one like it costs a comparison, without locks, hashes and allocations. Not thread-safe.
class Settled {
 public:
  struct Slots {
    uint32_t launches = 0;  // counter of the kernel's launches
    uint32_t reason = 0;    // counter of those that are not recorded for this reason, or are like a recorded one
  };

  // nullptr: it has to be looked into.
  const Slots* find(const LaunchRequest& request, int device) const;
  // Whatever the launch's dimensions and arguments.
  void remember_all(const void* function, int device, Slots slots);
  // Those with its dimensions, and the values of its arguments that are no pointers unless `only_config`.
  void remember_alike(const LaunchRequest& request, int device, const bundle::KernelInfo& kernel, bool only_config,
                      Slots slots);
  void forget() { entries_.clear(); }

 private:
  struct Value {
    uint32_t argument = 0;  // its place among the arguments
    uint32_t size = 0;      // bytes
  };
  struct Entry {
    int device = 0;
    bool all = false;
    bundle::Dim3 grid, block, cluster;
    uint32_t shared_bytes = 0;
    std::vector<Value> values;
    std::string bytes;  // of the values, one after the other, padding as the application left it
    Slots slots;
  };
  std::unordered_map<const void*, Entry> entries_;  // by host function
};

}  // namespace mneme::record
