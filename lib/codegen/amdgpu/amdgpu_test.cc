// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/amdgpu.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/error.h"
#include "codegen/amdgpu/complaints.h"
#include "codegen/amdgpu/metadata.h"
#include "codegen/amdgpu/target_id.h"
#include "codegen/compile.h"
#include "objects/embedded.h"
#include "objects/function_address.h"

namespace mneme::codegen {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kDeclarations[] = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32 immarg, i32 immarg, i32 immarg, i1 immarg)
declare void @llvm.amdgcn.s.waitcnt(i32 immarg)
declare void @llvm.amdgcn.s.sendmsg(i32 immarg, i32)
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float, float, <4 x float>, i32 immarg, i32 immarg, i32 immarg)
@__oclc_ISA_version = internal local_unnamed_addr addrspace(4) constant i32 9010
@__oclc_wavefrontsize64 = internal local_unnamed_addr addrspace(4) constant i8 1
@__oclc_ABI_version = weak_odr hidden local_unnamed_addr addrspace(4) constant i32 500
@block = internal addrspace(3) global [4096 x i32] undef
)";

const std::string kOneWave = "\"one-wave\" ";  // blocks of no more

// out[id] = `body`'s %value, of the id in %id.
std::string kernel_ir(const std::string& body, const std::string& attributes = "", const std::string& more = "") {
  return std::string("target triple = \"amdgcn-amd-amdhsa\"\n") + kDeclarations + more +
         "define protected amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %given) #0 {\n"
         "  %id = call i32 @llvm.amdgcn.workitem.id.x()\n" +
         body +
         "  %place = getelementptr i32, ptr addrspace(1) %out, i32 %id\n"
         "  store i32 %value, ptr addrspace(1) %place\n"
         "  ret void\n}\n"
         "attributes #0 = { " +
         attributes +
         R"( "target-cpu"="gfx90a" "target-features"="+gfx90a-insts,+wavefrontsize64" "amdgpu-flat-work-group-size"="1,)" +
         std::string(attributes.find(kOneWave) == std::string::npos ? "1024" : "32") + R"(" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
)";
}

const std::string kPlain = "  %value = add i32 %id, %given\n";

bundle::KernelInfo k() {
  bundle::KernelInfo info;
  info.name = "k";
  info.demangled = "k(int*, int)";
  info.target = "amdgcn-amd-amdhsa--gfx90a";
  info.wave_size = 64;
  info.argument_bytes = 12;
  info.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "i32", {}}};
  return info;
}

bundle::Configuration configuration(const std::string& target, const std::string& features = "",
                                    uint32_t code_object = 0) {
  bundle::Configuration configuration;
  configuration.target = target_named(target);
  configuration.passes = "default<O2>";
  configuration.form = "auto";
  configuration.features = features;
  configuration.code_object = code_object;
  return configuration;
}

