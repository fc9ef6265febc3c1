// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "recorder/memory/allocations.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record {

// What a launch's textures and surfaces stand for, while the launch is recorded: of arrays that no snapshot reaches,
// copies in memory that is recorded.
class ArrayCopies {
 public:
  ArrayCopies(Allocations& allocations, Runtime& runtime, int device)
      : allocations_(allocations), runtime_(runtime), device_(device) {}
  ~ArrayCopies();
  ArrayCopies(const ArrayCopies&) = delete;
  ArrayCopies& operator=(const ArrayCopies&) = delete;

  // The device is at rest. `missing` gets sentences on what is not recorded; then nothing is.
  void take(const bundle::KernelInfo& kernel, const std::string& arguments, std::vector<std::string>& missing);
  // Of the arrays that the kernel may have written. False: the vendor refused.
  bool take_again() const;
  // Where the arrays' contents lie.
  const std::vector<Allocations::Symbol>& symbols() const { return symbols_; }
  // Textures of memory that is in no segment: sentences.
  std::vector<std::string> missing_in(const std::vector<WireSegment>& segments) const;
  // As instances have it; empty: nothing is recorded of textures.
  std::string json() const;

 private:
  void place();
  void forget();

  Allocations& allocations_;
  Runtime& runtime_;
  int device_;
  TexturesOfLaunch textures_;
  std::vector<Allocations::Symbol> symbols_;  // of each array
  std::vector<const void*> copies_;           // of those that need one
};

}  // namespace mneme::record
