// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "bundle/pack/encoder.h"

namespace mneme::bundle {

// A block to be stored. The base is a candidate only.
struct PackItem {
  PackEntry entry;
  uint64_t address = 0;
  bool epilogue = false;
};

// Packs any number of blocks, several packs at once, and hands the packs on in order.
class PackWriter {
 public:
  using Contents = std::function<Bytes(const PackItem& item, bool base)>;  // called from several threads
  using Sink = std::function<void(Bytes pack)>;                            // called from this one
  void write(std::vector<PackItem> items, const Contents& contents, const Sink& sink);

 private:
  std::vector<std::unique_ptr<PackEncoder>> encoders_;  // idle ones, kept from one instance to the next
};

}  // namespace mneme::bundle