Code compiled(const std::string& body, const bundle::Configuration& how, const std::string& attributes = "",
              const std::string& more = "") {
  return compile(k(), kernel_ir(body, attributes, more), how, {nullptr, true});
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

const Elf64_Ehdr& header(const Code& code) { return *reinterpret_cast<const Elf64_Ehdr*>(code.bytes.data()); }

const char* const kTargets[] = {"gfx900",       "gfx906",          "gfx908",          "gfx90a",
                                "gfx940",       "gfx942",          "gfx1030",         "gfx1100",
                                "gfx9-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic"};

TEST(Amdgpu, KernelsBecomeCodeObjects) {
  for (const char* target : kTargets) {
    Code code = compiled(kPlain, configuration(target));
    EXPECT_EQ(code.file, "code.hsaco");
    ASSERT_GT(code.bytes.size(), sizeof(Elf64_Ehdr));
    EXPECT_EQ(code.bytes.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(header(code).e_machine, 224) << "EM_AMDGPU";
    EXPECT_EQ(header(code).e_type, ET_DYN);
    ASSERT_TRUE(code.resources && code.resources->amd) << target;
    EXPECT_GT(code.resources->registers, 0u);
    EXPECT_GT(code.resources->amd->scalar_registers, 0u);
    EXPECT_EQ(code.resources->amd->wave_size, 64u) << target << ": as it was recorded";
    EXPECT_THAT(code.assembly, AllOf(HasSubstr(std::string(".amdgcn_target \"amdgcn-amd-amdhsa--") + target + "\""),
                                     HasSubstr("s_endpgm")));
    EXPECT_THAT(code.ir, HasSubstr("amdgpu_kernel void @k("));
    EXPECT_EQ(code.bytes, compiled(kPlain, configuration(target)).bytes);
    ASSERT_EQ(code.stores.size(), 1u);
    EXPECT_EQ(code.stores[0].type, "i32");
  }
}

TEST(Amdgpu, SaysWhetherPagesMayMoveAndMemoryIsCorrected) {
  EXPECT_THAT(compiled(kPlain, configuration("gfx90a:xnack-:sramecc+")).assembly,
              HasSubstr(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-\""));
  EXPECT_THAT(compiled(kPlain, configuration("gfx906:xnack+")).assembly,
              HasSubstr(".amdgcn_target \"amdgcn-amd-amdhsa--gfx906:xnack+\""));
  EXPECT_NE(header(compiled(kPlain, configuration("gfx90a:xnack+"))).e_flags,
            header(compiled(kPlain, configuration("gfx90a:xnack-"))).e_flags);
}

TEST(Amdgpu, CodeObjectsOfEachVersion) {
  EXPECT_EQ(header(compiled(kPlain, configuration("gfx90a"))).e_ident[EI_ABIVERSION], 3) << "as recorded: 5";
  EXPECT_EQ(header(compiled(kPlain, configuration("gfx90a", "", 4))).e_ident[EI_ABIVERSION], 2);
  EXPECT_EQ(header(compiled(kPlain, configuration("gfx90a", "", 6))).e_ident[EI_ABIVERSION], 4);
  EXPECT_EQ(header(compiled(kPlain, configuration("gfx11-generic"))).e_ident[EI_ABIVERSION], 4) << "no other has them";
  EXPECT_THAT(refusal([] { compiled(kPlain, configuration("gfx11-generic", "", 5)); }),
              HasSubstr("gfx11-generic can only be named in code objects of version 6, not 5"));
}

// In version 4 the launch's dimensions lie elsewhere, and code that does not ask where would read something else.
TEST(Amdgpu, CodeThatRestsOnTheVersionOfTheCodeObjectKeepsIt) {
  const std::string reads =
      "  %p = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()\n  %value = load i32, ptr addrspace(4) %p\n";
  EXPECT_EQ(refusal([&] { compiled(reads, configuration("gfx908")); }), "nothing");
  EXPECT_THAT(refusal([&] { compiled(reads, configuration("gfx90a", "", 4)); }),
              HasSubstr("and in k it relies on where these have the launch's dimensions"));
  const std::string asks =
      "  %version = load i32, ptr addrspace(4) @__oclc_ABI_version\n  %new = icmp sge i32 %version, 500\n"
      "  %p = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()\n  %read = load i32, ptr addrspace(4) %p\n"
      "  %value = select i1 %new, i32 %read, i32 41414\n";
  EXPECT_THAT(compiled(asks, configuration("gfx90a", "", 4)).ir, HasSubstr("store i32 41414"));
  EXPECT_THAT(compiled(asks, configuration("gfx90a", "", 6)).ir, Not(HasSubstr("41414")));
}

TEST(Amdgpu, LibrariesAreToldTheProcessor) {
  const std::string asks = "  %value = load i32, ptr addrspace(4) @__oclc_ISA_version\n";
  const std::pair<const char*, const char*> kVersions[] = {
      {"gfx900", "9000"}, {"gfx906", "9006"},   {"gfx908", "9008"},   {"gfx90a", "9010"},          {"gfx940", "9400"},
      {"gfx942", "9402"}, {"gfx1030", "10300"}, {"gfx1100", "11000"}, {"gfx10-3-generic", "10300"}};
  for (auto [target, version] : kVersions) {
    EXPECT_THAT(compiled(asks, configuration(target)).ir, HasSubstr(std::string("store i32 ") + version)) << target;
  }
}

// Without optimisation, too, the way for another processor goes: here there is an instruction on it that gfx900 lacks.
TEST(Amdgpu, WhatIsMeantForAnotherProcessorGoesAtEveryLevel) {
  const std::string more = R"(
define internal i32 @fitting(i32 %id) {
  %version = load i32, ptr addrspace(4) @__oclc_ISA_version
  %newer = icmp uge i32 %version, 9008
  br i1 %newer, label %new, label %old
new:
  %r = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float 1.0, float 1.0, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  %f = extractelement <4 x float> %r, i32 0
  %n = fptoui float %f to i32
  ret i32 %n
old:
  ret i32 %id
}
)";
  const std::string calls = "  %value = call i32 @fitting(i32 %id)\n";
  for (const char* passes : {"default<O0>", "default<O2>"}) {
    bundle::Configuration how = configuration("gfx900");
    how.passes = passes;
    EXPECT_THAT(compiled(calls, how, "", more).assembly, Not(HasSubstr("mfma"))) << passes;
    how.target = "hip:gfx90a";
    EXPECT_THAT(compiled(calls, how, "", more).assembly, HasSubstr("v_mfma_f32_4x4x1")) << passes;
  }
}

TEST(Amdgpu, ClocksAreReadAsEachGenerationDoes) {
  const std::string more = "declare i64 @llvm.amdgcn.s.memrealtime()\n";
  const std::string reads = "  %time = call i64 @llvm.amdgcn.s.memrealtime()\n  %value = trunc i64 %time to i32\n";
  EXPECT_THAT(compiled(reads, configuration("gfx1030"), "", more).assembly, HasSubstr("s_memrealtime"));
  EXPECT_THAT(compiled(reads, configuration("gfx1100"), "", more).assembly,
              HasSubstr("s_sendmsg_rtn_b64 s[2:3], sendmsg(MSG_RTN_GET_REALTIME)"));
  const std::string other = "declare i64 @llvm.amdgcn.s.memtime()\n";
  const std::string counts = "  %time = call i64 @llvm.amdgcn.s.memtime()\n  %value = trunc i64 %time to i32\n";
  EXPECT_THAT(compiled(counts, configuration("gfx1030"), "", other).assembly, HasSubstr("s_memtime"));
  EXPECT_THAT(compiled(counts, configuration("gfx1100"), "", other).assembly,
              HasSubstr("hwreg(HW_REG_SHADER_CYCLES, 0, 20)"));
}

// What there is no instruction for is a loop there, as HIP's headers have it.
TEST(Amdgpu, NumbersAreAddedToInMemoryAsEachProcessorCan) {
  const std::string more =
      "declare float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1), float)\n"
      "declare float @llvm.amdgcn.flat.atomic.fadd.f32.p0.f32(ptr, float)\n"
      "declare double @llvm.amdgcn.flat.atomic.fadd.f64.p0.f64(ptr, double)\n";
  const std::string value = "  %value = add i32 %id, 1\n", flat = "  %f = addrspacecast ptr addrspace(1) %out to ptr\n";
  const std::string floats =
      value + "  %o = call float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1) %out, float 1.0)\n";
  const std::string flat_floats =
      value + flat + "  %o = call float @llvm.amdgcn.flat.atomic.fadd.f32.p0.f32(ptr %f, float 1.0)\n";
  const std::string doubles =
      value + flat + "  %o = call double @llvm.amdgcn.flat.atomic.fadd.f64.p0.f64(ptr %f, double 1.0)\n";
  auto assembly = [&](const std::string& body, const char* target) {
    return compiled(body, configuration(target), "", more).assembly;
  };
  for (const char* target : {"gfx908", "gfx90a", "gfx942", "gfx1100"}) {
    EXPECT_THAT(assembly(floats, target), HasSubstr("global_atomic_add_f32")) << target;
  }
  for (const char* target : {"gfx942", "gfx1100"}) {
    EXPECT_THAT(assembly(flat_floats, target), HasSubstr("_atomic_add_f32")) << target;
  }
  for (const char* target : {"gfx90a", "gfx942"}) {
    EXPECT_THAT(assembly(doubles, target), HasSubstr("atomic_add_f64")) << target;
  }
  for (const char* target : {"gfx900", "gfx1030"}) {
    EXPECT_THAT(assembly(floats, target), HasSubstr("atomic_cmpswap v")) << target;
    EXPECT_THAT(assembly(flat_floats, target), HasSubstr("atomic_cmpswap v")) << target;
    EXPECT_THAT(assembly(doubles, target), HasSubstr("atomic_cmpswap_x2 v")) << target;
  }
}

TEST(Amdgpu, WavesOf32WhereLanesDoNotWorkTogether) {
  const std::string counts = "  %value = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n";
  EXPECT_EQ(compiled(kPlain, configuration("gfx1030", "+wavefrontsize32")).resources->amd->wave_size, 32u);
  EXPECT_EQ(compiled(counts, configuration("gfx1100")).resources->amd->wave_size, 64u);
  EXPECT_THAT(refusal([&] { compiled(counts, configuration("gfx1100", "+wavefrontsize32")); }),
              HasSubstr("waves of 64 threads, which work together by llvm.amdgcn.mbcnt.lo"));
  EXPECT_THAT(refusal([&] { compiled(kPlain, configuration("gfx90a", "+wavefrontsize32")); }),
              HasSubstr("gfx90a has only waves of 64"));
  EXPECT_THAT(refusal([&] { compiled(counts, configuration("gfx1030", "-wavefrontsize64")); }),
              HasSubstr("-wavefrontsize64 leaves open how large waves are"));
  EXPECT_EQ(compiled(kPlain, configuration("gfx1030", "+wavefrontsize32,+wavefrontsize64")).resources->amd->wave_size,
            64u);
}

// Whoever loads the code asks for them by name; what is local or hidden the runtime does not find.
TEST(Amdgpu, TellsWhereItsVariablesAndFunctionsAre) {
  const std::string more = R"(
define internal i32 @twice(i32 %x) noinline { %y = shl i32 %x, 1 ret i32 %y }
define internal i32 @dropped(i32 %x) { ret i32 %x }
@table = linkonce_odr hidden addrspace(1) constant [1 x ptr] [ptr @twice]
@own = internal addrspace(1) global [2 x ptr] [ptr null, ptr @twice]
@llvm.compiler.used = appending addrspace(1) global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @table to ptr), ptr addrspacecast (ptr addrspace(1) @own to ptr)], section "llvm.metadata"
)";
  const std::string body =
      "  %at = getelementptr [2 x ptr], ptr addrspace(1) @own, i32 0, i32 %given\n"
      "  %f = load ptr, ptr addrspace(1) %at\n  %value = call i32 %f(i32 %id)\n";
  bundle::KernelInfo info = k();
  info.globals = {{.name = "table", .size = 8, .align = 8, .constant = true},
                  {.name = "own", .size = 16, .align = 8, .constant = false}};
  info.functions = {"twice", "dropped", "gone"};
  Code code = compile(info, kernel_ir(body, "", more), configuration("gfx90a"), {nullptr, true});
  for (const std::string& name : {std::string("table"), std::string("own"), objects::address_symbol("twice")}) {
    EXPECT_THAT(code.assembly, HasSubstr("\t.protected\t" + name)) << name;
    EXPECT_TRUE(objects::elf_variable(bytes_of(code.bytes), name, "the code object")) << name;
  }
  EXPECT_THAT(code.assembly, HasSubstr(objects::address_symbol("twice") + ":\n\t.quad\ttwice"));
  EXPECT_THAT(code.assembly, Not(HasSubstr(objects::address_symbol("dropped"))));
}

