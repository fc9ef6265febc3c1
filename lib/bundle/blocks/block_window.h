// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/digest.h"

namespace mneme::bundle {

// Which blocks are at hand in a bundle that is written (FORMAT.md, section 5): those of the instance before and
// those stored since; and, where the bundle says which stay beside those, a bounded number of others. Takes some 70
// bytes a block.
class BlockWindow {
 public:
  // From here on up to so many others stay, and a quarter more in between.
  void keep_others(size_t most) { most_others_ = most; }
  // One of several bundles, of which the one that is written is made, ends, and the next one begins: what only one of
  // them has is let go when another has been read that does not have it.
  void begin_input() { ++input_; }

  bool holds(const Digest& block) const { return uses_.contains(block); }
  bool add(const Digest& block);                     // is stored; false if it is at hand
  void add_instance(std::span<const Digest> cited);  // is written, all of it at hand; zero blocks do no harm
  // What another tool's instance cites is not known: nothing is at hand.
  void clear() { uses_.clear(); }

  // If it is time to let blocks go, does so. The others that stay, ascending.
  std::optional<std::vector<Digest>> let_go();

 private:
  struct Use {
    uint64_t instance = 0;   // the last that cites it; 0: none yet
    uint32_t input = 0;      // likewise
    bool is_shared = false;  // by two inputs
  };

  std::optional<size_t> most_others_;
  std::unordered_map<Digest, Use> uses_;
  size_t in_hand_ = 0;     // of them, the instance before cites
  uint64_t instance_ = 0;  // numbers, from 1 on
  uint32_t input_ = 0, swept_ = 0;
};

}  // namespace mneme::bundle
