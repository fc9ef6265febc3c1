// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels given as AMDGPU IR, compiled and run: what the host device makes of them as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"

namespace mneme::codegen::host {
namespace {

class WorkItems : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, WorkItems, kEveryLevel);

// out[global id] = global id * 3
constexpr char kScale[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %a = getelementptr i8, ptr addrspace(4) %d, i64 4
  %s = load i16, ptr addrspace(4) %a
  %n = zext i16 %s to i32
  %f = mul i32 %g, %n
  %i = add i32 %f, %l
  %v = mul i32 %i, 3
  %x = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %v, ptr addrspace(1) %p
  ret void
})";

// Of two arguments, with shared memory and a barrier.
constexpr char kTwo[] = R"(
@word = internal addrspace(3) global i32 undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  store i32 %l, ptr addrspace(3) @word
  call void @llvm.amdgcn.s.barrier()
  %w = load i32, ptr addrspace(3) @word
  %x = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %w, ptr addrspace(1) %q
  ret void
})";

TEST_P(WorkItems, RunOneAfterAnother) {
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(compile(kernel_of_pointers(1), std::string(kAmdgpuHead) + kScale, configuration(GetParam(), form)));
    EXPECT_EQ(code.form, form);
    std::vector<int> out(128, -1);
    EXPECT_EQ(code.run({out.data()}, 40, 1).fault, kNoFault);
    for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], i >= 40 && i < 80 ? i * 3 : -1) << form << " " << i;
  }
}

// What goes in step keeps its sums in arrays, which is for nothing where there are but few work-items.
TEST(HostCompile, SmallBlocksDoNotGoInStep) {
  auto kernel = [](const std::string& attributes) {
    return std::string(kAmdgpuHead) + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) )" +
           attributes + R"( {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %down = mul i64 %k, 4
  %at = add i64 %down, %x
  %from = getelementptr i32, ptr addrspace(1) %in, i64 %at
  %value = load i32, ptr addrspace(1) %from
  %tripled = mul i32 %value, 3
  %more = add i32 %sum, %tripled
  %k1 = add i64 %k, 1
  %again = icmp ult i64 %k1, 1000
  br i1 %again, label %loop, label %done
done:
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %more, ptr addrspace(1) %p
  ret void
})";
  };
  std::vector<int> in(4000), expected(4);
  for (int i = 0; i < 4000; ++i) {
    in[i] = i;
    expected[i % 4] += 3 * i;
  }
  for (auto [attributes, keeps] :
       {std::pair("", kKeepsFrames), std::pair(R"("amdgpu-flat-work-group-size"="1,4")", kKeepsNothing)}) {
    AmdgpuCode code(compile(kernel_of_pointers(2), kernel(attributes), configuration()));
    EXPECT_EQ(code.object->keeps, keeps) << attributes;
    std::vector<int> out(4);
    code.run({in.data(), out.data()}, 4);
    EXPECT_EQ(out, expected) << attributes;
  }
}

TEST(HostCompile, DeviceVariablesComeFromTheirSlots) {
  constexpr char kGlobals[] = R"(
@table = addrspace(1) externally_initialized global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
@second = addrspace(1) externally_initialized global ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @table to ptr), i64 4), align 8
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %p = load ptr, ptr addrspace(1) @second
  %v = load i32, ptr %p
  store i32 %v, ptr addrspace(1) %out
  ret void
})";
  AmdgpuCode code(
      compile(kernel_of_pointers(1, {"table", "second"}), std::string(kAmdgpuHead) + kGlobals, configuration()));
  ASSERT_EQ(code.object->global_count, 2u);
  GlobalSlot& table = code.object->globals[0];
  GlobalSlot& second = code.object->globals[1];
  EXPECT_STREQ(table.name, "table");
  EXPECT_EQ(table.size, 16u);
  EXPECT_EQ(static_cast<const int*>(table.initial)[3], 4);
  ASSERT_EQ(second.relocation_count, 1u);
  EXPECT_EQ(second.relocations[0].target, 0u);
  EXPECT_EQ(*static_cast<const uint64_t*>(second.initial), 4u);

  int values[4] = {10, 20, 30, 40};
  void* pointer = &values[2];
  int out = 0;
  table.address = values;
  second.address = &pointer;
  code.run({&out}, 1);
  EXPECT_EQ(out, 30);  // what memory holds, not what the initialiser said
}