TEST(Amdgpu, WhatLanesDoTogetherKeepsTheSizeOfWaves) {
  const std::string more = R"(
declare i32 @llvm.amdgcn.set.inactive.i32(i32, i32)
declare i32 @llvm.amdgcn.strict.wwm.i32(i32)
declare i32 @llvm.amdgcn.wave.reduce.umin.i32(i32, i32 immarg)
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.wave.barrier()
declare void @llvm.amdgcn.s.sleep(i32 immarg)
)";
  auto refused = [&](const std::string& body) {
    return refusal([&] { compiled(body, configuration("gfx1030", "+wavefrontsize32"), "", more); });
  };
  for (const auto& [name, call] :
       {std::pair{"set.inactive", "@llvm.amdgcn.set.inactive.i32(i32 %id, i32 0)"},
        {"strict.wwm", "@llvm.amdgcn.strict.wwm.i32(i32 %id)"},
        {"wave.reduce.umin", "@llvm.amdgcn.wave.reduce.umin.i32(i32 %id, i32 0)"},
        {"readfirstlane", "@llvm.amdgcn.readfirstlane.i32(i32 %id)"},
        {"ds.bpermute", "@llvm.amdgcn.ds.bpermute(i32 %given, i32 %id)"},
        {"inline assembly", "asm sideeffect \"v_mov_b32_dpp $0, $1 row_shr:1\", \"=v,v\"(i32 %id)"}}) {
    EXPECT_THAT(refused(std::string("  %value = call i32 ") + call + "\n"),
                AllOf(HasSubstr("waves of 64 threads, which work together by "), HasSubstr(name)));
  }
  EXPECT_THAT(refused("  %m = call i64 @llvm.amdgcn.ballot.i64(i1 true)\n  %value = trunc i64 %m to i32\n"),
              HasSubstr("work together by llvm.amdgcn.ballot.i64"));
  for (const char* call :
       {"void @llvm.amdgcn.s.barrier()", "void @llvm.amdgcn.wave.barrier()", "void @llvm.amdgcn.s.sleep(i32 1)",
        "void asm sideeffect \"\", \"\"()", "void asm sideeffect \"; nothing\", \"\"()"}) {
    EXPECT_EQ(refused(std::string("  call ") + call + "\n" + kPlain), "nothing") << call;
  }
}

