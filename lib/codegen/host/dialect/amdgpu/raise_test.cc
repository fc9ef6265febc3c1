// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's dialect raised: what is left of each construct (programs in tests/programs check what it computes).
#include "codegen/host/dialect/amdgpu/raise.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include "base/error.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// The names of the operations, and of what is called otherwise, in the raised kernel "k"; queries apart.
std::string raised(const std::string& body, const std::string& declarations, uint32_t wave_size = 64) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text =
      "target datalayout = \"e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-i64:64-S32-A5-G1\"\n"
      "target triple = \"amdgcn-amd-amdhsa\"\n" +
      declarations + "\ndefine amdgpu_kernel void @k(ptr addrspace(1) %out) {\n" + body + "\nret void\n}\n";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return "line " + std::to_string(error.getLineNo()) + ": " + error.getMessage().str();
  bundle::KernelInfo kernel;
  kernel.name = kernel.demangled = "k";
  kernel.wave_size = wave_size;
  raise_amdgpu(*module, kernel, false);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  std::string names;
  for (llvm::Instruction& instruction : llvm::instructions(*module->getFunction("k"))) {
    if (llvm::isa<llvm::AtomicRMWInst>(instruction)) names += "update ";
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || call->isInlineAsm()) continue;
    llvm::StringRef name = call->getCalledFunction()->getName();
    auto operation = operation_of(*call->getCalledFunction());
    if (operation && operation->kind == OperationKind::kQuery) continue;
    names += (name + " ").str();
  }
  return names;
}

