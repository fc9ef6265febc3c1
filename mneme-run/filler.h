// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <optional>
#include <span>

#include "base/digest.h"
#include "bundle/workers.h"

namespace mneme::run {

// Fills slots of staging memory (staging.h) with blocks.
class Filler {
 public:
  // A block's bytes, kBlockSize of them; called by several threads.
  using Block = std::function<Bytes(const Digest&)>;

  // With the blocks of these digests, one after another. Throws what `block` does.
  void fill(std::span<std::byte> slot, Bytes digests, const Block& block);
  // Nothing is to be filled for a while.
  void rest() { threads_.reset(); }

 private:
  std::optional<bundle::Workers> threads_;
};

}  // namespace mneme::run