TEST(Amdgpu, WavesOfAnotherSizeOnTheRecordedProcessor) {
  bundle::KernelInfo info = k();
  info.target = "amdgcn-amd-amdhsa--gfx1030";
  info.wave_size = 32;
  std::string ir = kernel_ir(kPlain);
  for (auto [from, to] : {std::pair{"gfx90a\"", "gfx1030\""}, {"+gfx90a-insts,+wavefrontsize64", "+wavefrontsize32"}}) {
    size_t at = ir.rfind(from);
    ASSERT_NE(at, std::string::npos);
    ir.replace(at, std::string(from).size(), to);
  }
  for (auto [features, size] : {std::pair{"", 32u}, {"+wavefrontsize64", 64u}}) {
    Code code = compile(info, ir, configuration("gfx1030", features), {nullptr, true});
    EXPECT_EQ(code.resources->amd->wave_size, size);
  }
}

// The back end would take these, and make code of them that does something else.
TEST(Amdgpu, OperationsThatMeanSomethingElseElsewhereAreRefused) {
  auto moves = [](const char* control) {
    return std::string("  %value = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %id, i32 ") + control +
           ", i32 15, i32 15, i1 false)\n";
  };
  EXPECT_EQ(refusal([&] { compiled(moves("322"), configuration("gfx908")); }), "nothing");
  EXPECT_EQ(refusal([&] { compiled(moves("273"), configuration("gfx1030")); }), "nothing");
  EXPECT_THAT(refusal([&] { compiled(moves("322"), configuration("gfx1030")); }),
              HasSubstr("was compiled for gfx90a and cannot become one for gfx1030: it moves data across a wave with "
                        "the DPP control 0x142, which only gfx9 has"));
  for (const char* name : {"ds.bpermute", "ds.permute"}) {  // of a wave of 64, by halves from gfx10 on
    const std::string intrinsic = std::string("@llvm.amdgcn.") + name;
    const std::string permutes = "  %value = call i32 " + intrinsic + "(i32 %given, i32 %id)\n";
    const std::string declared = "declare i32 " + intrinsic + "(i32, i32)\n";
    EXPECT_EQ(refusal([&] { compiled(permutes, configuration("gfx942"), "", declared); }), "nothing");
    for (const char* target : {"gfx1030", "gfx1100"}) {
      EXPECT_THAT(refusal([&] { compiled(permutes, configuration(target), "", declared); }),
                  HasSubstr(std::string("across a wave of 64 by llvm.amdgcn.") + name + ", which reaches half of one"));
    }
  }
  auto waits = [](const char* call) { return std::string("  call void ") + call + "\n" + kPlain; };
  const std::string count = waits("@llvm.amdgcn.s.waitcnt(i32 112)");
  EXPECT_EQ(refusal([&] { compiled(count, configuration("gfx900")); }), "nothing");
  EXPECT_THAT(refusal([&] { compiled(count, configuration("gfx1100")); }), HasSubstr("llvm.amdgcn.s.waitcnt takes"));
  EXPECT_EQ(refusal([&] { compiled(waits("@llvm.amdgcn.s.sendmsg(i32 1, i32 0)"), configuration("gfx1100")); }),
            "nothing")
      << "the libraries' call of the host";
  EXPECT_THAT(refusal([&] { compiled(waits("@llvm.amdgcn.s.sendmsg(i32 3, i32 0)"), configuration("gfx1100")); }),
              HasSubstr("llvm.amdgcn.s.sendmsg takes"));
}

