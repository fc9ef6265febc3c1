// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In PTX an address is an integer. LLVM's analyses, and the compiler for the CPU, want pointers:
//
//   %1 = ptrtoint ptr %base to i64                   %1 = getelementptr i8, ptr addrspace(1) %base, i64 %offset
//   %2 = add i64 %1, %offset                    ->   %2 = load float, ptr addrspace(1) %1
//   %3 = inttoptr i64 %2 to ptr addrspace(1)
//   %4 = load float, ptr addrspace(1) %3
//
// From each address that is accessed, this goes back to where it comes from. Of a sum, the side that comes from a
// pointer, an argument or memory is the base; where that does not tell, the integer stays.
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>

#include "codegen/ptx/module.h"

namespace mneme::codegen::ptx {
namespace {

using llvm::Value;

// Zero: none that an address may come out of.
unsigned opcode_of(const Value* value) {
  auto* operation = llvm::dyn_cast<llvm::Operator>(value);
  if (!operation || !(value->getType()->isIntegerTy(32) || value->getType()->isIntegerTy(64))) return 0;
  unsigned opcode = operation->getOpcode();
  bool resizes = opcode == llvm::Instruction::ZExt || opcode == llvm::Instruction::Trunc;
  if (!resizes) return opcode;
  llvm::Type* from = operation->getOperand(0)->getType();
  return from->isIntegerTy(32) || from->isIntegerTy(64) ? opcode : 0;
}

bool is_pointer_number(const Value* value) { return opcode_of(value) == llvm::Instruction::PtrToInt; }
// Where an address may come from without telling so.
bool may_be_address(const Value* value) {
  if (!value->getType()->isIntegerTy(64)) return false;
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  return llvm::isa<llvm::Argument, llvm::CallInst, llvm::ExtractValueInst, llvm::ExtractElementInst>(value) ||
         (load && !load->isAtomic());
}

class Recovery {
 public:
  explicit Recovery(llvm::Function& function) : function_(function) {}