TEST(HostCompile, AtomicsWhoseOrderShowsRunBlocksInOrder) {
  auto ordered = [](const char* body) {
    std::string ir = std::string(kAmdgpuHead) +
                     "define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {" + body + " ret void }";
    return AmdgpuCode(compile(kernel_of_pointers(2), ir, configuration())).object->ordered;
  };
  EXPECT_EQ(ordered("%a = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope(\"agent-one-as\") monotonic"), 0u);
  EXPECT_EQ(ordered("%a = atomicrmw fadd ptr addrspace(1) %p, float 1.0 monotonic"), 1u);
  EXPECT_EQ(ordered("%a = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic\n store i32 %a, ptr addrspace(1) %q"), 1u);
}

TEST(HostCompile, FusesMultiplyAddsOnlyWhenTold) {
  constexpr char kFused[] = R"(
declare float @llvm.fmuladd.f32(float, float, float)
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %a = load float, ptr addrspace(1) %p
  %b = fmul contract float %a, %a
  %c = fadd contract float %b, -1.0
  store float %c, ptr addrspace(1) %p
  ret void
})";
  float x = 1.0f + 0x1p-23f;
  float apart = x, fused = x;
  AmdgpuCode(compile(kernel_of_pointers(1), std::string(kAmdgpuHead) + kFused, configuration())).run({&apart}, 1);
  bundle::Configuration fuse = configuration();
  fuse.fuse = true;
  AmdgpuCode(compile(kernel_of_pointers(1), std::string(kAmdgpuHead) + kFused, fuse)).run({&fused}, 1);
  EXPECT_EQ(apart, 0x1p-22f);
  if (default_target() == "host:x86-64-v2") return;
  EXPECT_EQ(fused, 0x1p-22f + 0x1p-46f);
  // Where the IR allows it.
  float allowed = x, not_allowed = x;
  bundle::Configuration contract = configuration();
  contract.contract = true;
  std::string ir = std::string(kAmdgpuHead) + kFused;
  AmdgpuCode(compile(kernel_of_pointers(1), ir, contract)).run({&allowed}, 1);
  for (size_t at; (at = ir.find(" contract")) != std::string::npos;) ir.erase(at, std::strlen(" contract"));
  AmdgpuCode(compile(kernel_of_pointers(1), ir, contract)).run({&not_allowed}, 1);
  EXPECT_EQ(allowed, fused);
  EXPECT_EQ(not_allowed, apart);
}

TEST(HostCompile, IsDeterministic) {
  std::string ir = std::string(kAmdgpuHead) + kTwo;
  EXPECT_EQ(compile(kernel_of_pointers(2), ir, configuration()).code,
            compile(kernel_of_pointers(2), ir, configuration()).code);
}

void expect_error(const bundle::KernelInfo& kernel, const std::string& ir, const bundle::Configuration& configuration,
                  const std::string& part) {
  try {
    compile(kernel, ir, configuration);
    ADD_FAILURE() << "compiled, where an error with '" << part << "' was expected";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(error.exit(), Exit::kBadInput);
  }
}

TEST(HostCompile, RefusesByName) {
  std::string counter = std::string(kAmdgpuHead) + R"(
declare i64 @llvm.amdgcn.s.getpc()
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %a = call i64 @llvm.amdgcn.s.getpc()
  store i64 %a, ptr addrspace(1) %p
  ret void
})";
  expect_error(kernel_of_pointers(1), counter, configuration(), "llvm.amdgcn.s.getpc");
  expect_error(kernel_of_pointers(2), std::string(kAmdgpuHead) + kTwo, configuration("default<O3>", "ring"), "ring");
  expect_error(kernel_of_pointers(1), std::string(kAmdgpuHead) + kTwo, configuration(), "takes 2 arguments");
  expect_error(kernel_of_pointers(1), std::string(kAmdgpuHead) + kScale, configuration("default<O9>"),
               "rejects the pipeline");
  expect_error(kernel_of_pointers(1), "define void @k( {", configuration(), "line 1");
  expect_error(kernel_of_pointers(1), kAmdgpuHead, configuration(),
               "does not define the kernel 'k(…)'; it defines nothing");
  expect_error(kernel_of_pointers(1), std::string(kAmdgpuHead) + "define amdgpu_kernel void @_Z1qv() { ret void }",
               configuration(), "; it defines 'q()'");
  expect_error(kernel_of_pointers(1), std::string(kAmdgpuHead) + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  call void asm sideeffect "s_sethalt 1", ""()
  ret void
})",
               configuration(), "inline assembly ('s_sethalt 1')");
  bundle::Configuration arm = configuration();
  arm.target = "host:armv8";
  expect_error(kernel_of_pointers(1), std::string(kAmdgpuHead) + kScale, arm, "host:armv8");
}

}  // namespace
}  // namespace mneme::codegen::host
