// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/host/abi.h"
#include "codegen/host/dialect/amdgpu/gcn/gcn.h"
#include "codegen/host/dialect/assembly_blocks.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;

class Assembly {
 public:
  explicit Assembly(llvm::CallInst& call) : call_(call), builder_(&call), registers_(call, builder_) {}

  // False: there is something in it that is not known.
  bool raise() {
    std::optional<std::string> text = registers_.bind();
    if (!text) return false;
    auto statements = parse_gcn(*text);
    if (!statements) return false;
    if (llvm::any_of(*statements, takes_blocks)) return raise_blocks(*statements);
    return llvm::all_of(*statements, [&](const GcnStatement& statement) { return execute(statement); }) &&
           registers_.give_results();
  }

 private:
  // Jumps, and what may switch lanes off.
  static bool takes_blocks(const GcnStatement& statement) {
    StringRef name = statement.name;
    bool writes_exec = !statement.operands.empty() && StringRef(statement.operands[0]).starts_with("exec");
    return statement.is_label || is_jump(name) || name.contains("_saveexec_") || name.contains("_wrexec_") ||
           name.starts_with("v_cmpx_") || writes_exec;
  }
  static bool is_jump(StringRef name) { return name == "s_branch" || name.starts_with("s_cbranch_"); }

  // What runs in lanes that are on only. The others of the vector unit read lanes, or write one, whether it is on or
  // not.
  static bool is_vector(StringRef name) {
    if (name == "v_readlane_b32" || name == "v_writelane_b32" || name == "v_readfirstlane_b32") return false;
    return llvm::any_of(llvm::ArrayRef<StringRef>{"v_", "ds_", "flat_", "global_", "buffer_"},
                        [&](StringRef prefix) { return name.starts_with(prefix); });
  }

  bool raise_blocks(llvm::ArrayRef<GcnStatement> statements) {
    AssemblyBlocks blocks(call_, builder_);
    for (size_t i = 0; i < statements.size(); ++i) {
      if (statements[i].is_label) blocks.add_label(std::to_string(i));
    }
    registers_.keep_in(blocks);
    for (size_t i = 0; i < statements.size(); ++i) {
      const GcnStatement& statement = statements[i];
      if (statement.is_label) {
        blocks.pass(std::to_string(i));
      } else if (is_jump(statement.name)) {
        std::optional<size_t> label =
            statement.operands.size() == 1 ? find_label(statements, i, statement.operands[0]) : std::nullopt;
        Value* condition = nullptr;
        if (!label || !jump_condition(statement.name, condition)) return false;
        blocks.jump(std::to_string(*label), condition);
      } else if (!execute_where_on(statement)) {
        return false;
      }
    }
    blocks.end();
    stop_where_off();
    bool given = registers_.give_results();
    blocks.promote();
    return given;
  }

  // Null: always. All lanes go the same way.
  bool jump_condition(StringRef name, Value*& condition) {
    if (name == "s_branch") return true;
    name.consume_front("s_cbranch_");
    const bool if_zero = name == "scc0" || name == "vccz" || name == "execz";
    const StringRef source = name.starts_with("scc") ? "scc" : name.starts_with("vcc") ? "vcc" : "exec";
    if (!llvm::is_contained({"scc0", "scc1", "vccz", "vccnz", "execz", "execnz"}, name)) return false;
    const bool is_code = source == "scc";
    condition = registers_.read(source, {is_code ? GcnType::kCode : GcnType::kBits, is_code ? 1U : 64U, 1});
    if (!condition) return false;
    condition = if_zero ? builder_.CreateIsNull(condition) : builder_.CreateIsNotNull(condition);
    return true;
  }

  bool execute_where_on(const GcnStatement& statement) {
    if (statement.name == "v_readfirstlane_b32") return read_first_lane(statement);
    if (!is_vector(statement.name)) return execute(statement);
    if (StringRef(statement.name).starts_with("v_cmpx_")) return compare_exec(statement);
    registers_.begin_vector();
    bool known = execute(statement);
    return registers_.end_vector() && known;
  }

  // v_cmpx_lt_u32: exec becomes what the comparison gives; so does a mask, where one is named.
  bool compare_exec(const GcnStatement& statement) {
    GcnStatement comparison = statement;
    comparison.name.erase(sizeof "v_cmp" - 1, 1);
    if (comparison.operands.size() == 2) comparison.operands.insert(comparison.operands.begin(), "exec");
    const std::string to = comparison.operands[0];
    return execute_where_on(comparison) &&
           (to == "exec" || registers_.write("exec", registers_.read(to, {GcnType::kCondition, 1, 1})));
  }

  // Of those that are on; of all where none is.
  bool read_first_lane(const GcnStatement& statement) {
    if (statement.operands.size() != 2) return false;
    Value *value = registers_.read(statement.operands[1], {}), *on = registers_.read("exec", {GcnType::kBits, 64, 1});
    if (!value) return false;
    Value* first = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, on, builder_.getFalse());
    first = builder_.CreateAnd(builder_.CreateTrunc(first, builder_.getInt32Ty()), 63);
    Value* theirs = builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_readlane, {builder_.getInt32Ty()}, {value, first});
    return registers_.write(statement.operands[0], theirs);
  }

  // The compiler takes exec for what it was.
  void stop_where_off() {
    Value* off = builder_.CreateNot(registers_.is_on());
    builder_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(off, &call_, false));
    constexpr char kSaid[] = "has inline assembly that does not restore exec at its end";
    call_stop(builder_, kOther, builder_.CreateGlobalString(kSaid));
    builder_.SetInsertPoint(&call_);
  }

  bool execute(const GcnStatement& statement) {
    const bool is_volatile = llvm::cast<llvm::InlineAsm>(call_.getCalledOperand())->hasSideEffects();
    GcnInstruction instruction{builder_, statement, registers_, is_volatile};
    return raise_gcn_control(instruction) || raise_gcn_memory(instruction) || raise_gcn_shared(instruction) ||
           raise_gcn_buffer(instruction) || raise_gcn_arithmetic(instruction);
  }

  llvm::CallInst& call_;
  llvm::IRBuilder<> builder_;
  GcnRegisters registers_;
};

}  // namespace

void raise_gcn_assembly(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call && call->isInlineAsm()) calls.push_back(call);
    }
  }
  // Where something is not known, the call stays, to be refused if the kernel comes to it.
  for (llvm::CallInst* call : calls) {
    if (!Assembly(*call).raise()) continue;
    fence_compiler(*call);
    call->eraseFromParent();
  }
}

}  // namespace mneme::codegen::host
