// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's inline assembly: PTX, instruction by instruction, on LLVM's values. Registers are what was last written to
// them; a predicated instruction leaves them as they were where it does not hold. Labels and jumps are basic blocks
// (assembly_blocks.h). What is not known is refused with its text.
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>

#include "base/error.h"
#include "codegen/host/dialect/assembly_blocks.h"
#include "codegen/host/dialect/kept_registers.h"
#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/dialect/nvptx/raise.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/ptx/text.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using ptx::PtxStatement;
using ptx::split_operands;
using ptx::writes_first;

struct Register {
  llvm::Type* type = nullptr;            // null: whatever is written
  Value* value = nullptr;                // null: nothing yet
  llvm::AllocaInst* variable = nullptr;  // where it is kept in its place
};

class Assembly {
 public:
  explicit Assembly(llvm::CallInst& call) : call_(call), builder_(&call) {}

  // False: there is something in it that is not known.
  bool raise() {
    std::string plain = ptx::without_comments(text_of_call());
    auto statements = ptx::parse_ptx(plain);
    if (statements) llvm::erase_if(*statements, is_brace);  // they only limit names
    if (!statements || !bind_operands()) return false;
    if (llvm::any_of(*statements, [](auto& statement) { return statement.is_label(); }))
      return raise_blocks(*statements);
    carry_ = takes_carry(*statements) ? read_kept(builder_, Kept::kCarry) : builder_.getFalse();
    for (const PtxStatement& statement : *statements) {
      if (!run(statement)) return false;
    }
    if (any_gives_carry(*statements)) write_kept(builder_, Kept::kCarry, carry_);
    return give_results();
  }

 private:
  static bool is_brace(const PtxStatement& statement) {
    return statement.kind == PtxStatement::kOpen || statement.kind == PtxStatement::kClose;
  }

  // "${:uid}" is a number of the text's own, for labels.
  std::string text_of_call() const {
    constexpr StringRef kOwn = "${:uid}";
    std::string text;
    StringRef rest = llvm::cast<llvm::InlineAsm>(call_.getCalledOperand())->getAsmString();
    for (size_t at = rest.find(kOwn); at != StringRef::npos; at = rest.find(kOwn)) {
      text += rest.take_front(at).str() + "0";
      rest = rest.drop_front(at + kOwn.size());
    }
    return text + rest.str();
  }

  // Statements with jumps between them.
  bool raise_blocks(llvm::ArrayRef<PtxStatement> statements) {
    if (any_gives_carry(statements) || takes_carry(statements)) return false;
    for (const PtxStatement& statement : statements) {
      if (statement.name.starts_with(".") && !run(statement)) return false;
    }
    AssemblyBlocks blocks(call_, builder_);
    for (const PtxStatement& statement : statements) {
      if (statement.is_label() && !blocks.add_label(statement.name)) return false;
    }
    for (auto& [name, held] : registers_) {
      held.variable = blocks.add_variable(held.type ? held.type : held.value->getType(), held.value);
    }
    carry_ = builder_.getFalse();
    for (const PtxStatement& statement : statements) {
      if (!run_in_block(statement, blocks)) return false;
    }
    blocks.end();
    bool given = give_results();
    blocks.promote();
    return given;
  }

  bool run_in_block(const PtxStatement& statement, AssemblyBlocks& blocks) {
    if (statement.name.starts_with(".")) return true;  // done
    if (statement.is_label()) {
      blocks.pass(statement.name);
      return true;
    }
    Value* holds = nullptr;
    if (!statement.guard.empty() && !(holds = guard_of(statement))) return false;
    if (statement.name == "bra" || statement.name == "bra.uni") {
      return statement.operands.size() == 1 && blocks.jump(statement.operands[0], holds);
    }
    if (holds) blocks.only_if(holds);
    bool known = execute(statement);
    blocks.join();
    return known;
  }

  Value* guard_of(const PtxStatement& statement) {
    Value* holds = read(statement.guard);
    if (!holds) return nullptr;
    holds = as_type(builder_, holds, builder_.getInt1Ty());
    return statement.unless ? builder_.CreateNot(holds) : holds;
  }

  static bool any_gives_carry(llvm::ArrayRef<PtxStatement> statements) {
    return llvm::any_of(statements, [](const PtxStatement& statement) { return statement.gives_carry(); });
  }

  // Whether one is added that no statement before has given, or left as it was where a guard does not hold.
  static bool takes_carry(llvm::ArrayRef<PtxStatement> statements) {
    for (const PtxStatement& statement : statements) {
      if (statement.takes_carry()) return true;
      if (statement.gives_carry()) return !statement.guard.empty();
    }
    return false;
  }