  // Which of the arguments are addresses.
  llvm::SmallVector<llvm::Argument*, 8> find() {
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction)) casts_.push_back(cast);
    }
    for (llvm::IntToPtrInst* cast : casts_) demand(cast->getOperand(0));
    for (bool again = true; again;) {  // a base that was found may tell of another sum
      again = false;
      llvm::SmallVector<Value*, 16> open = std::exchange(undecided_, {});
      size_t before = addresses_.size();
      for (Value* sum : open) demand_base(sum);
      again = addresses_.size() > before;
    }
    llvm::SmallVector<llvm::Argument*, 8> arguments;
    for (Value* address : addresses_) {
      if (auto* argument = llvm::dyn_cast<llvm::Argument>(address)) arguments.push_back(argument);
    }
    return arguments;
  }

  void rewrite() {
    for (llvm::IntToPtrInst* cast : casts_) {
      Value* pointer = pointer_of(cast->getOperand(0), cast->getAddressSpace());
      if (pointer == cast) continue;
      cast->replaceAllUsesWith(pointer);
      cast->eraseFromParent();
    }
  }

 private:
  enum Kind { kNot, kMaybe, kPointer };

  // Of a value that is added. A loop's own value says nothing.
  Kind kind_of(Value* value) {
    llvm::SmallPtrSet<Value*, 16> seen;
    return kind_of(value, seen);
  }
  Kind kind_of(Value* value, llvm::SmallPtrSetImpl<Value*>& seen) {
    if (is_pointer_number(value)) return kPointer;
    if (may_be_address(value)) return addresses_.contains(value) ? kPointer : kMaybe;
    if (!seen.insert(value).second) return kNot;
    auto* user = llvm::dyn_cast<llvm::User>(value);
    Kind kind = kNot;
    switch (opcode_of(value)) {
      case llvm::Instruction::Add:
      case llvm::Instruction::PHI:
      case llvm::Instruction::ZExt:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::Freeze:
        for (Value* operand : user->operands()) kind = std::max(kind, kind_of(operand, seen));
        return kind;
      case llvm::Instruction::Sub:
        return kind_of(user->getOperand(0), seen);
      case llvm::Instruction::Select:
        return std::max(kind_of(user->getOperand(1), seen), kind_of(user->getOperand(2), seen));
      default:
        return kNot;
    }
  }

  // This value is an address.
  void demand(Value* value) {
    if (!addresses_.insert(value)) return;
    auto* user = llvm::dyn_cast<llvm::User>(value);
    switch (opcode_of(value)) {
      case llvm::Instruction::Add:
        demand_base(value);
        return;
      case llvm::Instruction::PHI:
      case llvm::Instruction::ZExt:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::Freeze:
        for (Value* operand : user->operands()) demand(operand);
        return;
      case llvm::Instruction::Sub:
        demand(user->getOperand(0));
        return;
      case llvm::Instruction::Select:
        demand(user->getOperand(1));
        demand(user->getOperand(2));
        return;
      default:
        return;
    }
  }

  void demand_base(Value* sum) {
    auto* user = llvm::cast<llvm::User>(sum);
    Kind first = kind_of(user->getOperand(0)), second = kind_of(user->getOperand(1));
    if (first == second) {
      undecided_.push_back(sum);
      return;
    }
    unsigned base = first > second ? 0 : 1;
    bases_[sum] = base;
    demand(user->getOperand(base));
  }

  // `value`, as a pointer in that space, where it is computed.
  Value* pointer_of(Value* value, unsigned space) {
    Value*& made = pointers_[{value, space}];
    if (made) return made;
    auto* type = llvm::PointerType::get(function_.getContext(), space);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
      auto* both = llvm::PHINode::Create(type, phi->getNumIncomingValues(), "", phi->getIterator());
      pointers_[{value, space}] = both;
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        both->addIncoming(pointer_of(phi->getIncomingValue(i), space), phi->getIncomingBlock(i));
      }
      return both;
    }
    Value* pointer = make_pointer(value, type);
    return pointers_[{value, space}] = pointer;
  }

  Value* make_pointer(Value* value, llvm::PointerType* type) {
    unsigned space = type->getAddressSpace();
    llvm::IRBuilder<> builder(function_.getContext());
    set_behind(builder, value);
    auto* user = llvm::dyn_cast<llvm::User>(value);
    switch (opcode_of(value)) {
      case llvm::Instruction::PtrToInt: {
        Value* pointer = user->getOperand(0);
        unsigned from = pointer->getType()->getPointerAddressSpace();
        bool same_number = from == space || (from <= kGlobal && space <= kGlobal);
        return same_number ? builder.CreateAddrSpaceCast(pointer, type) : builder.CreateIntToPtr(value, type);
      }
      case llvm::Instruction::Add:
        if (auto found = bases_.find(value); found != bases_.end()) {
          return move(builder, pointer_of(user->getOperand(found->second), space), user->getOperand(1 - found->second));
        }
        break;
      case llvm::Instruction::Sub:
        return move(builder, pointer_of(user->getOperand(0), space), builder.CreateNeg(user->getOperand(1)));
      case llvm::Instruction::ZExt:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::Freeze:
        return pointer_of(user->getOperand(0), space);
      case llvm::Instruction::Select:
        return builder.CreateSelect(user->getOperand(0), pointer_of(user->getOperand(1), space),
                                    pointer_of(user->getOperand(2), space));
      default:
        break;
    }
    return builder.CreateIntToPtr(value, type);
  }

  static Value* move(llvm::IRBuilder<>& builder, Value* pointer, Value* distance) {
    return builder.CreateGEP(builder.getInt8Ty(), pointer, builder.CreateSExt(distance, builder.getInt64Ty()));
  }

  void set_behind(llvm::IRBuilder<>& builder, Value* value) const {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction) {
      builder.SetInsertPoint(instruction->getParent(), std::next(instruction->getIterator()));
    } else {
      llvm::BasicBlock& entry = function_.getEntryBlock();
      builder.SetInsertPoint(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    }
  }

  llvm::Function& function_;
  llvm::SmallVector<llvm::IntToPtrInst*, 32> casts_;
  llvm::SmallSetVector<Value*, 32> addresses_;
  llvm::SmallVector<Value*, 16> undecided_;
  llvm::DenseMap<Value*, unsigned> bases_;  // of a sum: the operand that is the base
  llvm::DenseMap<std::pair<Value*, unsigned>, Value*> pointers_;
};

// The same function, with pointers for those of its parameters.
llvm::Function* with_pointers(llvm::Function& function, llvm::ArrayRef<llvm::Argument*> arguments) {
  llvm::LLVMContext& context = function.getContext();
  llvm::SmallVector<llvm::Type*, 8> types(function.getFunctionType()->params());
  for (llvm::Argument* argument : arguments) types[argument->getArgNo()] = llvm::PointerType::get(context, kGeneric);
  auto* type = llvm::FunctionType::get(function.getReturnType(), types, false);
  auto* made = llvm::Function::Create(type, function.getLinkage(), "", function.getParent());
  made->copyAttributesFrom(&function);
  made->splice(made->begin(), &function);
  llvm::BasicBlock& entry = made->getEntryBlock();
  llvm::IRBuilder<> builder(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  for (llvm::Argument& argument : function.args()) {
    Value* value = made->getArg(argument.getArgNo());
    if (value->getType() != argument.getType()) value = builder.CreatePtrToInt(value, argument.getType());
    argument.replaceAllUsesWith(value);
  }
  made->takeName(&function);
  function.replaceAllUsesWith(made);
  function.eraseFromParent();
  return made;
}

}  // namespace

void recover_pointers(llvm::Module& module, llvm::ArrayRef<std::string> kernels) {
  llvm::SmallVector<llvm::Function*, 8> functions;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    if (llvm::is_contained(kernels, function->getName())) {
      llvm::SmallVector<llvm::Argument*, 8> arguments = Recovery(*function).find();
      if (!arguments.empty()) function = with_pointers(*function, arguments);
    }
    Recovery recovery(*function);
    recovery.find();
    recovery.rewrite();
  }
}

}  // namespace mneme::codegen::ptx
