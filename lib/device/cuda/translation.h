// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>

#include "device/cuda/device_memory.h"
#include "device/moved_globals.h"

namespace mneme::device::cuda {

// Addresses of variables that lie in memory, from the recording's to where the loader placed the variables, and back:
// on the GPU, which goes through all of its memory.
class Translation {
 public:
  // `ranges`: from address to end, multiples of a block.
  explicit Translation(const std::map<uint64_t, uint64_t>& ranges) : ranges_(ranges) {}

  void there(const Moves& moves) const { translate(moves.ways_there()); }
  void back(const Moves& moves) const { translate(moves.ways_back()); }

 private:
  void translate(const std::vector<Moves::Way>& ways) const;

  const std::map<uint64_t, uint64_t>& ranges_;
};

}  // namespace mneme::device::cuda
