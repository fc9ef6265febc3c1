// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One function's body on its way to LLVM IR. A register is a variable of the function, a label a basic block.
#pragma once
#include <deque>

#include "codegen/ptx/module.h"

namespace mneme::codegen::ptx {

struct Register {
  PtxType type;
  llvm::AllocaInst* slot = nullptr;
};

// A name with an address: a variable of .local, .shared or .param, or a parameter.
struct Place {
  llvm::Value* address = nullptr;
  llvm::Type* type = nullptr;
};

// Between braces.
struct Scope {
  struct Family {
    llvm::StringRef stem;  // "%r" of "%r<65>"
    unsigned count;
    PtxType type;
  };
  Scope* outer = nullptr;
  llvm::StringMap<Register> registers;
  llvm::SmallVector<Family, 8> families;
  llvm::StringMap<Place> places;
  llvm::StringMap<llvm::BasicBlock*> labels;
  llvm::StringMap<const PtxStatement*> tables;  // .callprototype, .branchtargets by their labels
};

class FunctionLifter {
 public:
  FunctionLifter(LiftedModule& module, const PtxFunction& source, llvm::Function& function);
  void run();

 private:
  // function.cc
  void declare_parameters();
  void find_labels();
  void declare_registers(const PtxStatement& statement);
  void declare_variable(const PtxStatement& statement);
  void lift(const PtxStatement& statement);
  void lift_unguarded(const PtxStatement& statement);
  bool lift_control(const PtxStatement& statement);
  void give_back();
  void jump(const PtxStatement& statement, llvm::Value* holds);
  void jump_by_table(const PtxStatement& statement);
  void begin(llvm::BasicBlock* block);
  llvm::BasicBlock* new_block() { return llvm::BasicBlock::Create(context_, "", &function_); }
  llvm::AllocaInst* new_variable(llvm::Type* type, uint64_t align, bool zero);
  // Of the innermost scope that has such a name; else nothing.
  template <typename T>
  T find(llvm::StringMap<T> Scope::* names, llvm::StringRef name) const {
    for (const Scope* scope = scope_; scope; scope = scope->outer) {
      auto found = (scope->*names).find(name);
      if (found != (scope->*names).end()) return found->second;
    }
    return {};
  }

  // calls.cc
  void call(const PtxStatement& statement);
  llvm::Value* argument(llvm::StringRef text, llvm::Type* type, bool by_value);

  // statement.cc
  Register* find_register(llvm::StringRef name);
  llvm::Value* read(llvm::StringRef operand);
  void write(llvm::StringRef target, llvm::Value* value, bool is_signed = false);
  llvm::Value* special_register(llvm::StringRef name);
  llvm::Value* address_of(llvm::StringRef name);  // as an integer, in its own space; null: no such name
  bool lift_plain(const PtxStatement& statement);
  void lift_assembly(const PtxStatement& statement);

  // memory.cc
  bool lift_memory(const PtxStatement& statement);
  bool load(const PtxStatement& statement);
  bool store(const PtxStatement& statement);
  bool update(const PtxStatement& statement);
  bool convert_address(const PtxStatement& statement);
  void allocate(const PtxStatement& statement);
  llvm::Value* pointer(llvm::StringRef operand, llvm::StringRef space);

  [[noreturn]] void fail(const PtxStatement& statement, llvm::StringRef what) { module_.fail(statement.name, what); }

  LiftedModule& module_;
  const PtxFunction& source_;
  llvm::Function& function_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  std::deque<Scope> scopes_;
  Scope* scope_ = nullptr;
  size_t next_scope_ = 0;  // of those that find_labels has made
  llvm::AllocaInst* carry_ = nullptr;
  bool flushes_ = false;  // denormal floats, in ordinary operations
  const PtxStatement* here_ = nullptr;
};

// Ordinary LLVM operations of floating-point numbers, comparisons and conversions, where they are the same. `flushes`:
// those on floats take denormals for zero. Nothing: it is another instruction.
PtxResult lift_plain_operation(PtxInstruction& instruction, bool flushes);

}  // namespace mneme::codegen::ptx
