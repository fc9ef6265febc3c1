// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declarations and control flow. What an instruction does is in statement.cc, memory.cc and calls.cc.
#include "codegen/ptx/function.h"

#include <llvm/ADT/STLExtras.h>

namespace mneme::codegen::ptx {

using llvm::StringRef;
using llvm::Value;

namespace {

bool flushes_floats(const PtxStatement& statement) {
  return (statement.name + ".").str().find(".ftz.") != std::string::npos;
}

// Whether most of the float operations that could flush do.
bool mostly_flushes(llvm::ArrayRef<PtxStatement> body) {
  static constexpr StringRef kCounted[] = {"add", "sub", "mul", "fma", "div", "setp"};
  size_t with = 0, without = 0;
  for (const PtxStatement& statement : body) {
    if (!statement.name.ends_with(".f32") || !llvm::is_contained(kCounted, statement.operation())) continue;
    (flushes_floats(statement) ? with : without) += 1;
  }
  return with > without;
}

// ".callprototype" and ".branchtargets" stand behind a label that is none.
bool is_table(const PtxStatement& statement) {
  return statement.name == ".callprototype" || statement.name == ".branchtargets" || statement.name == ".calltargets";
}

}  // namespace

FunctionLifter::FunctionLifter(LiftedModule& module, const PtxFunction& source, llvm::Function& function)
    : module_(module), source_(source), function_(function), context_(function.getContext()), builder_(context_) {}

llvm::AllocaInst* FunctionLifter::new_variable(llvm::Type* type, uint64_t align, bool zero) {
  llvm::IRBuilder<> entry(&function_.getEntryBlock(), function_.getEntryBlock().begin());
  llvm::AllocaInst* variable = entry.CreateAlloca(type);
  if (align) variable->setAlignment(llvm::Align(align));
  // A register that nothing has written to holds anything; to LLVM it would be undefined.
  if (zero) entry.CreateStore(llvm::Constant::getNullValue(type), variable);
  return variable;
}

void FunctionLifter::begin(llvm::BasicBlock* block) {
  if (!builder_.GetInsertBlock()->getTerminator()) builder_.CreateBr(block);
  builder_.SetInsertPoint(block);
}

void FunctionLifter::run() {
  llvm::BasicBlock* entry = new_block();
  llvm::BasicBlock* body = new_block();
  llvm::BranchInst* leave = llvm::BranchInst::Create(body, entry);
  builder_.SetInsertPoint(leave);
  flushes_ = mostly_flushes(source_.body);
  if (flushes_) function_.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  carry_ = new_variable(builder_.getInt1Ty(), 0, true);
  find_labels();
  scope_ = &scopes_[0];
  next_scope_ = 1;
  declare_parameters();
  builder_.SetInsertPoint(body);
  for (const PtxStatement& statement : source_.body) {
    here_ = &statement;
    lift(statement);
  }
  if (!builder_.GetInsertBlock()->getTerminator()) give_back();
}

// Parameters lie in memory, as instructions see them.
void FunctionLifter::declare_parameters() {
  for (unsigned i = 0; i < source_.parameters.size(); ++i) {
    const PtxVariable& parameter = source_.parameters[i];
    llvm::Argument* argument = function_.getArg(i);
    if (parameter.space == "reg") {
      Register& made = scope_->registers[parameter.name];
      made = {parameter.type, new_variable(argument->getType(), 0, false)};
      builder_.CreateStore(argument, made.slot);
      continue;
    }
    llvm::Type* type = module_.type_of(parameter, false);
    if (type->isArrayTy()) {
      scope_->places[parameter.name] = {argument, type};
      continue;
    }
    llvm::AllocaInst* copy = new_variable(type, parameter.alignment(), false);
    builder_.CreateStore(argument, copy);
    scope_->places[parameter.name] = {copy, type};
  }
  for (const PtxVariable& result : source_.results) {
    llvm::Type* type = module_.type_of(result, true);
    llvm::AllocaInst* variable = new_variable(type, result.alignment(), true);
    if (result.space == "reg") {
      scope_->registers[result.name] = {result.type, variable};
    } else {
      scope_->places[result.name] = {variable, type};
    }
  }
}

// A jump may lead forward.
void FunctionLifter::find_labels() {
  scopes_.emplace_back();
  Scope* scope = &scopes_.back();
  const std::vector<PtxStatement>& body = source_.body;
  for (size_t i = 0; i < body.size(); ++i) {
    const PtxStatement& statement = body[i];
    if (statement.kind == PtxStatement::kOpen) {
      scopes_.emplace_back();
      scopes_.back().outer = scope;
      scope = &scopes_.back();
    } else if (statement.kind == PtxStatement::kClose) {
      scope = scope->outer;
      if (!scope) fail(statement, "closes a block that is not open");
    } else if (statement.kind == PtxStatement::kLabel) {
      if (i + 1 < body.size() && is_table(body[i + 1])) {
        scope->tables[statement.name] = &body[i + 1];
      } else {
        scope->labels[statement.name] = new_block();
      }
    }
  }
}

void FunctionLifter::declare_registers(const PtxStatement& statement) {
  StringRef type = statement.name.drop_front(sizeof ".reg" - 1);  // also ".reg.b32"
  for (StringRef name : statement.operands) {
    if (name.starts_with(".")) {
      type = name.take_until([](char c) { return c == ' ' || c == '\t' || c == '\n'; });
      name = name.drop_front(type.size()).trim();
    }
    std::optional<PtxType> parsed = type.empty() ? std::nullopt : PtxType::parse(type.drop_front());
    if (!parsed) fail(statement, "declares registers of a type that Mneme does not know");
    auto [stem, count] = name.split('<');
    unsigned number = 0;
    if (name.contains('<')) {
      if (!count.consume_back(">") || count.getAsInteger(10, number)) fail(statement, "declares no registers");
      scope_->families.push_back({stem, number, *parsed});
    } else {
      scope_->registers[name] = {*parsed, nullptr};
    }
  }
}

void FunctionLifter::declare_variable(const PtxStatement& statement) {
  PtxVariable variable;
  variable.space = statement.name.drop_front().split('.').first.split(':').first;
  std::string text = statement.name.drop_front(1 + variable.space.size()).str();  // also ".param.b32"
  StringRef rest = statement.operands.empty() ? "" : statement.operands[0];
  if (!text.empty() || statement.operands.size() > 1)
    fail(statement, "declares a variable in a way that Mneme does not read");
  if (!parse_variable(rest, variable)) fail(statement, "declares no variable that Mneme understands");
  if (variable.space == "local" || variable.space == "param") {
    // Parameters of a call are as their function has them: results in words.
    llvm::Type* type = variable.is_array || variable.vector > 1
                           ? llvm::ArrayType::get(builder_.getInt8Ty(), variable.bytes())
                           : variable.type.of(context_);
    scope_->places[variable.name] = {new_variable(type, variable.alignment(), false), type};
    return;
  }
  std::string name = (function_.getName() + "." + variable.name).str();
  if (variable.is_array && variable.count == 0) name = variable.name.str();  // dynamic shared memory
  llvm::GlobalVariable* made = module_.add_variable(variable, name);
  scope_->places[variable.name] = {made, made->getValueType()};
}

void FunctionLifter::lift(const PtxStatement& statement) {
  if (statement.kind == PtxStatement::kOpen) {
    scope_ = &scopes_[next_scope_++];
  } else if (statement.kind == PtxStatement::kClose) {
    scope_ = scope_->outer;
  } else if (statement.kind == PtxStatement::kLabel) {
    auto found = scope_->labels.find(statement.name);
    if (found != scope_->labels.end()) begin(found->second);
  } else if (statement.name.starts_with(".reg")) {
    declare_registers(statement);
  } else if (statement.name == ".pragma" || is_table(statement)) {
    return;
  } else if (statement.name.starts_with(".")) {
    declare_variable(statement);
  } else {
    if (builder_.GetInsertBlock()->getTerminator()) builder_.SetInsertPoint(new_block());  // nothing leads here
    if (statement.guard.empty()) return lift_unguarded(statement);
    Value* holds = as_type(builder_, read(statement.guard), builder_.getInt1Ty());
    if (statement.unless) holds = builder_.CreateNot(holds);
    if (statement.operation() == "bra") return jump(statement, holds);
    llvm::BasicBlock *then = new_block(), *behind = new_block();
    builder_.CreateCondBr(holds, then, behind);
    builder_.SetInsertPoint(then);
    lift_unguarded(statement);
    begin(behind);
  }
}

void FunctionLifter::lift_unguarded(const PtxStatement& statement) {
  if (lift_control(statement) || lift_memory(statement) || lift_plain(statement)) return;
  lift_assembly(statement);
}

bool FunctionLifter::lift_control(const PtxStatement& statement) {
  StringRef operation = statement.operation();
  if (operation == "bra") {
    jump(statement, nullptr);
  } else if (operation == "brx") {
    jump_by_table(statement);
  } else if (operation == "call") {
    call(statement);
  } else if (operation == "ret" || (operation == "exit" && source_.is_kernel)) {
    give_back();
  } else if (operation == "exit" || operation == "trap") {
    lift_assembly(statement);
    builder_.CreateUnreachable();
  } else {
    return false;
  }
  return true;
}

void FunctionLifter::jump(const PtxStatement& statement, Value* holds) {
  llvm::BasicBlock* to = statement.operands.size() == 1 ? find(&Scope::labels, statement.operands[0]) : nullptr;
  if (!to) fail(statement, "leads nowhere");
  if (!holds) {
    builder_.CreateBr(to);
    return;
  }
  llvm::BasicBlock* behind = new_block();
  builder_.CreateCondBr(holds, to, behind);
  builder_.SetInsertPoint(behind);
}

void FunctionLifter::jump_by_table(const PtxStatement& statement) {
  const PtxStatement* table = statement.operands.size() == 2 ? find(&Scope::tables, statement.operands[1]) : nullptr;
  if (!table || table->operands.empty()) fail(statement, "has no .branchtargets");
  llvm::BasicBlock* nowhere = new_block();
  Value* index = as_type(builder_, read(statement.operands[0]), builder_.getInt32Ty());
  auto* choice = builder_.CreateSwitch(index, nowhere, static_cast<unsigned>(table->operands.size()));
  for (unsigned i = 0; i < table->operands.size(); ++i) {
    llvm::BasicBlock* to = find(&Scope::labels, table->operands[i]);
    if (!to) fail(statement, "leads nowhere");
    choice->addCase(builder_.getInt32(i), to);
  }
  builder_.SetInsertPoint(nowhere);
  builder_.CreateUnreachable();
}

void FunctionLifter::give_back() {
  if (source_.results.empty()) {
    builder_.CreateRetVoid();
    return;
  }
  const PtxVariable& result = source_.results[0];
  Scope& outermost = scopes_[0];
  Value* from = result.space == "reg" ? outermost.registers[result.name].slot : outermost.places[result.name].address;
  builder_.CreateRet(builder_.CreateLoad(function_.getReturnType(), from));
}

void lift_function(LiftedModule& module, const PtxFunction& source, llvm::Function& function) {
  FunctionLifter(module, source, function).run();
}

}  // namespace mneme::codegen::ptx
