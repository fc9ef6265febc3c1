// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads, memory, arithmetic and units of lifted PTX.
#include "codegen/ptx/lift.h"

#include <gmock/gmock.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"
#include "codegen/host/dialect/nvptx/run.h"
#include "codegen/ptx/cases.h"
#include "codegen/ptx/constants.h"
#include "ir/module.h"
#include "ir/optimize.h"

namespace mneme::codegen::ptx {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Lift, MakesPointersOfAddresses) {
  std::string ir = ir_of(kernel_of("mov.b32 %y, %x;"));
  EXPECT_THAT(ir, HasSubstr("void @k(ptr %0, ptr %1)"));
  EXPECT_THAT(ir, Not(HasSubstr("inttoptr")));
  EXPECT_THAT(ir, HasSubstr("load i32, ptr addrspace(1)"));
  EXPECT_THAT(ir, HasSubstr("!\"kernel\", i32 1"));
}

TEST(Lift, FollowsAPointerThroughALoop) {
  std::string loop = kernel_of(R"(
  mov.u32 %y, 0;
  mov.u32 %r1, 0;
  ld.param.u64 %rd1, [k_param_1];
  cvta.to.global.u64 %rd1, %rd1;
$again:
  ld.global.u32 %r2, [%rd1+0];
  add.s32 %y, %y, %r2;
  add.s64 %rd1, %rd1, 4;
  add.s32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 64;
  @%p1 bra $again;
)");
  EXPECT_THAT(ir_of(loop), Not(HasSubstr("inttoptr")));
  uint32_t sum = 0;
  for (uint32_t x : numbers(64)) sum += x;
  expect_each(loop, [&](uint32_t, uint32_t) { return sum; });
}

TEST(Lift, Predicates) {
  expect_each(kernel_of(R"(
  mov.u32 %y, 7;
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p1|%p2, %r1, 1;
  @%p1 add.u32 %y, %x, 5;
  @!%p1 sub.u32 %y, %x, %t;
  setp.gt.and.u32 %p3, %t, 40, !%p2;
  @%p3 mov.u32 %y, 1;
)"),
              [](uint32_t t, uint32_t x) { return (t & 1) && t > 40 ? 1
                                                  : t & 1           ? x + 5
                                                                    : x - t; });
}

TEST(Lift, CarriesFromOneInstructionToAnother) {
  expect_each(kernel_of(R"(
  add.cc.u32 %r1, %x, 0x80000000;
  addc.u32 %r2, 0, 0;
  sub.cc.u32 %r3, %r2, 1;
  subc.u32 %r4, 10, 0;
  mad.lo.u32 %y, %r2, 100, %r4;
)"),
              [](uint32_t, uint32_t x) {
                uint32_t carry = x >= 0x80000000u;
                return carry * 100 + 10 - (carry ? 0 : 1);
              });
}

TEST(Lift, DividesByWhatMayBeZero) {
  expect_each(kernel_of(R"(
  and.b32 %r1, %t, 3;
  div.u32 %r2, %x, %r1;
  rem.u32 %r3, %x, %r1;
  setp.eq.u32 %p1, %r1, 0;
  selp.b32 %y, 42, %r2, %p1;
  @!%p1 add.u32 %y, %y, %r3;
)"),
              [](uint32_t t, uint32_t x) { return t & 3 ? x / (t & 3) + x % (t & 3) : 42; });
}

TEST(Lift, SharesMemoryBetweenThreads) {
  std::string text = kernel_of(R"(
  .shared .align 4 .b8 tile[256];
  mov.u32 %r1, tile;
  shl.b32 %r2, %t, 2;
  add.s32 %r3, %r1, %r2;
  st.shared.u32 [%r3], %x;
  bar.sync 0;
  sub.s32 %r4, %r1, %r2;
  ld.shared.u32 %y, [%r4+252];
  st.shared.u32 [tile+4], %y;
)");
  EXPECT_THAT(ir_of(text), Not(HasSubstr("inttoptr")));
  std::vector<uint32_t> in = numbers(64);
  expect_each(text, [&](uint32_t t, uint32_t) { return in[63 - t]; });
}

