// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic updates, and loads and stores as CUDA's assembly has them.
#include <bit>
#include <numeric>

#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

class NvptxMemory : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Levels, NvptxMemory, testing::Values("default<O0>", "default<O3>"));

TEST_P(NvptxMemory, UpdatesOfEveryThread) {
  NvptxCode code(nvptx_kernel(1), R"(
declare float @llvm.nvvm.atomic.add.gen.f.cta.f32.p0(ptr, float)
declare double @llvm.nvvm.atomic.add.gen.f.sys.f64.p0(ptr, double)
declare i32 @llvm.nvvm.atomic.max.gen.i.sys.i32.p0(ptr, i32)
declare i64 @llvm.nvvm.atomic.exch.gen.i.cta.i64.p0(ptr, i64)
declare i32 @llvm.nvvm.atomic.inc.gen.i.cta.i32.p0(ptr, i32)
declare i32 @llvm.nvvm.atomic.load.dec.32.p0(ptr, i32)
declare i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr, i32, i32)
define ptx_kernel void @k(ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %f = uitofp i32 %t to float
  %p0 = getelementptr i32, ptr %out, i64 0
  %a0 = call float @llvm.nvvm.atomic.add.gen.f.cta.f32.p0(ptr %p0, float %f)
  %p2 = getelementptr i32, ptr %out, i64 2
  %d = fpext float %f to double
  %a2 = call double @llvm.nvvm.atomic.add.gen.f.sys.f64.p0(ptr %p2, double %d)
  %p4 = getelementptr i32, ptr %out, i64 4
  %n = sub i32 10, %t
  %a4 = call i32 @llvm.nvvm.atomic.max.gen.i.sys.i32.p0(ptr %p4, i32 %n)
  %p6 = getelementptr i32, ptr %out, i64 6
  %a6 = call i64 @llvm.nvvm.atomic.exch.gen.i.cta.i64.p0(ptr %p6, i64 77)
  %p8 = getelementptr i32, ptr %out, i64 8
  %a8 = call i32 @llvm.nvvm.atomic.inc.gen.i.cta.i32.p0(ptr %p8, i32 6)
  %p9 = getelementptr i32, ptr %out, i64 9
  %a9 = call i32 @llvm.nvvm.atomic.load.dec.32.p0(ptr %p9, i32 6)
  %p10 = getelementptr i32, ptr %out, i64 10
  %next = add i32 %t, 1
  %a10 = call i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %p10, i32 %t, i32 %next)
  %p11 = getelementptr i32, ptr %out, i64 11
  %a11 = call i32 asm sideeffect "atom.add.noftz.f16x2 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr %p11, i32 1006648320)
  %p12 = getelementptr i32, ptr %out, i64 12
  %a12 = call i16 asm sideeffect "atom.add.noftz.bf16 $0, [$1], $2;", "=h,l,h,~{memory}"(ptr %p12, i16 16256)
  call void asm sideeffect "red.global.gpu.relaxed.add.noftz.bf16x2 [$0+4], $1;", "l,r,~{memory}"(ptr %p12, i32 1065369472)
  call void asm sideeffect "{ .reg .pred p; setp.lt.u32 p, $1, 7; @p red.relaxed.gpu.global.add.u32 [$0+8], 1; }", "l,r,~{memory}"(ptr %p12, i32 %t)
  %odd = and i32 %t, 1
  %before = call i32 asm sideeffect "{ .reg .pred p; setp.ne.u32 p, $2, 0; mov.u32 $0, 9; @p atom.or.acq_rel.cta.b32 $0, [$1+12], 4; }", "=&r,l,r,~{memory}"(ptr %p12, i32 %odd)
  %short = trunc i32 %t to i16
  %following = add i16 %short, 1
  %place = getelementptr i16, ptr %out, i64 33
  %a16 = call i16 asm sideeffect "atom.cas.b16 $0, [$1], $2, $3;", "=h,l,h,h,~{memory}"(ptr %place, i16 %short, i16 %following)
  %seen = getelementptr i32, ptr %out, i64 17
  %a17 = zext i16 %a16 to i32
  call void asm sideeffect "red.global.add.u32 [$0], $1;", "l,r,~{memory}"(ptr %seen, i32 %a17)
  %x = zext i32 %t to i64
  %y = add i64 %x, 32
  %q = getelementptr i32, ptr %out, i64 %y
  store i32 %before, ptr %q
  ret void
})",
                 GetParam());
  std::vector<uint32_t> out(64);
  out[16] = 0xabcd;  // beside what is exchanged
  void* arguments[] = {out.data()};
  code.run(arguments, 32);
  EXPECT_EQ(std::bit_cast<float>(out[0]), 496.0f);
  double sum = 0;
  std::memcpy(&sum, &out[2], 8);
  EXPECT_EQ(sum, 496.0);
  EXPECT_EQ(out[4], 10u);
  EXPECT_EQ(out[6], 77u);
  EXPECT_EQ(out[8], 32u % 7);
  EXPECT_EQ(out[9], (7 - 32 % 7) % 7u);
  EXPECT_EQ(out[10], 32u);
  EXPECT_EQ(out[11], 0x50005000u);  // 32 of each half's 1
  EXPECT_EQ(out[12], 0x4200u);
  EXPECT_EQ(out[13], 0x42004200u);
  EXPECT_EQ(out[14], 7u);
  EXPECT_EQ(out[15], 4u);
  EXPECT_EQ(out[16], 0x0020abcdu);
  EXPECT_EQ(out[17], 496u);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[32 + t], t % 2 == 0 ? 9u : t == 1 ? 0u : 4u) << t;
}

