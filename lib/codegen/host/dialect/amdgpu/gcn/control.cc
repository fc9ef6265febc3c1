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

}  // namespace

bool raise_gcn_control(GcnInstruction& instruction) {
  const GcnStatement& statement = instruction.statement;
  llvm::IRBuilderBase& builder = instruction.builder;
  StringRef name = statement.name;
  if (does_nothing(name)) return true;
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
