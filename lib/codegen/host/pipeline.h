// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of the compiler for the CPU by name, in order, each with what holds after it: from a vendor's IR to a
// module that exports a code object (abi.h). README.md has the table, and a kernel after each stage.
#pragma once
#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bundle/format.h"
#include "codegen/host/forms/lower.h"

namespace mneme::ir {
class PassGate;
}

namespace mneme::codegen::host {

// A kernel on its way through the passes, and what they find out about it.
struct Compilation {
  Compilation(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration,
              const bundle::InstanceInfo* instance, llvm::TargetMachine& machine, std::unique_ptr<llvm::Module> device);

  const bundle::KernelInfo& kernel;
  const bundle::Configuration& configuration;
  const bundle::InstanceInfo* instance;  // whose values it is specialised to; null: none
  llvm::TargetMachine& machine;
  bool is_nvptx;  // the vendor's dialect is NVIDIA's, else AMD's
  std::unique_ptr<llvm::Module> module;

  ir::PassGate* gate = nullptr;       // counts passes of the configuration's pipeline; null: none does
  bool verifies;                      // after each pass, what holds after it
  std::set<std::string> print_after;  // passes after which the IR goes to standard error

  std::vector<bundle::StoreType> stores;
  std::vector<std::string> remarks;  // sentences about what may cost time
  Traits traits = {};
  size_t collectives = 0;  // barriers and collective operations of waves, each of which ends a loop over work-items
  bool fibers = false;     // the form
  llvm::DISubprogram* source = nullptr;  // the kernel's; null: no debug information
  llvm::Function* item = nullptr;        // from the pass `item` until `block` has cut it up
  std::pair<llvm::Constant*, uint64_t> globals = {nullptr, 0};
  BlockCode code = {};
};

struct Pass {
  const char* name;
  const char* functions;  // that it calls, each documented where it is declared
  const char* holds;      // after it: a sentence
  void (*run)(Compilation&);
  // What goes against that, as the rest of a sentence; empty: nothing. Null: nothing that is seen in IR.
  std::string (*broken_by)(const Compilation&) = nullptr;
  // The pass that ends it; null: it holds to the end.
  const char* until = nullptr;
};

llvm::ArrayRef<Pass> passes();

// Runs these passes, up to the one that is named (null: all). Where the compilation verifies, throws Error that names
// the pass that leaves invalid IR, or breaks what it or one before it promises.
void run_passes(Compilation& compilation, llvm::ArrayRef<Pass> passes, const char* last = nullptr);

// Whether compilations verify: in debug builds, and with MNEME_VERIFY_PASSES=1 in the environment.
bool verifies_passes();

}  // namespace mneme::codegen::host
