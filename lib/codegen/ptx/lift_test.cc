// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX lifted, compiled for the host and run.
#include "codegen/ptx/lift.h"

#include <gmock/gmock.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "codegen/host/dialect/nvptx/run.h"
#include "codegen/ptx/constants.h"
#include "ir/module.h"
#include "ir/optimize.h"

namespace mneme::codegen::ptx {
namespace {

using host::NvptxCode;
using testing::HasSubstr;
using testing::Not;

constexpr char kHead[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

std::string ir_of(const std::string& text, const std::string& kernel = "k") {
  llvm::LLVMContext context;
  return ir::print_module(*ir::load_module(context, lift_kernel(kHead + text, kernel), "the lifted IR"));
}

std::string refusal_of(const std::string& text) {
  try {
    lift_kernel(kHead + text, "k");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// A kernel k(out, in) of PTX whose thread t has the number %t, in[t] in %x, and stores %y in out[t].
std::string kernel_of(const std::string& body, const std::string& more = "") {
  return more + R"(
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
{
  .reg .pred %p<9>;
  .reg .b16 %rs<9>;
  .reg .b32 %r<20>;
  .reg .f32 %f<9>;
  .reg .b64 %rd<20>;
  .reg .b32 %t, %x, %y;
  .reg .b64 %out, %in, %o;
  ld.param.u64 %out, [k_param_0];
  ld.param.u64 %in, [k_param_1];
  cvta.to.global.u64 %out, %out;
  cvta.to.global.u64 %in, %in;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, 4;
  add.s64 %out, %out, %o;
  add.s64 %in, %in, %o;
  ld.global.u32 %x, [%in];
)" + body +
         R"(
  st.global.u32 [%out], %y;
  ret;
}
)";
}

std::vector<uint32_t> run(const std::string& text, const std::vector<uint32_t>& in) {
  std::string bitcode = lift_kernel(kHead + text, "k");
  NvptxCode code(host::nvptx_kernel(2), bitcode, NvptxCode::configuration_of("default<O3>", "loop"));
  std::vector<uint32_t> out(in.size());
  const void* arguments[] = {out.data(), in.data()};
  code.run(arguments, static_cast<uint32_t>(in.size()), 1024);
  return out;
}

std::vector<uint32_t> numbers(uint32_t count) {
  std::vector<uint32_t> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = i * 2654435761u;
  return all;
}

template <typename F>
void expect_each(const std::string& text, const F& expected) {
  std::vector<uint32_t> in = numbers(64);
  std::vector<uint32_t> out = run(text, in);
  for (uint32_t t = 0; t < in.size(); ++t) ASSERT_EQ(out[t], expected(t, in[t])) << "thread " << t;
}

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

TEST(Lift, UsesDynamicSharedMemory) {
  std::vector<uint32_t> in = numbers(64);
  expect_each(kernel_of(R"(
  mov.u64 %rd1, room;
  add.s64 %rd2, %rd1, %o;
  st.shared.u32 [%rd2], %x;
  barrier.sync 0;
  cvta.shared.u64 %rd3, %rd1;
  xor.b64 %rd4, %o, 4;
  add.s64 %rd5, %rd3, %rd4;
  ld.u32 %y, [%rd5];
)",
                        ".extern .shared .align 16 .b8 room[];"),
              [&](uint32_t t, uint32_t) { return in[t ^ 1]; });
}

TEST(Lift, ExchangesInAWarp) {
  std::vector<uint32_t> in = numbers(64);
  expect_each(kernel_of(R"(
  shfl.sync.bfly.b32 %r1|%p1, %x, 3, 31, -1;
  vote.sync.ballot.b32 %r2, %p1, -1;
  xor.b32 %y, %r1, %r2;
)"),
              [&](uint32_t t, uint32_t) { return ~in[t ^ 3]; });
}

TEST(Lift, CallsFunctions) {
  std::string text = kernel_of(R"(
  {
  .param .b32 param0;
  st.param.b32 [param0+0], %x;
  .param .align 8 .b8 param1[16];
  st.param.b64 [param1+0], %o;
  st.param.b32 [param1+8], %t;
  .param .b32 retval0;
  call.uni (retval0), f, (param0, param1);
  ld.param.b32 %y, [retval0+0];
  }
)",
                               R"(
.func (.param .b32 func_retval0) f(.param .b32 f_param_0, .param .align 8 .b8 f_param_1[16])
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<3>;
  ld.param.u32 %r1, [f_param_0];
  ld.param.u64 %rd1, [f_param_1];
  ld.param.u32 %r2, [f_param_1+8];
  cvt.u32.u64 %r3, %rd1;
  add.s32 %r4, %r1, %r2;
  add.s32 %r4, %r4, %r3;
  st.param.b32 [func_retval0+0], %r4;
  ret;
}
)");
  expect_each(text, [](uint32_t t, uint32_t x) { return x + t + 4 * t; });
}

