// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/digest.h"
#include "bundle/workers.h"

namespace mneme::run {

// Fills slots of staging memory (staging.h) with blocks, several slots beside each other: what one takes is mostly
// waiting for threads to begin and to end.
class Filler {
 public:
  // A block's bytes, kBlockSize of them; called by several threads.
  using Block = std::function<Bytes(const Digest&)>;

  ~Filler() { rest(); }
  // With the blocks of these digests, one after another. Slots are done in the order in which they were begun. `known`
  // says which blocks the slot holds; those are left as they are, and it is kept up. It may be empty.
  void begin(std::span<std::byte> slot, std::string digests, const Block& block, std::span<Digest> known = {});
  // Waits for the next. Throws what `block` does.
  void finish();
  size_t begun() const { return filling_.size(); }  // and not finished
  // Nothing is to be filled for a while; what was begun is not waited for any more.
  void rest();

 private:
  struct Filling {
    std::string digests;
    Block block;
    std::vector<std::future<void>> parts;
  };
  std::deque<Filling> filling_;
  std::optional<bundle::Workers> threads_;  // last: they use the above
};

}  // namespace mneme::run