TEST_P(NvptxMemory, LoadsAndStoresWithHints) {
  NvptxCode code(nvptx_kernel(2), R"(
declare i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1), i32)
declare <2 x float> @llvm.nvvm.ldu.global.f.v2f32.p1(ptr addrspace(1), i32)
declare void @llvm.nvvm.membar.gl()
define ptx_kernel void @k(ptr %in, ptr %out) {
  %g = addrspacecast ptr %in to ptr addrspace(1)
  %a = call i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1) %g, i32 4)
  %v = call <2 x float> @llvm.nvvm.ldu.global.f.v2f32.p1(ptr addrspace(1) %g, i32 8)
  %v1 = extractelement <2 x float> %v, i32 1
  %b = bitcast float %v1 to i32
  %c = call { i32, i32 } asm sideeffect "ld.global.nc.L1::no_allocate.v2.u32 {$0, $1}, [$2+8];", "=r,=r,l"(ptr %in)
  %c0 = extractvalue { i32, i32 } %c, 0
  %c1 = extractvalue { i32, i32 } %c, 1
  %d = call { i64, i64 } asm sideeffect "ld.acquire.gpu.v2.u64 {$0, $1}, [$2];", "=l,=l,l,~{memory}"(ptr %in)
  %d1 = extractvalue { i64, i64 } %d, 1
  call void @llvm.nvvm.membar.gl()
  call void asm sideeffect "fence.acq_rel.gpu;", "~{memory}"()
  %e = call i32 asm sideeffect "ld.relaxed.sys.global.u8 $0, [$1+1];", "=r,l,~{memory}"(ptr %in)
  %s = call i32 asm sideeffect "ld.volatile.global.s16 $0, [$1+2];", "=r,l,~{memory}"(ptr %in)
  call void asm sideeffect "st.global.cs.v4.u32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"(ptr %out, i32 %a, i32 %b, i32 %c0, i32 %c1)
  call void asm sideeffect "st.release.gpu.global.u64 [$0+16], $1;", "l,l,~{memory}"(ptr %out, i64 %d1)
  call void asm sideeffect "{ st.global.u32 [$0+24], $1; st.volatile.u16 [$0+28], $2; prefetch.global.L2 [$0]; }", "l,r,r,~{memory}"(ptr %out, i32 %e, i32 %s)
  ret void
})",
                 GetParam());
  alignas(16) uint32_t in[4] = {0x80fe1234, 0x22222222, 0x33333333, 0x44444444};
  alignas(16) uint32_t out[8] = {};
  void* arguments[] = {in, out};
  code.run(arguments, 1);
  EXPECT_EQ(out[0], in[0]);
  EXPECT_EQ(out[1], in[1]);
  EXPECT_EQ(out[2], in[2]);
  EXPECT_EQ(out[3], in[3]);
  EXPECT_EQ(out[4], in[2]);
  EXPECT_EQ(out[5], in[3]);
  EXPECT_EQ(out[6], 0x12u);
  EXPECT_EQ(out[7], 0x80feu);
}

TEST_P(NvptxMemory, PoliciesAreNothing) {
  NvptxCode code(nvptx_kernel(2), R"(
define ptx_kernel void @k(ptr %in, ptr %out) {
  %p = call i64 asm sideeffect "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l"()
  %q = call i64 asm sideeffect "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 $0, 0.25;", "=l"()
  %v = call { i32, i32 } asm sideeffect "ld.global.L1::no_allocate.L2::cache_hint.v2.u32 {$0, $1}, [$2], $3;", "=r,=r,l,l"(ptr %in, i64 %p)
  %v0 = extractvalue { i32, i32 } %v, 0
  %v1 = extractvalue { i32, i32 } %v, 1
  call void asm sideeffect "st.global.L2::cache_hint.v2.u32 [$0], {$2, $1}, $3;", "l,r,r,l,~{memory}"(ptr %out, i32 %v0, i32 %v1, i64 %q)
  call void asm sideeffect "red.global.add.L2::cache_hint.u32 [$0], 1, $1;", "l,l,~{memory}"(ptr %out, i64 %q)
  ret void
})",
                 GetParam());
  uint32_t in[2] = {3, 5}, out[2] = {};
  void* arguments[] = {in, out};
  code.run(arguments, 1);
  EXPECT_EQ(out[0], 6u);
  EXPECT_EQ(out[1], 3u);
}