// The assembler takes these on either side.
TEST(Amdgpu, AssemblyThatMeansSomethingElseElsewhereIsRefused) {
  auto assembly = [](const char* text) {
    return std::string("  %value = call i32 asm sideeffect \"") + text + "\", \"=v,v,v\"(i32 %id, i32 %given)\n";
  };
  auto said = [&](const char* text, const char* target) {
    return refusal([&] { compiled(assembly(text), configuration(target)); });
  };
  for (const auto& [text, reason] :
       {std::pair{"ds_bpermute_b32 $0, $1, $2", "a wave of 64 by ds_bpermute_b32, which reaches half of one there"},
        {"v_mov_b32 $0, $1\\0A\\09 ds_permute_b32 $0, $1, $2 ; moves", "a wave of 64 by ds_permute_b32"},
        {"buffer_load_dword $0, $1, s[0:3], 0 offen", "the descriptors of buffers"},
        {"v_mov_b32 $0, $1\\0Aimage_load $0, $1, s[0:7] dmask:0x1 unorm", "the descriptors of images"},
        {"s_waitcnt 0x70\\0Av_mov_b32 $0, $1", "s_waitcnt takes a number there"},
        {"s_getreg_b32 s0, 0xf804\\0Av_mov_b32 $0, s0", "s_getreg_b32 takes a number there"},
        {"s_setreg_b32 0xf801, s0\\0Av_mov_b32 $0, $1", "s_setreg_b32 takes a number there"},
        {"s_sendmsg 3\\0Av_mov_b32 $0, $1", "s_sendmsg takes a number there"}}) {
    EXPECT_EQ(said(text, "gfx908"), "nothing") << text;
    EXPECT_THAT(said(text, "gfx1030"), HasSubstr(reason)) << text;
  }
  for (const char* text : {"s_waitcnt vmcnt(0)\\0Av_mov_b32 $0, $1", "s_waitcnt 0\\0Av_mov_b32 $0, $1",
                           "v_mov_b32 $0, $1 ; as ds_bpermute_b32 would", "v_add_u32_e64 $0, $1, $2"}) {
    EXPECT_EQ(said(text, "gfx908"), "nothing") << text;
  }
  for (const char* text : {"s_waitcnt vmcnt(0)\\0Av_mov_b32 $0, $1", "s_waitcnt 0\\0Av_mov_b32 $0, $1",
                           "v_mov_b32 $0, $1 ; as ds_bpermute_b32 would"}) {
    EXPECT_EQ(said(text, "gfx1100"), "nothing") << text;
  }
}