// A cluster is one block here, so that a wait is for the block's threads.
std::string exchange_by(const std::string& meet) {
  return kernel_of(R"(
  .shared .align 4 .b8 room[256];
  .reg .pred %one;
  mov.u32 %r1, room;
  shl.b32 %r2, %t, 2;
  add.s32 %r3, %r1, %r2;
  st.shared.u32 [%r3], %x;
)" + meet + R"(
  sub.s32 %r4, 252, %r2;
  add.s32 %r4, %r1, %r4;
  mapa.shared::cluster.u32 %r5, %r4, %cluster_ctarank;
  ld.shared::cluster.u32 %y, [%r5];
)");
}

TEST(Lift, ABlockIsACluster) {
  std::vector<uint32_t> in = numbers(64);
  for (const char* meet :
       {"barrier.cluster.arrive.release; mov.u32 %r9, 1; barrier.cluster.wait.acquire;",
        "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;",
        // Halves with another barrier between them, and twice.
        "barrier.cluster.arrive; bar.sync 0; barrier.cluster.wait; barrier.cluster.arrive; bar.sync 0; "
        "barrier.cluster.wait;"}) {
    std::vector<uint32_t> out = run(exchange_by(meet), in);
    for (uint32_t t = 0; t < 64; ++t) ASSERT_EQ(out[t], in[63 - t]) << meet << t;
  }
}

TEST(Lift, WaitsForNoneThatHaveEnded) {
  // Thread 0 waits twice; the others arrive once, and do not wait: some end, the others arrive by ending.
  std::string text = kernel_of(R"(
  .shared .align 4 .b8 room[256];
  mov.u32 %r1, room;
  shl.b32 %r2, %t, 2;
  add.s32 %r3, %r1, %r2;
  st.shared.u32 [%r3], %x;
  setp.gt.u32 %p2, %t, 40;
  @%p2 exit;
  barrier.cluster.arrive;
  mov.u32 %y, 1;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra $end;
  barrier.cluster.wait;
  ld.shared.u32 %y, [%r1+(60+3)*4];
  ld.shared.u32 %r4, [%r1+160];
  barrier.cluster.arrive;
  barrier.cluster.wait;
  add.u32 %y, %y, %r4;
$end:
)");
  std::vector<uint32_t> in = numbers(64), out = run(text, in);
  EXPECT_EQ(out[0], in[63] + in[40]);
  EXPECT_EQ(out[1], 1u);
  EXPECT_EQ(out[40], 1u);
  EXPECT_EQ(out[41], 0u);
}

