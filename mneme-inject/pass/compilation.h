// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a translation unit is compiled: what a kernel's record says of its source.
#pragma once
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mneme::inject {

struct Compilation {
  std::vector<std::string> command;  // as KernelInfo has it
  std::string source;                // a frame (objects/source.h); empty: none is wanted
};

// By a kernel's name.
using Compilations = std::map<std::string, std::shared_ptr<const Compilation>>;

// Of the compiler that this runs in, which compiles `unit`. With MNEME_EMBED_SOURCE=1 it preprocesses the unit once
// more, to learn which headers it includes. Throws Error where one cannot be read.
std::shared_ptr<const Compilation> compilation_of(const llvm::Module& unit);
// The same for each kernel of the unit.
Compilations compilations_of(const llvm::Module& unit);

// Has a unit's IR that is to be linked carry it, in metadata; and what linked units carried.
void carry(const Compilations& compilations, llvm::Module& unit);
Compilations carried_compilations(const llvm::Module& linked);

// The sections' records of all frames, each once.
std::vector<std::string> sources_of(const Compilations& compilations);

}  // namespace mneme::inject