// The other way round it reaches more lanes than where it was recorded.
TEST(Amdgpu, WavesOf64OfLaterGenerationsStayThere) {
  bundle::KernelInfo info = k();
  info.target = "amdgcn-amd-amdhsa--gfx1100";
  std::string ir = kernel_ir("  %value = call i32 @llvm.amdgcn.ds.bpermute(i32 %given, i32 %id)\n", "",
                             "declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)\n");
  for (auto [from, to] : {std::pair{"gfx90a\"", "gfx1100\""}, {"+gfx90a-insts,", ""}}) {
    size_t at = ir.rfind(from);
    ASSERT_NE(at, std::string::npos);
    ir.replace(at, std::string(from).size(), to);
  }
  auto said = [&](const char* target) {
    return refusal([&] { compile(info, ir, configuration(target), {nullptr, true}); });
  };
  for (const char* target : {"gfx1030", "gfx1100", "gfx11-generic"}) EXPECT_EQ(said(target), "nothing") << target;
  for (const char* target : {"gfx900", "gfx90a", "gfx9-generic"}) {
    EXPECT_THAT(said(target), HasSubstr("by llvm.amdgcn.ds.bpermute, which reaches all of one there")) << target;
  }
}

// Which form a descriptor has, LLVM does not know.
TEST(Amdgpu, DescriptorsOfBuffersStayInTheirGeneration) {
  const std::string more = R"(
declare i32 @llvm.amdgcn.raw.buffer.load.i32(<4 x i32>, i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.struct.buffer.load.i32(<4 x i32>, i32, i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.s.buffer.load.i32(<4 x i32>, i32, i32 immarg)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32 immarg)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1), i16, i32, i32)
)";
  const std::string words = "<4 x i32> <i32 0, i32 0, i32 -1, i32 159744>";
  const std::string made =
      "  %b = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1) %out, i16 0, i32 -1, i32 "
      "159744)\n";
  for (const std::string& loads :
       {"  %value = call i32 @llvm.amdgcn.raw.buffer.load.i32(" + words + ", i32 %id, i32 0, i32 0)\n",
        "  %value = call i32 @llvm.amdgcn.struct.buffer.load.i32(" + words + ", i32 %id, i32 0, i32 0, i32 0)\n",
        "  %value = call i32 @llvm.amdgcn.s.buffer.load.i32(" + words + ", i32 %given, i32 0)\n",
        made + "  %value = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %b, i32 %id, i32 0, i32 0)\n",
        made + "  %f = addrspacecast ptr addrspace(8) %b to ptr addrspace(7)\n"
               "  %value = load i32, ptr addrspace(7) %f\n"}) {
    EXPECT_EQ(refusal([&] { compiled(loads, configuration("gfx908"), "", more); }), "nothing") << loads;
    for (const char* target : {"gfx1030", "gfx1100", "gfx11-generic"}) {
      EXPECT_THAT(refusal([&] { compiled(loads, configuration(target), "", more); }),
                  HasSubstr("the descriptors of buffers that it uses have another form in each generation"))
          << target << loads;
    }
  }
}

TEST(Amdgpu, ImagesStayInTheirGenerationAndWhereTheyAreKnown) {
  const std::string more =
      "declare <4 x float> @llvm.amdgcn.image.load.2d.v4f32.i32(i32 immarg, i32, i32, <8 x i32>, i32 immarg, i32 "
      "immarg)\n";
  const std::string loads =
      "  %t = call <4 x float> @llvm.amdgcn.image.load.2d.v4f32.i32(i32 15, i32 %id, i32 %id, <8 x i32> "
      "zeroinitializer, i32 0, i32 0)\n"
      "  %f = extractelement <4 x float> %t, i32 0\n  %value = fptoui float %f to i32\n";
  EXPECT_EQ(refusal([&] { compiled(loads, configuration("gfx908"), "", more); }), "nothing");
  for (const char* target : {"gfx1030", "gfx1100"}) {
    EXPECT_THAT(refusal([&] { compiled(loads, configuration(target), "", more); }),
                HasSubstr("the descriptors of images that it uses have another form in each generation"))
        << target;
  }
  // LLVM would make code of it that this GPU does not know.
  EXPECT_EQ(refusal([&] { compiled(loads, configuration("gfx942"), "", more); }),
            "kernel 'k(int*, int)' cannot be compiled for gfx942: that GPU has no instructions for images");
}

// LLVM would end the process.
TEST(Amdgpu, WhatTheProcessorLacksIsSaid) {
  const std::string matrix =
      "  %r = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float 1.0, float 1.0, <4 x float> zeroinitializer, i32 "
      "0, i32 0, i32 0)\n  %f = extractelement <4 x float> %r, i32 0\n  %value = fptoui float %f to i32\n";
  EXPECT_EQ(refusal([&] { compiled(matrix, configuration("gfx908")); }), "nothing");
  EXPECT_EQ(refusal([&] { compiled(matrix, configuration("gfx900")); }),
            "kernel 'k(int*, int)' cannot be compiled for hip:gfx900: that GPU has no instruction for "
            "llvm.amdgcn.mfma.f32.4x4x1f32");
  const std::string assembly = "  %value = call i32 asm \"v_mov_bee32 $0, $1\", \"=v,v\"(i32 %id)\n";
  EXPECT_THAT(refusal([&] { compiled(assembly, configuration("gfx90a")); }),
              AllOf(HasSubstr("cannot be compiled for hip:gfx90a: "), HasSubstr("invalid instruction")));
  EXPECT_EQ(refusal([&] { compiled(kPlain, configuration("gfx90a")); }), "nothing") << "all is well afterwards";
}

