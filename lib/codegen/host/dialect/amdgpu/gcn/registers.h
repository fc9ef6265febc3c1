// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registers of a piece of AMD's inline assembly: what was last written to each, as LLVM's values.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <optional>
#include <string>

#include "codegen/host/dialect/amdgpu/gcn/text.h"
#include "codegen/host/dialect/assembly_blocks.h"

namespace mneme::codegen::host {

// "f32", "b64", "f16x2"; "p": a condition, a bit for each lane in a register; "c": the scalar unit's condition code,
// which no operand names.
struct GcnType {
  enum Kind { kBits, kFloat, kBrain, kCondition, kCode };
  Kind kind = kBits;
  unsigned bits = 32;  // of an element
  unsigned lanes = 1;  // 2: packed; 4: a descriptor

  static GcnType parse(llvm::StringRef text);
  bool is_floating() const { return kind == kFloat || kind == kBrain; }
  bool is_condition() const { return kind == kCondition || kind == kCode; }
  unsigned size() const { return bits * lanes; }
  llvm::Type* of(llvm::LLVMContext& context) const;
};

class GcnRegisters {
 public:
  GcnRegisters(llvm::CallInst& call, llvm::IRBuilderBase& builder) : call_(call), builder_(builder) {}

  // Gives the operands' names their values. The text comes back with constants in place of the names that stand for
  // one ("n"), and registers in place of those that are bound to one ("{v0}"). Nothing: an operand is none of the
  // known.
  std::optional<std::string> bind();

  // What an operand holds, as a type. `change` comes between the register's 32 bits and what the operand's text makes
  // of them ("-|$1|"). Null: there is no such operand, or nothing in it.
  using Change = llvm::function_ref<llvm::Value*(llvm::Value*)>;
  llvm::Value* read(llvm::StringRef operand, const GcnType& type, Change change = nullptr);
  // An address in shared memory (32 bits), or any.
  llvm::Value* read_shared_address(llvm::StringRef operand);
  llvm::Value* read_address(llvm::StringRef operand);
  // The lanes' condition of a register that may be written in part, before and after; null: it holds nothing.
  llvm::Value* read_old(llvm::StringRef operand, const GcnType& type);

  bool write(llvm::StringRef operand, llvm::Value* value);

  // From here on registers are variables of these blocks: there are jumps, or lanes that are switched off.
  void keep_in(AssemblyBlocks& blocks);
  // Whether this lane is on: its bit of exec.
  llvm::Value* is_on();
  // Between these two, instructions of the vector unit run where this lane is on. What they say about each lane is
  // written to masks behind them, by all lanes, for lanes that are off read masks, too.
  void begin_vector();
  bool end_vector();
  // Takes the call's place. False: a result was never written.
  bool give_results();

 private:
  struct Register {
    llvm::Type* type = nullptr;            // of a result
    llvm::Value* value = nullptr;          // null: nothing yet
    llvm::AllocaInst* variable = nullptr;  // where it is kept in its place
  };

  llvm::Type* result_type(size_t index) const;
  llvm::Value* get(const Register& from);
  void set(Register& to, llvm::Value* value);
  void set_physical(const std::string& name, llvm::Value* value);
  bool write_exec(llvm::StringRef name, llvm::Value* value);
  void write_vcc(llvm::StringRef name, llvm::Value* value);
  llvm::Value* read_register(llvm::StringRef name);
  llvm::Value* read_number(llvm::StringRef text, const GcnType& type);
  llvm::Value* as_shared_address(llvm::Value* value);
  llvm::Value* as_mask(llvm::Value* condition, llvm::Type* type);
  llvm::Value* condition_of(llvm::Value* value);

  llvm::CallInst& call_;
  llvm::IRBuilderBase& builder_;
  std::map<std::string, Register> operands_;   // "$0"
  std::map<std::string, Register> physical_;   // "v3", "s0", 32 bits each; "vcc", "scc", "m0"
  llvm::SmallVector<std::string, 4> results_;  // their names

  AssemblyBlocks* blocks_ = nullptr;
  llvm::AllocaInst* on_ = nullptr;
  llvm::BasicBlock* decides_ = nullptr;  // whether a vector instruction runs; null: none does
  llvm::SmallVector<std::pair<std::string, llvm::Value*>, 2> conditions_;  // that it gives
};

}  // namespace mneme::codegen::host