std::string refusal(const std::string& body, const std::string& declarations) {
  try {
    return "raised: " + raised(body, declarations);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(RaiseWaves, WiderValuesAreSplit) {
  constexpr char kDeclarations[] =
      "declare i64 @llvm.amdgcn.readfirstlane.i64(i64)\n"
      "declare <3 x i32> @llvm.amdgcn.readlane.v3i32(<3 x i32>, i32)\n"
      "declare half @llvm.amdgcn.update.dpp.f16(half, half, i32 immarg, i32 immarg, i32 immarg, i1 immarg)";
  EXPECT_EQ(raised("%x = call i64 @llvm.amdgcn.readfirstlane.i64(i64 5)", kDeclarations), "mneme.wave.first.i64 ");
  EXPECT_EQ(raised("%x = call <3 x i32> @llvm.amdgcn.readlane.v3i32(<3 x i32> zeroinitializer, i32 5)", kDeclarations),
            "mneme.wave.permute.i64 mneme.wave.permute.i64 ");
  EXPECT_EQ(raised("%x = call half @llvm.amdgcn.update.dpp.f16(half 0.0, half 1.0, i32 257, i32 15, i32 15, i1 true)",
                   kDeclarations),
            "mneme.wave.permute.i32 ");
}

TEST(RaiseWaves, OwnLaneIsArithmetic) {
  constexpr char kDeclarations[] =
      "declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)\ndeclare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)";
  EXPECT_EQ(raised("%x = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n"
                   "%y = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %x)\n"
                   "store i32 %y, ptr addrspace(1) %out",
                   kDeclarations, 64),
            "llvm.ctpop.i64 ");  // of the lower half, which nobody uses
  EXPECT_EQ(raised("%x = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n"
                   "store i32 %x, ptr addrspace(1) %out",
                   kDeclarations, 32),
            "");
}

TEST(RaiseWaves, VotesAndTheLanesHere) {
  constexpr char kDeclarations[] =
      "declare i1 @__ockl_wfany_i32(i32)\ndeclare i32 @__ockl_wgred_add_i32(i32)\ndeclare void @__ockl_grid_sync()\n"
      "declare i64 @llvm.read_register.i64(metadata)\n!0 = !{!\"exec\"}\n!1 = !{!\"m0\"}";
  EXPECT_EQ(raised("%x = call i1 @__ockl_wfany_i32(i32 4)", kDeclarations), "mneme.wave.ballot ");
  EXPECT_EQ(raised("%c = icmp eq ptr addrspace(1) %out, null\n%z = zext i1 %c to i32\n"
                   "%x = call i32 @__ockl_wgred_add_i32(i32 %z)",
                   kDeclarations),
            "mneme.barrier.count ");
  EXPECT_EQ(raised("call void @__ockl_grid_sync()", kDeclarations), "mneme.barrier.grid ");
  EXPECT_EQ(raised("%x = call i64 @llvm.read_register.i64(metadata !0)", kDeclarations), "mneme.wave.ballot ");
  EXPECT_NE(refusal("%x = call i64 @llvm.read_register.i64(metadata !1)", kDeclarations).find("llvm.read_register"),
            std::string::npos);
}

TEST(RaiseWaves, DppControlsThatAreNotAreRefused) {
  EXPECT_NE(refusal("%x = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 1, i32 400, i32 15, i32 15, i1 true)",
                    "declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32 immarg, i32 immarg, i32 immarg, i1 immarg)")
                .find("llvm.amdgcn.update.dpp.i32, which the host device does not have"),
            std::string::npos);
}

TEST(RaiseAtomics, IntrinsicsBecomeUpdates) {
  EXPECT_EQ(raised("%x = call float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1) %out, float 1.0)\n"
                   "%y = call double @llvm.amdgcn.flat.atomic.fmax.f64.p1.f64(ptr addrspace(1) %out, double 1.0)",
                   "declare float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1), float)\n"
                   "declare double @llvm.amdgcn.flat.atomic.fmax.f64.p1.f64(ptr addrspace(1), double)"),
            "update update ");
}

TEST(RaiseAssembly, WaitsVanishAndOperandsPass) {
  EXPECT_EQ(raised("call void asm sideeffect \"s_waitcnt vmcnt(0)\\0A\\09s_nop 0 ; comment\", \"~{memory}\"()", ""),
            "");
  EXPECT_EQ(raised("%x = call i32 asm sideeffect \"; ockl ballot hoisting hack $0\", \"=v,0\"(i32 7)\n"
                   "store i32 %x, ptr addrspace(1) %out",
                   ""),
            "");
  EXPECT_EQ(raised("call void asm sideeffect \"s_waitcnt lgkmcnt(0)\\0A\\09s_barrier\", \"\"()", ""), "mneme.barrier ");
  EXPECT_EQ(
      raised("%x = call i32 asm sideeffect \"global_load_ushort $0, $1, off glc\", \"=v,v\"(ptr addrspace(1) %out)",
             ""),
      "");
}

TEST(RaiseAssembly, TheRestIsRefusedWithItsText) {
  for (const char* text :
       {"v_strange_u32 $0, $1", "v_add_u32 $0, $1, 1 clamp", "v_mov_b32 $0, v9", "v_mov_b32 $0, $1\\0As_cbranch_vccz x",
        "v_mov_b32 exec, $1", "x: v_mov_b32 $0, v3\\0As_branch x", "x: x: v_mov_b32 $0, $1\\0As_branch x",
        "v_mov_b32 $0, $1\\0As_branch 1f", "s_cbranch_cdbgsys x\\0Ax: v_mov_b32 $0, $1",
        "buffer_load_dword $1, s[0:3], 0 offen lds"}) {
    EXPECT_NE(
        refusal("%x = call i32 asm \"" + std::string(text) + "\", \"=v,v\"(i32 7)", "").find("inline assembly ('"),
        std::string::npos)
        << text;
  }
  EXPECT_NE(
      refusal("%x = call i32 asm \"v_strange_u32 $0, $1, 1\", \"=v,v\"(i32 7)", "").find("'v_strange_u32 $0, $1, 1'"),
      std::string::npos);
  // A result that no operand stands for.
  EXPECT_NE(refusal("%x = call i32 asm \"s_nop 0\", \"=v\"()", "").find("inline assembly"), std::string::npos);
}

TEST(RaiseMath, FunctionsWithOtherBitsAreNamed) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      "target triple = \"amdgcn-amd-amdhsa\"\n"
      "declare float @llvm.amdgcn.rcp.f32(float)\ndeclare float @llvm.amdgcn.exp2.f32(float)\n"
      "declare float @__ocml_pow_f32(float, float)\ndeclare half @__ocml_sin_f16(half)\n"
      "declare double @__ocml_sin_f64(double)\ndeclare double @__ocml_tgamma_f64(double)\n"
      "declare float @__ocml_sqrt_f32(float)\ndeclare float @__ocml_exp_f32(float)\n"
      "define float @__ocml_log_f32(float %x) {\n  %r = call float @llvm.amdgcn.exp2.f32(float %x)\n  ret float %r\n}\n"
      "define float @k(float %x, half %h, double %d) {\n  %a = call float @llvm.amdgcn.rcp.f32(float %x)\n"
      "  %b = call float @__ocml_pow_f32(float %a, float %x)\n  %c = call half @__ocml_sin_f16(half %h)\n"
      "  %e = call double @__ocml_sin_f64(double %d)\n  %f = call double @__ocml_tgamma_f64(double %e)\n"
      "  %g = call float @__ocml_sqrt_f32(float %b)\n  ret float %g\n}\n",
      error, context);
  ASSERT_TRUE(module) << error.getMessage().str();
  EXPECT_EQ(replaced_functions(*module),
            (std::vector<std::string>{"llvm.amdgcn.rcp.f32", "pow_f32", "sin_f16", "tgamma_f64"}));
}

TEST(RaiseSharedPointers, AsIntegersAreDistances) {
  EXPECT_EQ(raised("%i = ptrtoint ptr addrspace(3) @tile to i32\n%j = add i32 %i, 4\n"
                   "%p = inttoptr i32 %j to ptr addrspace(3)\nstore i32 1, ptr addrspace(3) %p",
                   "@tile = internal addrspace(3) global [64 x i32] undef"),
            "mneme.context mneme.context ");
}

TEST(RaiseLaunch, HardwareRegisters) {
  constexpr char kDeclarations[] = "declare i32 @llvm.amdgcn.s.getreg(i32 immarg)";
  EXPECT_EQ(raised("%x = call i32 @llvm.amdgcn.s.getreg(i32 6660)", kDeclarations), "");
  EXPECT_NE(refusal("%x = call i32 @llvm.amdgcn.s.getreg(i32 7)", kDeclarations).find("llvm.amdgcn.s.getreg"),
            std::string::npos);
}

}  // namespace
}  // namespace mneme::codegen::host