TEST(Amdgpu, MessagesAreTheSameEveryTime) {
  EXPECT_EQ(amdgpu::tidy("Cannot select: 0x55d0a1b2c3d0: f32 = FDOT2 # D:1 0x55d0a1b2c3d1, 0x55d0a1b2c3d2\n  0x55d0:"),
            "that GPU has no instruction for FDOT2");
  EXPECT_EQ(amdgpu::tidy("two\n\t lines at 0x55d0a1b2c3d0, with 0x142\n"), "two lines at , with 0x142");
  EXPECT_LE(amdgpu::tidy(std::string(100000, 'x')).size(), 500u);
}

TEST(Amdgpu, SaysWhatItCannotDo) {
  EXPECT_THAT(refusal([] {
                std::string ir = kernel_ir(kPlain);
                compile(k(), ir.replace(ir.find("amdgcn-amd-amdhsa"), 17, "x86_64-linux-gnu"), configuration("gfx90a"));
              }),
              HasSubstr("was compiled for x86_64-linux-gnu, not for AMD's GPUs"));
  bundle::KernelInfo other = k();
  other.name = "other";
  EXPECT_THAT(refusal([&] { compile(other, kernel_ir(kPlain), configuration("gfx90a")); }),
              HasSubstr("has no function 'other'"));
  bundle::Configuration checked = configuration("gfx90a");
  checked.check_memory = true;
  EXPECT_THAT(refusal([&] { compile(k(), kernel_ir(kPlain), checked); }), HasSubstr("for the host device"));
}

TEST(Amdgpu, WhatIsMarkedByItselfStaysAsItIs) {
  const std::string more = "define internal i32 @f(i32 %x) noinline optnone {\n  ret i32 %x\n}\n";
  const std::string calls = "  %value = call i32 @f(i32 %id)\n";
  EXPECT_THAT(compiled(calls, configuration("gfx90a"), "", more).ir, HasSubstr("call"));
  EXPECT_THAT(compiled(calls, configuration("gfx90a"), "noinline optnone", more).ir, Not(HasSubstr("@f(")));
  bundle::Configuration none = configuration("gfx90a");
  none.passes = "default<O0>";
  EXPECT_THAT(compiled(calls, none, "noinline optnone", more).ir, HasSubstr(" optnone "))
      << "as the application was compiled";
}

TEST(Amdgpu, FixedLaunches) {
  bundle::InstanceInfo instance;
  instance.grid = {4, 1, 1};
  instance.block = {128, 1, 1};
  instance.arguments = std::string(8, '\0') + std::string("\x2a\0\0\0", 4);
  bundle::Configuration how = configuration("gfx90a");
  how.specialize_args = "1";
  how.specialize_dims = true;
  Code code = compile(k(), kernel_ir("  %value = add i32 %given, 0\n"), how, {&instance, true});
  EXPECT_THAT(code.ir, AllOf(HasSubstr("store i32 42"), HasSubstr("\"amdgpu-flat-work-group-size\"=\"128,128\""),
                             HasSubstr("\"amdgpu-max-num-workgroups\"=\"4,1,1\"")));
  EXPECT_THAT(code.assembly, HasSubstr(".reqd_workgroup_size:\n      - 128\n      - 1\n      - 1"));
}