TEST(Lift, SaysThatAKernelIsForClusters) {
  std::string text = ".visible .entry k() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }";
  EXPECT_THAT(ir_of(text), HasSubstr("!\"cluster_dim_x\", i32 2"));
  try {
    NvptxCode code(host::nvptx_kernel(0), lift_kernel(kHead + text, "k"),
                   NvptxCode::configuration_of("default<O3>", "loop"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is for clusters of 2 blocks"));
  }
}

TEST(Lift, AllocatesOnTheStack) {
  std::string text = kernel_of(R"(
  and.b32 %r1, %t, 7;
  add.u32 %r1, %r1, 5;
  mul.wide.u32 %rd1, %r1, 4;
  alloca.u64 %rd9, 8, 16;
  cvta.local.u64 %rd9, %rd9;
  st.u32 [%rd9+4], %x;
  mov.u32 %r2, 0;
  mov.u32 %y, 0;
$again:
  stacksave.u64 %rd8;
  alloca.u64 %rd2, %rd1, 32;
  and.b64 %rd5, %rd2, 31;
  cvta.local.u64 %rd3, %rd2;
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd4, %rd3, %rd4;
  add.u32 %r3, %x, %r2;
  st.local.u32 [%rd2], %r3;
  ld.u32 %r6, [%rd4+-4];
  st.u32 [%rd4+-4], %r3;
  ld.u32 %r4, [%rd3];
  bar.sync 0;
  ld.local.u32 %r5, [%rd2+(3-3)];
  add.u32 %y, %y, %r5;
  add.u32 %y, %y, %r6;
  cvt.u32.u64 %r7, %rd5;
  add.u32 %y, %y, %r7;
  stackrestore.u64 %rd8;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 3000;
  @%p1 bra $again;
  ld.u32 %r4, [%rd9+4];
  add.u32 %y, %y, %r4;
)");
  expect_each(text, [](uint32_t, uint32_t x) { return 3000 * x + 3000u * 2999 / 2 + x; });
}

// Its memory is free again when it returns, so it has to return.
TEST(Lift, AFunctionThatAllocatesStaysOne) {
  std::string text = kernel_of("{ .param .b32 r0; call (r0), allocates, (); ld.param.b32 %y, [r0]; }", R"(
.func (.param .b32 r) allocates()
{
  .reg .b32 %v;
  .reg .b64 %a;
  alloca.u64 %a, 64;
  st.local.u32 [%a], 7;
  ld.local.u32 %v, [%a];
  st.param.b32 [r], %v;
  ret;
}
)");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ir::load_module(context, lift_kernel(kHead + text, "k"), "the lifted IR");
  ir::optimize(*module, "default<O3>", nullptr);
  EXPECT_THAT(ir::print_module(*module), HasSubstr("@allocates()"));
  std::string kernel;
  llvm::raw_string_ostream(kernel) << *module->getFunction("k");
  EXPECT_THAT(kernel, Not(HasSubstr("alloca.u64")));
}

TEST(Lift, EndsWhereThereIsNoMoreStack) {
  std::string text = kernel_of("alloca.u64 %rd1, 100000; st.local.u32 [%rd1], %x; ld.local.u32 %y, [%rd1];");
  NvptxCode code(host::nvptx_kernel(2), lift_kernel(kHead + text, "k"),
                 NvptxCode::configuration_of("default<O3>", "loop"));
  std::vector<uint32_t> in(1), out(1);
  const void* arguments[] = {out.data(), in.data()};
  EXPECT_EQ(code.run(arguments, 1).stopped, host::kOther);
}

TEST(Lift, LinksUnits) {
  std::string first = kernel_of(R"(
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %x; call (r0), other, (p0); ld.param.b32 %y, [r0]; }
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %y; call (r0), both, (p0); ld.param.b32 %y, [r0]; }
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %y; call (r0), own, (p0); ld.param.b32 %y, [r0]; }
  ld.global.u8 %r2, [$str];
  add.u32 %y, %y, %r2;
)",
                                R"(
.extern .func (.param .b32 r) other(.param .b32 x);
.extern .global .align 4 .u32 factor;
.global .align 1 .b8 $str[2] = {(1+2)*10, 0};
.func (.param .b32 r) own(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 100; st.param.b32 [r], %a; ret; }
.weak .func (.param .b32 r) both(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; }
)");
  std::string second = std::string(kHead) + R"(