TEST(Lift, CallsThroughATable) {
  std::string text = kernel_of(R"(
  and.b32 %r1, %t, 1;
  mul.wide.u32 %rd1, %r1, 8;
  mov.u64 %rd2, table;
  add.s64 %rd3, %rd2, %rd1;
  ld.global.u64 %rd4, [%rd3];
  {
  .param .b32 param0;
  st.param.b32 [param0+0], %x;
  .param .b32 retval0;
  prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
  call (retval0), %rd4, (param0), prototype_0;
  ld.param.b32 %y, [retval0+0];
  }
)",
                               R"(
.func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; shl.b32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) next(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.global .align 8 .u64 table[2] = {twice, next};
)");
  std::string ir = ir_of(text);
  EXPECT_THAT(ir, HasSubstr("define internal i32 @twice(i32"));
  EXPECT_THAT(ir, HasSubstr("@table = addrspace(1) externally_initialized global [2 x i64]"));
}

TEST(Lift, JumpsByATable) {
  expect_each(kernel_of(R"(
  and.b32 %r1, %t, 1;
targets: .branchtargets one, two;
  brx.idx %r1, targets;
one:
  mov.u32 %y, 11;
  bra.uni behind;
two:
  mov.u32 %y, 22;
behind:
)"),
              [](uint32_t t, uint32_t) { return t & 1 ? 22 : 11; });
}

TEST(Lift, KeepsScopesApart) {
  expect_each(kernel_of(R"(
  {
  .reg .pred q;
  setp.gt.u32 q, %t, 10;
  @q bra done;
  mov.u32 %y, 1;
  bra end;
done:
  mov.u32 %y, 2;
end:
  }
  {
  .reg .b32 q;
  mov.u32 q, %y;
  setp.gt.u32 %p1, %t, 20;
  @%p1 bra done;
  add.u32 %y, q, 10;
done:
  }
)"),
              [](uint32_t t, uint32_t) { return (t > 10 ? 2 : 1) + (t > 20 ? 0 : 10); });
}

TEST(Lift, PacksAndUnpacks) {
  expect_each(kernel_of(R"(
  mov.b32 {%rs1, %rs2}, %x;
  mov.b32 %r1, {%rs2, %rs1};
  cvt.s32.s8 %r2, %rs1;
  st.global.v2.u16 [%out], {%rs1, %rs2};
  ld.global.v2.u16 {%rs3, %rs4}, [%out];
  cvt.u32.u16 %r3, %rs4;
  add.s32 %y, %r1, %r2;
  add.s32 %y, %y, %r3;
)"),
              [](uint32_t, uint32_t x) {
                return (x >> 16 | x << 16) + static_cast<uint32_t>(static_cast<int8_t>(x)) + (x >> 16);
              });
}

TEST(Lift, KeepsRoundingAndFlushing) {
  std::string text = kernel_of(R"(
  mov.b32 %f1, %x;
  mul.rn.f32 %f2, %f1, 0f3F8CCCCD;
  add.rn.f32 %f2, %f2, 0f3F800000;
  add.rz.f32 %f3, %f2, 0f2F800000;
  mul.f32 %f5, %f1, %f1;
  mul.ftz.f32 %f4, %f1, 0f00800000;
  st.global.f32 [%out+4], %f4;
  st.global.f32 [%out+8], %f5;
  mov.b32 %y, %f3;
)");
  std::string ir = ir_of(text);
  EXPECT_THAT(ir, HasSubstr("@llvm.nvvm.mul.rn.f(float"));
  EXPECT_THAT(ir, HasSubstr("@llvm.nvvm.add.rn.f(float"));
  EXPECT_THAT(ir, HasSubstr("fmul contract float"));
  EXPECT_THAT(ir, HasSubstr("asm sideeffect \"mul.ftz.f32 $0, $1, 0f00800000;"));
  EXPECT_THAT(ir, HasSubstr("add.rz.f32 $0, $1, 0f2F800000;"));
  EXPECT_THAT(ir, Not(HasSubstr("denormal-fp-math-f32")));
}

