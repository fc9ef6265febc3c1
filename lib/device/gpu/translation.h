// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>

#include "device/gpu/gpu.h"
#include "device/moved_globals.h"

namespace mneme::device::gpu {

// Addresses of variables that lie in memory, from the recording's to where the loader placed the variables, and back:
// on the GPU, which goes through all of its memory; by the host, where the GPU has no kernels for it.
class Translation {
 public:
  // `ranges`: from address to end, multiples of a block.
  Translation(Gpu& gpu, const std::map<uint64_t, uint64_t>& ranges) : gpu_(gpu), ranges_(ranges) {}

  void there(const Moves& moves) const;
  void back(const Moves& moves) const;

 private:
  void on_gpu(const std::vector<Moves::Way>& ways) const;
  void by_host(const Moves& moves, bool there) const;

  Gpu& gpu_;
  const std::map<uint64_t, uint64_t>& ranges_;
};

}  // namespace mneme::device::gpu
