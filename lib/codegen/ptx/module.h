// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module that a file of PTX becomes: variables and functions come into it when they are asked for.
#pragma once
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/Module.h>

#include "codegen/ptx/syntax.h"

namespace mneme::codegen::ptx {

// LLVM's address spaces of NVIDIA's GPUs.
enum AddressSpace : unsigned { kGeneric = 0, kGlobal = 1, kShared = 3, kConstant = 4 };
// Of a PTX space. Local memory and parameters have generic addresses in this IR.
AddressSpace address_space(llvm::StringRef space);

class LiftedModule {
 public:
  LiftedModule(const PtxFile& file, llvm::StringRef text, llvm::Module& module);

  llvm::Module& module() { return module_; }
  llvm::LLVMContext& context() { return module_.getContext(); }

  // Declared here, for lift_function to fill if the file defines it. Null: there is none.
  llvm::Function* function(llvm::StringRef name);
  // In its address space. Null: there is none.
  llvm::GlobalVariable* variable(llvm::StringRef name);
  // One that only a function's body knows.
  llvm::GlobalVariable* add_variable(const PtxVariable& variable, llvm::StringRef name);

  const PtxFunction* definition(llvm::StringRef name) const;

  // Arrays are passed by value in memory, and are returned as arrays of words.
  llvm::FunctionType* type_of(const PtxFunction& function);
  void add_attributes(llvm::AttributeList& attributes, const PtxFunction& function);
  llvm::Type* type_of(const PtxVariable& value, bool is_result);

  // Throws Error: "line 7 of the PTX ('…') <what>".
  [[noreturn]] void fail(llvm::StringRef piece, llvm::StringRef what) const;

 private:
  llvm::Constant* initial_value(const PtxVariable& variable, llvm::Type* type);
  llvm::Constant* element_value(llvm::StringRef text, const PtxVariable& variable);
  llvm::Constant* address_value(llvm::StringRef text, unsigned bits);

  const PtxFile& file_;
  llvm::StringRef text_;
  llvm::Module& module_;
  llvm::StringMap<const PtxFunction*> functions_;
  llvm::StringMap<const PtxVariable*> variables_;
  llvm::StringMap<llvm::GlobalVariable*> made_;
};

// Fills a function that the file defines. Throws Error where there is something in it that Mneme does not know.
void lift_function(LiftedModule& module, const PtxFunction& source, llvm::Function& function);

// Makes pointer arithmetic of integer arithmetic, and pointers of the kernels' arguments that are addresses.
void recover_pointers(llvm::Module& module, llvm::ArrayRef<std::string> kernels);

// Indices of elements in place of distances in bytes, and branches to what a condition guards.
void write_as_clang(llvm::Module& module);

}  // namespace mneme::codegen::ptx
