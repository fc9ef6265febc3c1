// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of memory that other lanes of a wave may see.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mneme::codegen::host {

enum class Space { kShared, kGlobal, kEither };

struct SharedAccess {
  llvm::Instruction* instruction;
  llvm::Value* pointer;  // null: anywhere
  uint64_t size;         // in bytes; 0: unknown
  Space space;
  bool reads, writes, atomic, is_volatile;
};

// Which memory pointers lead to. Nobody keeps a pointer to shared memory beyond the block, so none comes from the
// kernel's arguments, nor from memory that these lead to.
class Spaces {
 public:
  // `kernel`: the function whose arguments the application gives; null: none.
  Spaces(const llvm::Module& module, const llvm::Function* kernel);

  bool has_shared() const { return has_shared_; }
  // None: private memory, and what no lane writes.
  std::optional<Space> of(const llvm::Value* pointer) const;

 private:
  std::optional<Space> of_object(const llvm::Value* object) const;
  bool is_number_from_outside(const llvm::Value* number) const;

  const llvm::Function* kernel_;
  bool has_shared_;
};

// What calls of functions that were not inlined do with memory that other lanes may see.
enum class Calls { kNothing, kRead, kWrite };

// A function's accesses of shared and global memory, in the order of its instructions. A call touches memory anywhere,
// as `calls` says; that of a function that is not known writes.
std::vector<SharedAccess> shared_accesses(llvm::Function& function, const Spaces& spaces, Calls calls);

// "the store to 'tile' at app.hip:12": the line only if there is debug information.
std::string describe(const SharedAccess& access);

}  // namespace mneme::codegen::host