  // "$0", "$1", …: the results, then the operands, as LLVM numbers them.
  bool bind_operands() {
    auto* assembly = llvm::cast<llvm::InlineAsm>(call_.getCalledOperand());
    llvm::SmallVector<std::string, 4> results;
    unsigned number = 0, given = 0;
    for (const auto& constraint : assembly->ParseConstraints()) {
      if (constraint.Type == llvm::InlineAsm::isClobber) continue;
      if (constraint.Type == llvm::InlineAsm::isLabel || constraint.isIndirect || constraint.isMultipleAlternative) {
        return false;
      }
      std::string name = "$" + std::to_string(number++);
      if (constraint.Type == llvm::InlineAsm::isOutput) {
        results_.push_back(name);
        registers_[name].type = result_type(results_.size() - 1);
        continue;
      }
      Value* operand = call_.getArgOperand(given++);
      registers_[name] = {operand->getType(), operand};
      unsigned tied = 0;
      if (!constraint.Codes.empty() && !StringRef(constraint.Codes[0]).getAsInteger(10, tied)) {
        if (tied >= results_.size()) return false;
        registers_[results_[tied]].value = operand;
      }
    }
    return true;
  }

  llvm::Type* result_type(size_t index) const {
    auto* all = llvm::dyn_cast<llvm::StructType>(call_.getType());
    return all ? all->getElementType(static_cast<unsigned>(index)) : call_.getType();
  }

  bool run(const PtxStatement& statement) {
    if (statement.name == ".reg" || statement.name.starts_with(".reg.")) return declare(statement);
    if (statement.name.starts_with(".")) return false;
    if (statement.guard.empty()) return execute(statement);
    Value* holds = guard_of(statement);
    return holds && execute_if(statement, holds);
  }

  // ".reg .b32 low, high", also written ".reg.b32 low, high".
  bool declare(const PtxStatement& statement) {
    StringRef type = statement.name.drop_front(sizeof ".reg" - 1);
    for (StringRef name : statement.operands) {
      if (type.empty() && name.starts_with(".")) {
        type = name.take_until([](char c) { return llvm::isSpace(c); });
        name = name.drop_front(type.size()).trim();
      }
      std::optional<PtxType> parsed = PtxType::parse(type.drop_front(type.empty() ? 0 : 1));
      auto [stem, count] = name.split('<');  // "p<3>": p0, p1, p2
      unsigned number = 0;
      bool many = count.consume_back(">");
      if (!parsed || stem.empty() || name.contains('<') != many) return false;
      if (many && (count.getAsInteger(10, number) || number > 1024)) return false;
      llvm::Type* held = parsed->of(builder_.getContext());
      if (!many) registers_[name.str()] = {held, nullptr};
      for (unsigned i = 0; i < number; ++i) registers_[stem.str() + std::to_string(i)] = {held, nullptr};
    }
    return true;
  }

