// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic updates, and loads and stores as CUDA's assembly has them.
#include <bit>
#include <numeric>

#include "codegen/host/nvptx_run.h"

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

}  // namespace
}  // namespace mneme::codegen::host
