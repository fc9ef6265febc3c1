// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/digest.h"
#include "bundle/format.h"

namespace mneme::record {

struct Limits {
  uint64_t max_instances = 4;  // of a kernel
  uint64_t occurrences = 1;    // of launches alike
  uint64_t skip = 0;           // first launches of a kernel
  uint64_t every = 1;          // of those after them, each Nth is considered
  bool only_config = false;    // launches are alike whose dimensions are, whatever their arguments
};

// What a launch is told apart by: dimensions, the device and, unless these are all that counts, the values of arguments
// that are no pointers. Two launches of one kernel with the same key are alike.
Digest launch_key(const Limits& limits, const bundle::KernelInfo& kernel, bundle::Dim3 grid, bundle::Dim3 block,
                  uint32_t shared_bytes, const std::string& arguments, int device = 0, bundle::Dim3 cluster = {});

// Which launches of one kernel are recorded. Not thread-safe. Holds as many keys as there are instances, however many
// launches there are.
class Policy {
 public:
  enum class Verdict {
    kRecord,
    kAlike,    // an occurrence of what was recorded
    kSkipped,  // among the first ones
    kBetween,  // not each Nth
    kEnough    // the kernel has its instances
  };
  struct Choice {
    Verdict verdict;
    uint32_t* slot;        // kRecord, kAlike: where the key's counter is remembered; 0 until the caller sets it
    bool settled = false;  // it is the verdict on all later launches with this key, unless one is withdrawn
  };

  explicit Policy(const Limits& limits) : limits_(limits) {}
  Choice choose(const Digest& key);
  void withdraw(const Digest& key);  // what kRecord promised did not come about

 private:
  struct Key {
    uint64_t recorded = 0;
    uint32_t slot = 0;
  };
  Limits limits_;
  uint64_t seen_ = 0;
  uint64_t recorded_ = 0;
  std::unordered_map<Digest, Key> keys_;
};

}  // namespace mneme::record