// LLVM writes what it reckons itself into the assembly.
TEST(AmdgpuResources, OccupancyIsLlvms) {
  std::string many, sum = "  %s0 = add i32 %id, 0\n";
  for (int i = 0; i < 90; ++i) {
    many += fmt::format(
        "  %p{0} = getelementptr i32, ptr addrspace(1) %out, i32 {0}\n"
        "  %v{0} = load volatile i32, ptr addrspace(1) %p{0}\n",
        i);
    sum += fmt::format("  %s{} = add i32 %s{}, %v{}\n", i + 1, i, i);
  }
  const std::string wide = many + "  call void asm sideeffect \"\", \"\"()\n" + sum + "  %value = add i32 %s90, 0\n";
  auto shared = [](int bytes) {
    return fmt::format(
        "  %p = getelementptr [{0} x i8], ptr addrspace(3) @lds, i32 0, i32 %id\n"
        "  store volatile i32 %id, ptr addrspace(3) %p\n  %value = load volatile i32, ptr addrspace(3) %p\n",
        bytes);
  };
  auto lds = [](int bytes) { return fmt::format("@lds = internal addrspace(3) global [{} x i8] undef\n", bytes); };
  // Around the limits that generation 9 has, and above them.
  auto scalar = [](int registers) {
    std::string clobbered;
    for (int i = 0; i < registers; ++i) clobbered += fmt::format("{}~{{s{}}}", i ? "," : "", i);
    return "  call void asm sideeffect \"\", \"" + clobbered + "\"()\n" + kPlain;
  };
  size_t of_fewer = 0;
  std::set<std::pair<std::string, uint32_t>> by_scalar;  // and how many waves
  for (const char* target : kTargets) {
    for (const char* features : {"", "+wavefrontsize32"}) {
      std::string name = target;
      if (*features && name.starts_with("gfx9")) continue;
      std::vector<Code> codes = {compiled(kPlain, configuration(name, features)),
                                 compiled(wide, configuration(name, features), "\"amdgpu-waves-per-eu\"=\"1,2\"")};
      for (int bytes : {9000, 40000}) {
        codes.push_back(compiled(shared(bytes), configuration(name, features), "", lds(bytes)));
        EXPECT_EQ(codes.back().resources->shared, static_cast<uint64_t>(bytes));
      }
      for (int registers : {70, 74, 76, 80, 82, 84, 88, 94, 96, 98, 102}) {
        // Blocks of one wave, of which there is room for all.
        codes.push_back(compiled(scalar(registers), configuration(name, features), kOneWave));
        EXPECT_GE(codes.back().resources->amd->scalar_registers, static_cast<uint32_t>(registers)) << name;
        by_scalar.insert({name, codes.back().resources->amd->occupancy});
      }
      for (const Code& code : codes) {
        const bundle::Resources& resources = *code.resources;
        size_t at = code.assembly.find("; Occupancy: ");
        ASSERT_NE(at, std::string::npos);
        EXPECT_EQ(resources.amd->occupancy, std::stoul(code.assembly.substr(at + 13)))
            << name << features << ": " << resources.registers << " registers, " << resources.amd->scalar_registers
            << " scalar, " << resources.shared << " shared";
        of_fewer += resources.amd->occupancy < 8;
      }
    }
  }
  EXPECT_GT(of_fewer, 10u);
  for (uint32_t waves : {7, 8, 9, 10}) EXPECT_TRUE(by_scalar.contains({"gfx906", waves})) << waves;
}

TEST(AmdgpuResources, SpilledRegistersAndStack) {
  std::string body = "  call void asm sideeffect \"\", \"~{v0}\"()\n", uses;
  for (int i = 0; i < 100; ++i) {
    body += fmt::format("  %a{0} = call i32 asm sideeffect \"v_mov_b32 $0, {0}\", \"=v\"()\n", i);
    uses += fmt::format("  call void asm sideeffect \"\", \"v\"(i32 %a{})\n", i);
  }
  Code code = compiled(body + uses + kPlain, configuration("gfx900"), "\"amdgpu-num-vgpr\"=\"32\"");
  EXPECT_LE(code.resources->registers, 32u);
  EXPECT_GT(code.resources->amd->spilled_registers, 50u);
  EXPECT_GT(code.resources->stack, 200u);
}

TEST(AmdgpuResources, MalformedCodeObjectsAreRefused) {
  const std::string good = compiled(kPlain, configuration("gfx90a")).bytes;
  const amdgpu::TargetId target = *amdgpu::parse_target_id("gfx90a");
  auto read = [&](const std::string& bytes, const std::string& kernel = "k") {
    return refusal([&] { amdgpu::resources_in_code_object(bytes_of(bytes), kernel, target, "it"); });
  };
  EXPECT_EQ(read(good), "nothing");
  EXPECT_EQ(read(good, "other"), "it has no kernel 'other'");
  size_t note = good.find(std::string("AMDGPU\0", 7));
  ASSERT_NE(note, std::string::npos);
  std::string wrong = good;
  wrong[note] = 'B';
  EXPECT_EQ(read(wrong), "it has no metadata about its kernels");
  wrong = good;
  wrong[note - 7] = '\x7f';
  EXPECT_EQ(read(wrong), "it: a note is cut short");
  wrong = good;
  wrong[note + 8] = '\xc1';  // no beginning of anything
  EXPECT_THAT(read(wrong), HasSubstr("cannot be read"));
  for (size_t i = 0; i < 400; ++i) {  // whatever comes of it
    wrong = good;
    wrong[note + 8 + i] = static_cast<char>(wrong[note + 8 + i] ^ 0x55);
    read(wrong);
  }
}

TEST(AmdgpuTargets, HaveOneNameEach) {
  EXPECT_EQ(target_named("gfx90a"), "hip:gfx90a");
  EXPECT_EQ(target_named("hip:gfx90a:xnack+:sramecc-"), "hip:gfx90a:sramecc-:xnack+");
  EXPECT_EQ(target_named("gfx11-generic"), "hip:gfx11-generic");
  for (const char* none : {"gfx", "gfx999", "gfx803", "gfx1201", "vega", "hip:", "hip:sm_90", "gfx90a:xnack",
                           "gfx90a:xnack+:xnack-", "gfx900:sramecc+", "gfx1030:xnack+", "gfx90a:wave64+", "gfx90a:"}) {
    EXPECT_THAT(refusal([&] { target_named(none); }), HasSubstr("is no target")) << none;
  }
}

}  // namespace
}  // namespace mneme::codegen
