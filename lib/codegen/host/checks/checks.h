// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that collects findings (--check, docs/checks.md): it tells the detectors of the runtime (device/host/checks)
// about accesses to memory and about synchronisation.
//
//   fence release           fence release
//   barrier           ──▶   barrier
//   fence acquire           fence acquire
//                           service.track_sync(kTrackedBarrier, site)
//   store x, p              service.track(p, 4, x, site)
//                           store x, p
#pragma once
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <utility>

#include "bundle/format.h"

namespace mneme::codegen::host {

// TrackedChecks (abi.h) of a configuration.
uint32_t checks_of(const bundle::Configuration& configuration);
// Whether their detectors need to know of accesses and of synchronisation.
bool tracks(uint32_t checks);

// Marks barriers, collectives of waves and fences that are in the source. Comes before keep_lanes_in_step(), which adds
// synchronisation of its own, that must hide no finding, and removes fences.
void track_synchronisation(llvm::Module& module);

// Makes known each access to memory that is not the work-item's own. Comes before atomic operations become others.
// `is_nvptx`: clang gives CUDA's atomic operations an order that they do not have: sequentially consistent.
void track_accesses(llvm::Module& module, bool is_nvptx);

// The places of instructions as constants: Site (abi.h).
class Sites {
 public:
  explicit Sites(llvm::Module& module) : module_(module) {}
  llvm::Constant* site(const llvm::Instruction& instruction, uint32_t flags);
  llvm::Constant* text(const std::string& text);  // that ends with a zero

 private:
  llvm::Module& module_;
  std::map<std::pair<std::string, uint32_t>, llvm::Constant*> sites_;
  std::map<std::string, llvm::Constant*> texts_;
};

// "reduce.hip:12", outside of the compiler's and the vendors' headers; empty: not known.
std::string place_of(const llvm::Instruction& instruction);

}  // namespace mneme::codegen::host
