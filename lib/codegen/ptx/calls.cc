// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls: their parameters lie in variables of .param, or in registers.
#include "codegen/ptx/function.h"

namespace mneme::codegen::ptx {

using llvm::StringRef;
using llvm::Value;

namespace {

llvm::SmallVector<StringRef, 6> in_brackets(StringRef list) {
  list = list.drop_front().drop_back().trim();
  return list.empty() ? llvm::SmallVector<StringRef, 6>() : split_operands(list);
}

}  // namespace

Value* FunctionLifter::argument(StringRef text, llvm::Type* type, bool by_value) {
  Place place = find(&Scope::places, text);
  if (by_value) return place.address;
  Value* value = nullptr;
  if (place.address) {
    llvm::Type* held = type->isPointerTy() ? builder_.getInt64Ty() : type;
    value = builder_.CreateLoad(held, place.address);
  } else {
    value = read(text);
  }
  return as_type(builder_, value, type);
}

// call (result), function, (arguments), prototype;
void FunctionLifter::call(const PtxStatement& statement) {
  llvm::ArrayRef<StringRef> operands = statement.operands;
  StringRef result, arguments, prototype;
  if (!operands.empty() && operands[0].starts_with("(")) {
    result = operands[0];
    operands = operands.drop_front();
  }
  if (operands.empty()) fail(statement, "calls nothing");
  StringRef callee = operands[0];
  operands = operands.drop_front();
  if (!operands.empty() && operands[0].starts_with("(")) {
    arguments = operands[0];
    operands = operands.drop_front();
  }
  if (!operands.empty()) prototype = operands[0];

  PtxFunction shape;
  const PtxFunction* known = module_.definition(callee);
  Value* function = nullptr;
  llvm::FunctionType* type = nullptr;
  if (known) {
    llvm::Function* direct = module_.function(callee);
    function = direct;
    type = direct->getFunctionType();
  } else {
    const PtxStatement* table = find(&Scope::tables, prototype);
    bool found = table && table->name == ".callprototype" && table->operands.size() == 1;
    if (!found || !parse_signature(table->operands[0], shape)) {
      fail(statement, "calls by an address without a prototype");
    }
    known = &shape;
    type = module_.type_of(shape);
    function = builder_.CreateIntToPtr(read(callee), builder_.getPtrTy());
  }

  llvm::SmallVector<StringRef, 6> given = in_brackets(arguments.empty() ? "()" : arguments);
  if (given.size() != type->getNumParams() || known->parameters.size() != given.size()) {
    fail(statement, "calls with another number of arguments than the function has");
  }
  llvm::SmallVector<Value*, 8> values;
  for (unsigned i = 0; i < given.size(); ++i) {
    bool by_value = module_.type_of(known->parameters[i], false)->isArrayTy();
    Value* value = argument(given[i], type->getParamType(i), by_value);
    if (!value) fail(statement, "passes an operand that is no variable");
    values.push_back(value);
  }
  llvm::CallInst* made = builder_.CreateCall(type, function, values);
  llvm::AttributeList attributes = made->getAttributes();
  module_.add_attributes(attributes, *known);
  made->setAttributes(attributes);
  made->addFnAttr(llvm::Attribute::Convergent);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  if (result.empty()) return;
  llvm::SmallVector<StringRef, 6> taken = in_brackets(result);
  if (taken.size() != 1 || type->getReturnType()->isVoidTy()) fail(statement, "takes another result than there is");
  Place place = find(&Scope::places, taken[0]);
  if (place.address) {
    Value* value = made;
    if (value->getType()->isPointerTy()) value = builder_.CreatePtrToInt(value, builder_.getInt64Ty());
    builder_.CreateStore(value, place.address);
  } else {
    write(taken[0], made);
  }
}

}  // namespace mneme::codegen::ptx