TEST(Lift, RefusesWhatIsDefinedTwice) {
  EXPECT_THAT(refusal_of(".func f() { ret; }\n.func f(.param .b32 a) { ret; }\n.entry k() { ret; }"),
              HasSubstr("line 4 of the PTX ('f() { ret') is defined twice"));
  EXPECT_THAT(refusal_of(".func f() { ret; }\n.func g(.param .b32 a) { ret; }\n.alias g, f;\n.entry k() { ret; }"),
              HasSubstr("is defined twice"));
}

TEST(Lift, KnowsTheNumbersOfThreads) {
  std::string ir = ir_of(kernel_of("mov.u32 %r1, %laneid; shl.b32 %r2, %r1, 2; add.u32 %y, %r2, %x;"));
  EXPECT_THAT(ir, HasSubstr("range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid()"));
  EXPECT_THAT(ir, HasSubstr("shl nuw nsw i32"));
}

TEST(Lift, CountsElements) {
  std::string ir = ir_of(kernel_of(R"(
  shl.b32 %r1, %t, 2;
  mov.u32 %r2, tile;
  add.u32 %r3, %r2, %r1;
  setp.gt.u32 %p1, %t, 15;
  @%p1 bra over;
  ld.shared.u32 %x, [%r3+64];
over:
  st.shared.u32 [%r3], %x;
  mov.u32 %y, %x;)",
                                   ".shared .align 4 .b8 tile[4096];\n"));
  EXPECT_THAT(ir, HasSubstr("getelementptr i32, ptr addrspace(3) @tile, i64"));
  EXPECT_THAT(ir, HasSubstr(", 16\n"));
  EXPECT_THAT(ir, Not(HasSubstr(", i64 64\n")));
  EXPECT_THAT(ir, HasSubstr("icmp ult i32"));
  EXPECT_THAT(ir, Not(HasSubstr("icmp ugt")));
  EXPECT_THAT(ir, HasSubstr("getelementptr i32, ptr addrspace(1)"));
}

TEST(Lift, MakesUpdatesOfAtomics) {
  std::string ir = ir_of(kernel_of(R"(
  atom.global.add.u32 %y, [%out], %x;
  red.relaxed.gpu.global.max.s32 [%out+4], %x;
  atom.shared.cas.b32 %r1, [tile+8], %x, 5;
  atom.add.release.gpu.u32 %r2, [%in], 1;
  atom.global.inc.u32 %r3, [%in], 7;)",
                                   ".shared .align 4 .b8 tile[64];\n"));
  EXPECT_THAT(ir, HasSubstr("atomicrmw add ptr addrspace(1)"));
  EXPECT_THAT(ir, HasSubstr("atomicrmw max ptr addrspace(1)"));
  EXPECT_THAT(ir, HasSubstr("cmpxchg ptr addrspace(3)"));
  EXPECT_THAT(ir, HasSubstr("asm sideeffect \"atom.add.release.gpu.u32"));
  EXPECT_THAT(ir, HasSubstr("asm sideeffect \"atom.global.inc.u32"));
  std::vector<uint32_t> out = run(kernel_of(R"(
  mov.u32 %r1, tile;
  st.shared.u32 [tile], 0;
  bar.sync 0;
  atom.shared.add.u32 %r2, [%r1], 3;
  bar.sync 0;
  ld.shared.u32 %y, [tile];)",
                                            ".shared .align 4 .b8 tile[64];\n"),
                                  numbers(64));
  EXPECT_THAT(out, testing::Each(192u));
}

float of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

// Of numbers of all sizes, sums of which cancel, and the strangest.
TEST(Lift, RoundsFloatsAsTold) {
  std::vector<uint32_t> in = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7f7fffff, 0xff7fffff, 1,
                              0x80000001, 0x00800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x34000000, 0x4b800001};
  for (uint32_t i = 1; in.size() < 512; ++i) in.push_back(i * 2654435761u);
  for (auto [suffix, mode] : {std::pair("rm", FE_DOWNWARD), {"rp", FE_UPWARD}, {"rz", FE_TOWARDZERO}}) {
    for (const char* operation : {"add", "mul", "fma"}) {
      for (uint32_t second : {0x3f800000u, 0xbf800001u, 0x80000000u, 0x00000003u, 0x7f7fffffu, 0x4b400001u}) {
        SCOPED_TRACE(fmt::format("{}.{} {:x}", operation, suffix, second));
        bool fused = operation == std::string("fma");
        std::vector<uint32_t> out =
            run(kernel_of(fmt::format("mov.b32 %f1, %x; {}.{}.f32 %f2, %f1, 0f{:08x}{}; mov.b32 %y, %f2;", operation,
                                      suffix, second, fused ? ", 0fcb400001" : "")),
                in);
        std::fesetround(mode);
        for (size_t i = 0; i < in.size(); ++i) {
          volatile float x = of_bits(in[i]), y = of_bits(second), z = of_bits(0xcb400001);
          volatile float expected = fused ? std::fma(x, y, z) : operation == std::string("add") ? x + y : x * y;
          bool same =
              std::isnan(expected) ? std::isnan(of_bits(out[i])) : std::bit_cast<uint32_t>(float(expected)) == out[i];
          if (!same) {
            std::fesetround(FE_TONEAREST);
            FAIL() << std::hex << in[i] << " gives " << out[i] << ", not " << std::bit_cast<uint32_t>(float(expected));
          }
        }
        std::fesetround(FE_TONEAREST);
      }
    }
  }
}

