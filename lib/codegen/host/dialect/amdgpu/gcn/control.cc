// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that wait, meet, end or ask the hardware.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;

// Waits, cache operations and hints: memory is where it should be already.
bool does_nothing(StringRef name) {
  for (StringRef prefix :
       {"s_waitcnt", "s_wait_", "s_dcache_", "s_icache_inv", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1",
        "buffer_wbl2", "buffer_invl2", "buffer_inv", "global_wb", "global_inv", "s_prefetch_", "s_set_inst_prefetch"}) {
    if (name.starts_with(prefix)) return true;
  }
  return llvm::is_contained({"s_nop", "v_nop", "ds_nop", "s_sleep", "s_setprio", "s_inst_prefetch", "s_clause",
                             "s_delay_alu", "s_sched_barrier", "s_barrier_signal"},
                            name);
}

// "hwreg(HW_REG_XCC_ID, 0, 16)", "hwreg(20)", as the intrinsic has it.
std::optional<uint32_t> parse_register(StringRef text) {
  if (!text.consume_front("hwreg(") || !text.consume_back(")")) return std::nullopt;
  llvm::SmallVector<StringRef, 3> parts;
  text.split(parts, ',');
  uint32_t values[3] = {0, 0, 32};
  if (parts.size() > 3) return std::nullopt;
  for (size_t i = 0; i < parts.size(); ++i) {
    StringRef part = parts[i].trim();
    if (i == 0 && part.starts_with("HW_REG_")) {
      values[0] = llvm::StringSwitch<uint32_t>(part.drop_front(7))
                      .Case("MODE", 1)
                      .Case("HW_ID", 4)
                      .Case("XCC_ID", 20)
                      .Case("HW_ID1", 23)
                      .Case("SHADER_CYCLES", 29)
                      .Default(0);
      if (!values[0]) return std::nullopt;
    } else if (part.getAsInteger(0, values[i])) {
      return std::nullopt;
    }
  }
  if (values[0] > 63 || values[1] > 31 || !values[2] || values[2] > 32) return std::nullopt;
  return values[0] | values[1] << 6 | (values[2] - 1) << 11;
}

// s_and_saveexec_b64 and its like: exec becomes what the operation makes of the operand and exec; the result is what
// exec was. Of …_wrexec, it is what exec becomes.
std::optional<bool> raise_exec(GcnInstruction& instruction) {
  const GcnStatement& statement = instruction.statement;
  llvm::IRBuilderBase& builder = instruction.builder;
  StringRef name = statement.name;
  if (!name.consume_front("s_") || (!name.consume_back("_b64") && !name.consume_back("_b32"))) return std::nullopt;
  const bool saves = name.consume_back("_saveexec");
  if (!saves && !name.consume_back("_wrexec")) return std::nullopt;
  const bool wide = StringRef(statement.name).ends_with("64");
  const char* exec = wide ? "exec" : "exec_lo";
  const GcnType type{GcnType::kBits, wide ? 64U : 32U, 1};
  if (statement.operands.size() != 2) return false;
  llvm::Value *given = instruction.registers.read(statement.operands[1], type),
              *old = instruction.registers.read(exec, type);
  if (!given) return false;
  const bool inverts_given = name.ends_with("n1") || name.ends_with("_not0"),
             inverts_old = name.ends_with("n2") || name.ends_with("_not1");
  llvm::Value *left = inverts_given ? builder.CreateNot(given) : given,
              *right = inverts_old ? builder.CreateNot(old) : old, *now = nullptr;
  for (StringRef suffix : {"n1", "n2", "_not0", "_not1"}) name.consume_back(suffix);
  if (name == "and" || name == "nand") now = builder.CreateAnd(left, right);
  if (name == "or" || name == "nor") now = builder.CreateOr(left, right);
  if (name == "xor" || name == "xnor") now = builder.CreateXor(left, right);
  if (!now) return false;
  if (name.starts_with("n") || name == "xnor") now = builder.CreateNot(now);
  return instruction.registers.write(statement.operands[0], saves ? old : now) &&
         instruction.registers.write(exec, now) && instruction.registers.write("scc", builder.CreateIsNotNull(now));
}

}  // namespace

bool raise_gcn_control(GcnInstruction& instruction) {
  const GcnStatement& statement = instruction.statement;
  llvm::IRBuilderBase& builder = instruction.builder;
  StringRef name = statement.name;
  if (does_nothing(name)) return true;
  if (std::optional<bool> known = raise_exec(instruction)) return *known;
  if (name == "s_barrier" || name == "s_barrier_wait") {
    call_barrier(builder);
    return true;
  }
  if (name == "s_endpgm") {
    builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_endpgm, {}, {});
    return true;
  }
  if (name == "s_memtime" || name == "s_memrealtime") {
    auto id = name == "s_memtime" ? llvm::Intrinsic::amdgcn_s_memtime : llvm::Intrinsic::amdgcn_s_memrealtime;
    return statement.operands.size() == 1 &&
           instruction.registers.write(statement.operands[0], builder.CreateIntrinsic(id, {}, {}));
  }
  if (name == "s_getreg_b32" && statement.operands.size() == 2) {
    std::optional<uint32_t> place = parse_register(statement.operands[1]);
    return place && instruction.registers.write(
                        statement.operands[0],
                        builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_getreg, {}, {builder.getInt32(*place)}));
  }
  return false;
}

}  // namespace mneme::codegen::host