  // What it writes is chosen by `holds`; what may do more than that is only done there.
  bool execute_if(const PtxStatement& statement, Value* holds) {
    auto before = registers_;
    Value* carry = carry_;
    bool pure = ptx::is_pure(statement.operation());
    llvm::BasicBlock* head = call_.getParent();
    llvm::BasicBlock* then = nullptr;
    if (!pure) {
      builder_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(holds, &call_, false));
      then = builder_.GetInsertBlock();
    }
    if (!execute(statement)) return false;
    if (then) then = builder_.GetInsertBlock();
    builder_.SetInsertPoint(&call_);
    auto join = [&](Value* now, Value* was) -> Value* {
      if (now == was) return now;
      was = was ? as_type(builder_, was, now->getType()) : llvm::Constant::getNullValue(now->getType());
      if (!then) return builder_.CreateSelect(holds, now, was);
      llvm::PHINode* both = llvm::PHINode::Create(now->getType(), 2, "", call_.getParent()->begin());
      both->addIncoming(now, then);
      both->addIncoming(was, head);
      return both;
    };
    // A value that is only cast must be so before the ways part.
    if (then) {
      builder_.SetInsertPoint(head->getTerminator());
      for (auto& [name, was] : before) {
        Value* now = registers_[name].value;
        if (was.value && now != was.value) was.value = as_type(builder_, was.value, now->getType());
      }
      builder_.SetInsertPoint(&call_);
    }
    for (auto& [name, now] : registers_) now.value = now.value ? join(now.value, before[name].value) : nullptr;
    carry_ = join(carry_, carry);
    return true;
  }

  bool execute(const PtxStatement& statement) {
    llvm::SmallVector<StringRef, 4> targets;
    llvm::SmallVector<Value*, 6> operands;
    llvm::SmallVector<std::string, 5> parts;
    StringRef operation = statement.operation();
    bool writes = writes_first(statement);
    for (size_t i = 0; i < statement.operands.size(); ++i) {
      StringRef operand = statement.operands[i];
      if (ptx::is_video(operation)) {
        auto [name, part] = ptx::split_part(operand);
        operand = name;
        parts.push_back(part);
      }
      if (i == 0 && writes) {
        auto written = ptx::split_targets(operand);
        if (!written) return false;
        targets = *written;
      } else if (operand.starts_with("{")) {
        if (!add_elements(operand, operation == "mov" ? statement.name : "", operands)) return false;
      } else if (operand.starts_with("[")) {
        if (!add_place(operand, operands)) return false;
      } else if (Value* value = read(operand)) {
        operands.push_back(value);
      } else {
        return false;
      }
    }
    auto results = raise_ptx(builder_, statement.name, operands, static_cast<unsigned>(targets.size()), &carry_, parts);
    if (!results || results->size() != targets.size()) return false;
    for (size_t i = 0; i < targets.size(); ++i) write(targets[i], (*results)[i]);
    return true;
  }

  // A vector's elements; or, for a move ("mov.b32"), the register that they make up together, the first the lowest.
  bool add_elements(StringRef operand, StringRef move, llvm::SmallVectorImpl<Value*>& operands) {
    llvm::SmallVector<Value*, 4> elements;
    operand = operand.drop_front().drop_back();
    for (StringRef element : split_operands(operand)) {
      Value* value = read(element);
      if (!value) return false;
      elements.push_back(value);
    }
    if (move.empty()) {
      operands.append(elements.begin(), elements.end());
      return true;
    }
    std::optional<PtxType> type = PtxName(move).take_type();
    if (!type || type->bits % elements.size()) return false;
    operands.push_back(ptx::join_elements(builder_, elements, type->bits));
    return true;
  }

  // "[a]", or of a texture or surface "[a, {x, y}]": its handle, then the coordinates.
  bool add_place(StringRef operand, llvm::SmallVectorImpl<Value*>& operands) {
    llvm::SmallVector<StringRef, 6> parts;
    if (operand.ends_with("]")) parts = split_operands(operand.drop_front().drop_back());
    if (parts.size() != 2) {
      Value* address = read_address(operand);
      if (address) operands.push_back(address);
      return address;
    }
    Value* handle = read(parts[0]);
    if (!handle || !parts[1].starts_with("{")) return false;
    operands.push_back(handle);
    return add_elements(parts[1], "", operands);
  }

  // "[a]", "[a + 16]".
  Value* read_address(StringRef operand) {
    operand = operand.drop_front();
    if (!operand.consume_back("]")) return nullptr;
    auto [base, offset] = operand.split('+');
    Value* address = read(base.trim());
    if (!address || offset.empty()) return address;
    int64_t distance = 0;
    if (offset.trim().getAsInteger(0, distance)) return nullptr;
    if (address->getType()->isPointerTy()) {
      return builder_.CreateGEP(builder_.getInt8Ty(), address, builder_.getInt64(static_cast<uint64_t>(distance)));
    }
    return builder_.CreateAdd(address, llvm::ConstantInt::getSigned(address->getType(), distance));
  }

  // Null: there is no such thing, or nothing in it.
  Value* read(StringRef operand) {
    operand = operand.trim();
    if (operand.consume_front("!")) {
      Value* value = read(operand);
      return value ? builder_.CreateNot(as_type(builder_, value, builder_.getInt1Ty())) : nullptr;
    }
    auto found = registers_.find(operand.str());  // also declared ones whose names begin with "%"
    if (found != registers_.end()) {
      llvm::AllocaInst* variable = found->second.variable;
      return variable ? builder_.CreateLoad(variable->getAllocatedType(), variable) : found->second.value;
    }
    if (operand.consume_front("%") || operand == "WARP_SZ") return ptx_register(builder_, operand);
    return ptx::ptx_number(builder_, operand);
  }

  void write(StringRef name, Value* value) {
    if (name == "_") return;
    Register& to = registers_[name.str()];
    if (to.variable) {
      builder_.CreateStore(as_type(builder_, value, to.variable->getAllocatedType()), to.variable);
      return;
    }
    to.value = to.type ? as_type(builder_, value, to.type) : value;
  }

  bool give_results() {
    if (call_.getType()->isVoidTy()) return true;
    Value* all = llvm::PoisonValue::get(call_.getType());
    for (size_t i = 0; i < results_.size(); ++i) {
      Value* value = read(results_[i]);
      if (!value) return false;
      value = as_type(builder_, value, registers_[results_[i]].type);
      all = call_.getType()->isStructTy() ? builder_.CreateInsertValue(all, value, static_cast<unsigned>(i)) : value;
    }
    call_.replaceAllUsesWith(all);
    return true;
  }

  llvm::CallInst& call_;
  llvm::IRBuilder<> builder_;
  std::map<std::string, Register> registers_;
  llvm::SmallVector<std::string, 4> results_;
  Value* carry_ = nullptr;
};

}  // namespace

void raise_ptx_assembly(llvm::Module& module, const bundle::KernelInfo& kernel) {
  std::vector<llvm::CallBase*> calls;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call && call->isInlineAsm()) calls.push_back(call);
    }
  }
  for (llvm::CallBase* call : calls) {
    auto* plain = llvm::dyn_cast<llvm::CallInst>(call);
    if (!plain || !Assembly(*plain).raise()) {
      throw Error::of("kernel '{}' uses inline assembly ('{}'), which the host device does not have", kernel.demangled,
                      llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString());
    }
    fence_compiler(*plain);
    plain->eraseFromParent();
  }
}

}  // namespace mneme::codegen::host