TEST(Lift, SaysWhichLineItDoesNotKnow) {
  EXPECT_EQ(refusal_of(".visible .entry k()\n{\n  .reg .b32 %r<2>;\n  bra nowhere;\n}\n"),
            "line 7 of the PTX ('bra nowhere') leads nowhere");
  EXPECT_THAT(refusal_of(".visible .entry k()\n{\n  mov.u32 %r1, 1;\n}\n"), HasSubstr("line 6"));
  EXPECT_THAT(refusal_of(".visible .entry other() { ret; }\n"), HasSubstr("no kernel 'k'"));
  EXPECT_THAT(refusal_of(".visible .entry k() {\n"), HasSubstr("has no end"));
  EXPECT_THAT(refusal_of("nonsense\n"), HasSubstr("line 4"));
  EXPECT_THAT(refusal_of(".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, gone; }\n"), HasSubstr("'gone'"));
}

// The texts that ptx_fuzz begins with.
TEST(Lift, ReadsTheCorpus) {
  unsigned texts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MNEME_CORPUS)) {
    SCOPED_TRACE(entry.path());
    llvm::LLVMContext context;
    Lifted lifted = lift(context, read_file(entry.path()));
    EXPECT_EQ(lifted.kernels.size(), 1u);
    for (const auto& [name, why] : lifted.refused) ADD_FAILURE() << name << ": " << why;
    ++texts;
  }
  EXPECT_GE(texts, 7u);
}

// A stranger's text ends in an Error, never otherwise.
TEST(Lift, SurvivesDamage) {
  std::string text = kHead + kernel_of(R"(
  .shared .align 4 .b8 tile[256];
  .local .align 4 .b8 own[16];
  mov.u32 %r1, tile;
  setp.eq.u32 %p1|%p2, %t, 1;
  @%p1 bra one;
  mov.b32 {%rs1, %rs2}, %x;
  { .param .b32 a; st.param.b32 [a], %x; .param .b32 r; call.uni (r), f, (a); ld.param.b32 %y, [r]; }
one:
  shfl.sync.bfly.b32 %r1|%p1, %x, 3, 31, -1;
  ld.global.v2.u32 {%r3, %r4}, [%in+8];
  fma.rn.ftz.f32 %f1, %f2, 0f3F800000, %f1;
  mov.u64 %rd1, table;
)",
                                       ".func (.param .b32 r) f(.param .b32 a) { ret; }\n"
                                       ".global .align 8 .u64 table[2] = {f, generic(table)+8};\n");
  uint64_t state = 1;
  auto random = [&](size_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % limit;
  };
  constexpr std::string_view kSigns = "{}[]();,.%@|+-:<>=_ \n0aLr";
  unsigned refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (size_t n = random(3) + 1; n > 0; --n) {
      size_t at = random(damaged.size());
      if (random(2))
        damaged[at] = kSigns[random(kSigns.size())];
      else
        damaged.erase(at, random(12) + 1);
    }
    try {
      llvm::LLVMContext context;
      refused += !lift(context, damaged).refused.empty();
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000u);
}

TEST(Lift, RefusesOnlyTheKernelsThatUseWhatItDoesNotKnow) {
  llvm::LLVMContext context;
  Lifted lifted = lift(context, std::string(kHead) +
                                    ".func f() { bra nowhere; }\n"
                                    ".visible .entry bad() { call f; ret; }\n"
                                    ".visible .entry good() { ret; }\n");
  EXPECT_THAT(lifted.kernels, testing::ElementsAre("bad", "good"));
  EXPECT_TRUE(lifted.refused.contains("f"));
  EXPECT_FALSE(lifted.module->getFunction("good")->isDeclaration());
  EXPECT_NO_THROW(lift_kernel(std::string(kHead) + ".func f() { bra nowhere; }\n.visible .entry k() { ret; }\n", "k"));
}

}  // namespace
}  // namespace mneme::codegen::ptx