TEST_P(NvptxMemory, VectorsAreUpdatedElementByElement) {
  NvptxCode code(nvptx_kernel(1), R"(
define ptx_kernel void @k(ptr %out) {
  call void asm sideeffect "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};", "l,f,f,~{memory}"(ptr %out, float 1.5, float 2.0)
  %p = getelementptr float, ptr %out, i64 2
  call void asm sideeffect "red.global.add.v4.f32 [$0], {$1, $2, $2, $1};", "l,f,f,~{memory}"(ptr %p, float 1.0, float 2.0)
  %q = getelementptr float, ptr %out, i64 6
  call void asm sideeffect "red.global.v2.f16x2.add.noftz [$0], {$1, $1};", "l,r,~{memory}"(ptr %q, i32 1006648320)
  %r = getelementptr float, ptr %out, i64 8
  %old = call { float, float } asm sideeffect "atom.global.v2.f32.add {$0, $1}, [$2], {$3, $3};", "=f,=f,l,f,~{memory}"(ptr %r, float 1.0)
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %last = icmp eq i32 %t, 31
  br i1 %last, label %store, label %end
store:
  %old1 = extractvalue { float, float } %old, 1
  %s = getelementptr float, ptr %out, i64 10
  store float %old1, ptr %s
  br label %end
end:
  ret void
})",
                 GetParam());
  alignas(16) float out[11] = {};
  void* arguments[] = {out};
  code.run(arguments, 32);
  const float wanted[] = {48, 64, 32, 64, 64, 32};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], wanted[i]) << i;
  EXPECT_EQ(std::bit_cast<uint32_t>(out[6]), 0x50005000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(out[7]), 0x50005000u);
  EXPECT_EQ(out[8], 32);
  EXPECT_EQ(out[10], 31);
}

// Collatz's steps; and a wait for the block's last thread.
TEST_P(NvptxMemory, AssemblyWithBranches) {
  NvptxCode code(nvptx_kernel(2), R"(
define ptx_kernel void @k(ptr %out, ptr %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = add i32 %t, 1
  %steps = call i32 asm sideeffect "{ .reg .pred p<2>; .reg .u32 x, odd; mov.u32 x, $1; mov.u32 $0, 0;\0ANEXT_${:uid}: setp.le.u32 p0, x, 1; @p0 bra.uni DONE_${:uid};\0A and.b32 odd, x, 1; setp.ne.u32 p1, odd, 0; @p1 bra ODD; shr.u32 x, x, 1; bra COUNT; ODD: mad.lo.u32 x, x, 3, 1; COUNT: add.u32 $0, $0, 1; bra NEXT_${:uid}; DONE_${:uid}: @!p1 mov.u32 x, 7; }", "=&r,r"(i32 %n)
  %last = icmp eq i32 %t, 63
  br i1 %last, label %set, label %wait
set:
  store volatile i32 9, ptr %flag
  br label %wait
wait:
  %seen = call i32 asm sideeffect "{ .reg .pred p; WAIT: ld.volatile.global.u32 $0, [$1]; setp.eq.u32 p, $0, 0; @p bra WAIT; }", "=r,l,~{memory}"(ptr %flag)
  %r = add i32 %steps, %seen
  %x = zext i32 %t to i64
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %r, ptr %q
  ret void
})",
                 GetParam());
  std::vector<uint32_t> out(64);
  uint32_t flag = 0;
  void* arguments[] = {out.data(), &flag};
  code.run(arguments, 64);
  for (uint32_t t = 0; t < 64; ++t) {
    uint32_t steps = 0;
    for (uint32_t x = t + 1; x > 1; ++steps) x = x % 2 ? 3 * x + 1 : x / 2;
    EXPECT_EQ(out[t], steps + 9) << t;
  }
}

TEST_P(NvptxMemory, IntegersArePacked) {
  NvptxCode code(nvptx_kernel(1), R"(
define ptx_kernel void @k(ptr %out) {
  %h = call i32 asm "cvt.pack.sat.s16.s32 $0, $1, $2;", "=r,r,r"(i32 70000, i32 -3)
  %b = call i32 asm "cvt.pack.sat.u8.s32.b32 $0, $1, $2, 0;", "=r,r,r"(i32 300, i32 -3)
  %c = call i32 asm "cvt.pack.sat.s8.s32.b32 $0, $1, $2, $3;", "=r,r,r,r"(i32 300, i32 -300, i32 %b)
  store i32 %h, ptr %out
  %p = getelementptr i32, ptr %out, i64 1
  store i32 %c, ptr %p
  ret void
})",
                 GetParam());
  uint32_t out[2] = {};
  void* arguments[] = {out};
  code.run(arguments, 1);
  EXPECT_EQ(out[0], 0x7ffffffdu);
  EXPECT_EQ(out[1], 0xff007f80u);
}

}  // namespace
}  // namespace mneme::codegen::host