.visible .global .align 4 .u32 factor = 5;
.global .align 1 .b8 $str[2] = {7, 0};
.func (.param .b32 r) own(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 1000; st.param.b32 [r], %a; ret; }
.weak .func (.param .b32 r) both(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; }
.visible .func (.param .b32 r) named(.param .b32 x)
{
  .reg .b32 %a, %b;
  ld.param.b32 %a, [x];
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %a; call (r0), own, (p0); ld.param.b32 %a, [r0]; }
  ld.global.u8 %b, [$str];
  add.u32 %a, %a, %b;
  st.param.b32 [r], %a;
  ret;
}
.visible .func (.param .b32 r) other(.param .b32 x);
.alias other, named;
)";
  expect_each(first + second, [](uint32_t, uint32_t x) { return (x + 1000 + 7) * 2 + 100 + 30; });
  EXPECT_THAT(ir_of(first + second), HasSubstr("@factor = addrspace(1) externally_initialized global i32 5"));
  EXPECT_THAT(refusal_of(first + second + kHead + ".visible .global .align 4 .u32 factor = 6;"), HasSubstr("factor"));
  // A line is the whole text's.
  EXPECT_THAT(refusal_of(kHead + std::string(".visible .entry k() { gone.u32 1; }\n")), HasSubstr("line 7 of the PTX"));
}

// From each of so many exchanges, which lanes may pass by, to every one that follows.
std::string form_of_exchanges(int count) {
  std::string body = "mov.u32 %y, 0; .reg .b32 %v<99>;\n";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    body += "ld.global.u32 %v" + n + ", [%in+" + std::to_string(4 * i) + "];\n";
  }
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    body += "setp.lt.u32 %p1, %v" + n + ", %t;\n@%p1 bra $L" + n + ";\nshfl.sync.bfly.b32 %r1, %v" + n +
            ", 1, 31, -1;\nadd.u32 %y, %y, %r1;\n$L" + n + ":\n";
  }
  std::string bitcode = lift_kernel(kHead + kernel_of(body), "k");
  return host::compile(host::nvptx_kernel(2), bitcode, NvptxCode::configuration_of("default<O1>", "auto")).form;
}

TEST(Lift, TakesFibersWhereLoopsWouldKeepTooMuch) {
  EXPECT_EQ(form_of_exchanges(25), "loop");
  EXPECT_EQ(form_of_exchanges(30), "fiber");
}

TEST(Lift, ComputesConstants) {
  auto value = [](const char* text) { return ptx_integer(text); };
  EXPECT_EQ(value("(1+2)*3"), 9u);
  EXPECT_EQ(value("1 + 2 * 3 - 0x10 / 4 % 3"), 6u);
  EXPECT_EQ(value("~0x7f & 0xff | 1 << 2 ^ 0"), 0x84u);
  EXPECT_EQ(value("-8 >> 1"), static_cast<uint64_t>(-4));
  EXPECT_EQ(value("-8U >> 1"), static_cast<uint64_t>(-8) >> 1);
  EXPECT_EQ(value("-1 < 0 ? 5 : 6"), 5u);
  EXPECT_EQ(value("(.u64)-1 < 0 ? 5 : 6"), 6u);
  EXPECT_EQ(value("!3 || 4 == 4 && 5 != 5"), 0u);
  EXPECT_EQ(value("WARP_SZ * 2"), 64u);
  EXPECT_EQ(value("0x8000000000000000 / -1"), 0u);
  for (const char* text : {"", "1+", "(1", "1)", "1/0", "x", "1 2", "generic(1)", "%r1"}) {
    EXPECT_FALSE(value(text).has_value()) << text;
  }
  EXPECT_FALSE(value((std::string(100000, '(') + "1").c_str()).has_value());
  EXPECT_FALSE(value((std::string(100000, '-') + "1").c_str()).has_value());
  expect_each(kernel_of(R"(
  add.u32 %y, %x, (1+2)*3;
  mov.u64 %rd1, $str+(1+1)*4;
  ld.global.u32 %r1, [%rd1+2*2];
  add.u32 %y, %y, %r1;
  mov.u32 %r2, %pm0;
  mov.u64 %rd2, %pm3_64;
  mov.u32 %r3, %envreg0;
  add.u32 %y, %y, %r3;
)",
                        ".global .align 4 .u32 $str[2*2] = {1, 2, 3, (1<<4)|1};"),
              [](uint32_t, uint32_t x) { return x + 9 + 17; });
}

}  // namespace
}  // namespace mneme::codegen::ptx
