// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's kernels as clang makes them: arguments, memory, services, and what is refused.
#include "codegen/host/dialect/nvptx/raise.h"

#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

class NvptxKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Levels, NvptxKernels, testing::Values("default<O0>", "default<O3>"));

// What clang 19 makes, before it optimises, of
//   struct Weights { int shift; double factors[3]; };
//   __constant__ int table[4];
//   __device__ int counter;
//   extern __shared__ float dynamic[];
//   __global__ void k(float* out, Weights weights, int n) {
//     __shared__ float tile[32];
//     int t = threadIdx.x;
//     tile[t] = weights.factors[t % 3] + table[t % 4];
//     weights.shift += t;
//     dynamic[t] = t;
//     __syncthreads();
//     atomicAdd(&counter, 1);
//     out[t] = tile[n - 1 - t] + weights.shift + dynamic[n - 1 - t];
//   }
constexpr char kOfAllMemories[] = R"(
%struct.Weights = type { i32, [3 x double] }
@table = dso_local addrspace(4) externally_initialized global [4 x i32] zeroinitializer, align 4
@counter = dso_local addrspace(1) externally_initialized global i32 0, align 4
@tile = internal addrspace(3) global [32 x float] undef, align 4
@dynamic = external dso_local addrspace(3) global [0 x float], align 4
define dso_local void @k(ptr noundef %out, ptr noundef byval(%struct.Weights) align 8 %weights, i32 noundef %n) #0 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %factors = getelementptr inbounds %struct.Weights, ptr %weights, i32 0, i32 1
  %third = srem i32 %t, 3
  %third64 = sext i32 %third to i64
  %factor = getelementptr inbounds [3 x double], ptr %factors, i64 0, i64 %third64
  %f = load double, ptr %factor, align 8
  %fourth = srem i32 %t, 4
  %fourth64 = sext i32 %fourth to i64
  %entry = getelementptr inbounds [4 x i32], ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 0, i64 %fourth64
  %e = load i32, ptr %entry, align 4
  %ed = sitofp i32 %e to double
  %sum = fadd contract double %f, %ed
  %single = fptrunc double %sum to float
  %t64 = sext i32 %t to i64
  %mine = getelementptr inbounds [32 x float], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 0, i64 %t64
  store float %single, ptr %mine, align 4
  %shift = getelementptr inbounds %struct.Weights, ptr %weights, i32 0, i32 0
  %s = load i32, ptr %shift, align 8
  %s1 = add nsw i32 %s, %t
  store i32 %s1, ptr %shift, align 8
  %tf = sitofp i32 %t to float
  %d = getelementptr inbounds [0 x float], ptr addrspacecast (ptr addrspace(3) @dynamic to ptr), i64 0, i64 %t64
  store float %tf, ptr %d, align 4
  call void @llvm.nvvm.barrier0()
  %old = atomicrmw add ptr addrspacecast (ptr addrspace(1) @counter to ptr), i32 1 seq_cst, align 4
  %last = sub nsw i32 %n, 1
  %other = sub nsw i32 %last, %t
  %other64 = sext i32 %other to i64
  %theirs = getelementptr inbounds [32 x float], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 0, i64 %other64
  %a = load float, ptr %theirs, align 4
  %s2 = load i32, ptr %shift, align 8
  %sf = sitofp i32 %s2 to float
  %b = fadd contract float %a, %sf
  %d2 = getelementptr inbounds [0 x float], ptr addrspacecast (ptr addrspace(3) @dynamic to ptr), i64 0, i64 %other64
  %c = load float, ptr %d2, align 4
  %r = fadd contract float %b, %c
  %to = getelementptr inbounds float, ptr %out, i64 %t64
  store float %r, ptr %to, align 4
  ret void
}
declare void @llvm.nvvm.barrier0()
attributes #0 = { convergent noinline optnone "target-cpu"="sm_90" "target-features"="+ptx85,+sm_90" }
!nvvm.annotations = !{!0, !1}
!0 = !{ptr @k, !"kernel", i32 1}
!1 = !{ptr @k, !"maxntidx", i32 16, !"maxntidy", i32 4}
)";

TEST_P(NvptxKernels, ArgumentsAndMemories) {
  bundle::KernelInfo kernel = nvptx_kernel(1);
  kernel.argument_bytes = 44;
  kernel.arguments.push_back({8, 32, "struct", "Weights", {}});
  kernel.arguments.push_back({40, 4, "i32", "int", {}});
  kernel.globals.push_back({"table", 16, 4, true});
  kernel.globals.push_back({"counter", 4, 4, false});
  for (const char* form : {"loop"}) {
    NvptxCode code(kernel, kOfAllMemories, GetParam(), form);
    EXPECT_EQ(code.object->most_threads, 64u);
    EXPECT_EQ(code.object->shared_static, 128u);
    int table[4] = {10, 20, 30, 40}, counter = 0;
    ASSERT_EQ(code.object->global_count, 2u);
    for (uint64_t i = 0; i < 2; ++i) {
      GlobalSlot& slot = code.object->globals[i];
      slot.address = slot.name == std::string("table") ? static_cast<void*>(table) : &counter;
    }
    float out[32] = {};
    struct {
      float* out;
      int shift;
      double factors[3];
      int n;
    } arguments = {out, 1000, {1.5, 2.5, 3.5}, 32};
    code.run(&arguments, 32, 128);
    EXPECT_EQ(counter, 32);
    EXPECT_EQ(arguments.shift, 1000);
    for (int t = 0; t < 32; ++t) {
      int o = 31 - t;
      double tile = 1.5 + o % 3 + (o % 4 + 1) * 10;
      EXPECT_EQ(out[t], static_cast<float>(tile + 1000 + t + o)) << t;
    }
  }
}

// The same address for all, as __grid_constant__ promises.
TEST_P(NvptxKernels, GridConstantsAreNotCopied) {
  bundle::KernelInfo kernel = nvptx_kernel(1);
  kernel.argument_bytes = 16;
  kernel.arguments.push_back({8, 8, "struct", "S", {}});
  NvptxCode code(kernel, R"(
%struct.S = type { i64 }
define void @k(ptr %out, ptr byval(%struct.S) align 8 %s) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %x = zext i32 %t to i64
  %q = getelementptr ptr, ptr %out, i64 %x
  store ptr %s, ptr %q
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1, !"grid_constant", !1}
!1 = !{i32 2}
)",
                 GetParam());
  void* out[4] = {};
  uint64_t arguments[] = {reinterpret_cast<uint64_t>(out), 7};
  code.run(arguments, 4);
  for (void* address : out) EXPECT_EQ(address, &arguments[1]);
}

TEST_P(NvptxKernels, PrintsAndEnds) {
  NvptxCode code(nvptx_kernel(1), R"(
@format = private unnamed_addr constant [7 x i8] c"%d %f\0A\00", align 1
@plain = private unnamed_addr constant [3 x i8] c"hi\00", align 1
%printf_args = type { i32, double, i64, i64, i64, i64, i64, ptr }
declare i32 @vprintf(ptr, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.nvvm.exit()
define ptx_kernel void @k(ptr %out) {
  %buffer = alloca %printf_args, align 8
  %a = getelementptr inbounds %printf_args, ptr %buffer, i32 0, i32 0
  store i32 -1, ptr %a, align 4
  %b = getelementptr inbounds %printf_args, ptr %buffer, i32 0, i32 1
  store double 1.0, ptr %b, align 8
  %c = getelementptr inbounds %printf_args, ptr %buffer, i32 0, i32 7
  store ptr null, ptr %c, align 8
  %r = call i32 @vprintf(ptr @format, ptr %buffer)
  store i32 %r, ptr %out
  %s = call i32 @vprintf(ptr @plain, ptr null)
  %m = call ptr @malloc(i64 16)
  store i32 3, ptr %m
  %l = load i32, ptr %m
  call void @free(ptr %m)
  %o = getelementptr i32, ptr %out, i64 1
  store i32 %l, ptr %o
  call void @llvm.nvvm.exit()
  store i32 99, ptr %o
  ret void
}
)",
                 GetParam());
  uint32_t out[2] = {};
  void* arguments[] = {out};
  NvptxEvents events = code.run(arguments, 1);
  EXPECT_EQ(events.printed, "%d %f\n|4294967295|4607182418800017408|0|0|0|0|0|0|hi|");
  EXPECT_EQ(out[0], 6u) << "what print_count said";
  EXPECT_EQ(out[1], 3u);
}

// grid.sync() of cooperative_groups.h: an arrival and a wait at a word whose address nobody has.
TEST_P(NvptxKernels, GridsMeet) {
  NvptxCode code(nvptx_kernel(1), R"(
define internal i32 @_ZN18cooperative_groups4__v17detailsL17sync_grids_arriveEPVj(ptr %word) noinline {
  %old = call i32 asm sideeffect "atom.add.release.gpu.u32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr %word, i32 1)
  ret i32 %old
}
define internal void @_ZN18cooperative_groups4__v17detailsL15sync_grids_waitEjPVj(i32 %old, ptr %word) noinline {
  store volatile i32 %old, ptr %word
  ret void
}
define internal i32 @envreg() noinline {
  %r = call i32 asm "mov.u32 $0, %envreg2;", "=r"()
  ret i32 %r
}
define ptx_kernel void @k(ptr %out) {
  %e = call i32 @envreg()
  %set = icmp ne i32 %e, 0
  %old = call i32 @_ZN18cooperative_groups4__v17detailsL17sync_grids_arriveEPVj(ptr null)
  call void @_ZN18cooperative_groups4__v17detailsL15sync_grids_waitEjPVj(i32 %old, ptr null)
  %w = zext i1 %set to i32
  store i32 %w, ptr %out
  ret void
}
)",
                 GetParam());
  EXPECT_EQ(code.object->waits & kWaitAtGrid, static_cast<uint32_t>(kWaitAtGrid));
  uint32_t out = 0;
  void* arguments[] = {&out};
  EXPECT_EQ(code.run(arguments, 4).grids, 1);
  EXPECT_EQ(out, 1u);
}

TEST_P(NvptxKernels, ReflectionIsAnswered) {
  NvptxCode code(nvptx_kernel(1), R"(
@arch = private unnamed_addr constant [12 x i8] c"__CUDA_ARCH\00"
@ftz = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\00"
declare i32 @__nvvm_reflect(ptr)
define ptx_kernel void @k(ptr %out) #0 {
  %a = call i32 @__nvvm_reflect(ptr @arch)
  %new = icmp sge i32 %a, 800
  br i1 %new, label %now, label %before
before:
  call void asm sideeffect "no such instruction;", ""()
  br label %now
now:
  %f = call i32 @__nvvm_reflect(ptr @ftz)
  %flushes = icmp ne i32 %f, 0
  %s = select i1 %flushes, i32 1, i32 0
  %r = add i32 %a, %s
  store i32 %r, ptr %out
  ret void
}
attributes #0 = { "target-cpu"="sm_86" }
!llvm.module.flags = !{!0}
!0 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
)",
                 GetParam());
  uint32_t out = 0;
  void* arguments[] = {&out};
  code.run(arguments, 1);
  EXPECT_EQ(out, 861u);
}

// A barrier in shared memory that opens for all threads and a copy, then for all but one, which is no longer one of
// them; states, parities and counts as PTX tells them.
TEST_P(NvptxKernels, BarriersInSharedMemory) {
  NvptxCode code(nvptx_kernel(2), R"(
@barrier = internal addrspace(3) global i64 undef, align 8
@tile = internal addrspace(3) global [64 x i32] undef, align 16
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.drop(ptr)
declare i32 @llvm.nvvm.mbarrier.pending.count(i64)
declare void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3))
declare void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3))
define ptx_kernel void @k(ptr %in, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %x = zext i32 %t to i64
  %first = icmp eq i32 %t, 0
  %number = ptrtoint ptr addrspace(3) @barrier to i32
  %there = ptrtoint ptr addrspace(3) @tile to i32
  br i1 %first, label %init, label %come
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 %n)
  br label %come
come:
  call void asm sideeffect "fence.mbarrier_init.release.cluster;", "~{memory}"()
  call void @llvm.nvvm.barrier0()
  br i1 %first, label %bulk, label %plain
bulk:
  %s0 = call i64 asm sideeffect "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 $0, [$1], $2;", "=l,r,r,~{memory}"(i32 %number, i32 256)
  call void asm sideeffect "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];", "r,l,r,r,~{memory}"(i32 %there, ptr %in, i32 256, i32 %number)
  br label %wait
plain:
  %s1 = call i64 asm sideeffect "mbarrier.arrive.shared.b64 $0, [$1];", "=l,r,~{memory}"(i32 %number)
  br label %wait
wait:
  %s = phi i64 [ %s0, %bulk ], [ %s1, %plain ], [ %s, %wait ]
  %over = call i32 asm sideeffect "{ .reg .pred %p; mbarrier.test_wait.shared.b64 %p, [$1], $2; selp.b32 $0, 1, 0, %p; }", "=r,r,l,~{memory}"(i32 %number, i64 %s)
  %opened = icmp ne i32 %over, 0
  br i1 %opened, label %read, label %wait
read:
  %o = xor i32 %t, 63
  %ox = zext i32 %o to i64
  %p = getelementptr [64 x i32], ptr addrspace(3) @tile, i64 0, i64 %ox
  %v = load i32, ptr addrspace(3) %p
  %pending = call i32 @llvm.nvvm.mbarrier.pending.count(i64 %s)
  %small = icmp ule i32 %pending, %n
  %some = icmp ne i32 %pending, 0
  %right = and i1 %small, %some
  call void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  br i1 %first, label %leave, label %stay
leave:
  %generic = addrspacecast ptr addrspace(3) @barrier to ptr
  %d = call i64 @llvm.nvvm.mbarrier.arrive.drop(ptr %generic)
  br label %again
stay:
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @barrier)
  br label %again
again:
  %over2 = call i1 asm sideeffect "mbarrier.try_wait.parity.shared.b64 $0, [$1], $2, $3;", "=b,r,r,r,~{memory}"(i32 %number, i32 1, i32 1000)
  br i1 %over2, label %third, label %again
third:
  br i1 %first, label %end, label %last
last:
  call void asm sideeffect "mbarrier.arrive.shared.b64 _, [$0], $1;", "r,r,~{memory}"(i32 %number, i32 1)
  br label %until
until:
  %over3 = call i32 asm sideeffect "{ .reg .pred %p; mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p, [$1], $2; selp.b32 $0, 1, 0, %p; }", "=r,r,r,~{memory}"(i32 %number, i32 0)
  %opened3 = icmp ne i32 %over3, 0
  br i1 %opened3, label %end, label %until
end:
  %bit = select i1 %right, i32 1000, i32 0
  %r = add i32 %v, %bit
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %r, ptr %q
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
)",
                 GetParam());
  std::array<uint32_t, 64> in{}, out{};
  for (uint32_t i = 0; i < 64; i++) in[i] = i * 3;
  void* arguments[] = {in.data(), out.data()};
  code.run(arguments, 64);
  for (uint32_t i = 0; i < 64; i++) EXPECT_EQ(out[i], 1000 + (63 - i) * 3) << i;
}

// A thread that waits lets others go on, which may then be a round ahead: each has a counter of its own.
TEST_P(NvptxKernels, WaitsInRoundsThatAreCounted) {
  NvptxCode code(nvptx_kernel(1), R"(
@barrier = internal addrspace(3) global i64 undef, align 8
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
define ptx_kernel void @k(ptr %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %t, 0
  %number = ptrtoint ptr addrspace(3) @barrier to i32
  br i1 %first, label %init, label %begin
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 8)
  br label %begin
begin:
  call void @llvm.nvvm.barrier0()
  br label %round
round:
  %r = phi i32 [ 0, %begin ], [ %next, %opened ]
  %sum = phi i32 [ %t, %begin ], [ %more, %opened ]
  %s = call i64 asm sideeffect "mbarrier.arrive.shared.b64 $0, [$1];", "=l,r,~{memory}"(i32 %number)
  br label %wait
wait:
  %over = call i32 asm sideeffect "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }", "=r,r,l,~{memory}"(i32 %number, i64 %s)
  %is = icmp ne i32 %over, 0
  br i1 %is, label %opened, label %wait
opened:
  %product = mul i32 %sum, 3
  %more = add i32 %product, %r
  %next = add i32 %r, 1
  %done = icmp eq i32 %next, 5
  br i1 %done, label %end, label %round
end:
  %x = zext i32 %t to i64
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %more, ptr %q
  ret void
}
)",
                 GetParam());
  std::array<uint32_t, 8> out{};
  void* arguments[] = {out.data()};
  code.run(arguments, 8);
  for (uint32_t t = 0; t < 8; ++t) {
    uint32_t want = t;
    for (uint32_t r = 0; r < 5; ++r) want = want * 3 + r;
    EXPECT_EQ(out[t], want) << t;
  }
}

// Addresses in shared memory, as CUDA's __cvta_… and cp.async have them.
TEST_P(NvptxKernels, SharedAddressesAsNumbers) {
  NvptxCode code(nvptx_kernel(2), R"(
@first = internal addrspace(3) global [16 x i32] undef, align 16
@tile = internal addrspace(3) global [32 x i32] undef, align 16
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.wait.all()
declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare i1 @llvm.nvvm.isspacep.global(ptr)
declare i1 @llvm.nvvm.isspacep.local(ptr)
define ptx_kernel void @k(ptr %in, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %x = zext i32 %t to i64
  store i32 0, ptr addrspace(3) @first
  %p = getelementptr i32, ptr %in, i64 %x
  %s = getelementptr [32 x i32], ptr addrspace(3) @tile, i64 0, i64 %x
  %number = ptrtoint ptr addrspace(3) %s to i64
  %low = trunc i64 %number to i32
  %even = and i32 %t, 1
  %is = icmp eq i32 %even, 0
  br i1 %is, label %text, label %intrinsic
text:
  call void asm sideeffect "cp.async.ca.shared.global [$0], [$1], 4;", "r,l,~{memory}"(i32 %low, ptr %p)
  br label %wait
intrinsic:
  %g = addrspacecast ptr %p to ptr addrspace(1)
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g)
  br label %wait
wait:
  call void asm sideeffect "cp.async.commit_group;\0Acp.async.wait_group $0;", "n,~{memory}"(i32 0)
  call void @llvm.nvvm.cp.async.wait.all()
  call void @llvm.nvvm.barrier0()
  %o = xor i32 %low, 4
  %v = call i32 asm sideeffect "ld.shared.u32 $0, [$1+0];", "=r,r"(i32 %o)
  %generic = addrspacecast ptr addrspace(3) %s to ptr
  %local = alloca i32
  store i32 %v, ptr %local
  %i1 = call i1 @llvm.nvvm.isspacep.shared(ptr %generic)
  %i2 = call i1 @llvm.nvvm.isspacep.shared(ptr %in)
  %i3 = call i1 @llvm.nvvm.isspacep.global(ptr %in)
  %i4 = call i1 @llvm.nvvm.isspacep.local(ptr %local)
  %b1 = select i1 %i1, i32 256, i32 0
  %b2 = select i1 %i2, i32 512, i32 0
  %b3 = select i1 %i3, i32 1024, i32 0
  %b4 = select i1 %i4, i32 2048, i32 0
  %c1 = or i32 %b1, %b2
  %c2 = or i32 %b3, %b4
  %c3 = or i32 %c1, %c2
  %w = load i32, ptr %local
  %r = add i32 %w, %c3
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %r, ptr %q
  ret void
}
)",
                 GetParam());
  std::vector<uint32_t> in(32), out(32);
  for (uint32_t i = 0; i < 32; ++i) in[i] = i;
  void* arguments[] = {in.data(), out.data()};
  code.run(arguments, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], (i ^ 1) + 256 + 1024 + 2048) << i;
}

TEST(NvptxRefusals, NameWhatIsNotThere) {
  auto expect = [](const std::string& body, const std::string& declarations, const std::string& named) {
    std::string said = nvptx_refusal(body, declarations);
    EXPECT_NE(said.find(named + ", which the host device does not have"), std::string::npos) << said;
  };
  expect("%r = call double @llvm.nvvm.ex2.approx.d(double 1.0)", "declare double @llvm.nvvm.ex2.approx.d(double)",
         "llvm.nvvm.ex2.approx.d");
  expect("%r = call i32 @cudaDeviceSynchronize()", "declare i32 @cudaDeviceSynchronize()", "cudaDeviceSynchronize");
  expect("%r = call float @__nv_no_such_f(float 1.0)", "declare float @__nv_no_such_f(float)", "__nv_no_such_f");
  for (const char* text :
       {"wgmma.fence.sync.aligned;", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a}, 0, 0, p, 1, 1, 0, 0;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [0], [0, {0, 0}], [0];",
        "barrier.cluster.arrive.strange;", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32;",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {a}, {0}, {0}, {0};", "add.s32.strange %r1, %r2, 3;",
        "L: bra M;", "L: L: bra L;", "bra L;", "mov.u32 a, %no_such_register;", "vadd.s32.s32.s32 a, 1;",
        "add.s32 a, b, 1;", ".reg .b32 <4>;"}) {
    std::string said = nvptx_refusal(std::string("call void asm sideeffect \"") + text + "\", \"\"()");
    EXPECT_NE(said.find(std::string("inline assembly ('") + text + "')"), std::string::npos) << text << ": " << said;
  }
}

TEST(NvptxRefusals, OtherTriplesAndWaves) {
  bundle::KernelInfo kernel = nvptx_kernel(0);
  kernel.wave_size = 64;
  EXPECT_THROW(NvptxCode(kernel, "define ptx_kernel void @k() { ret void }"), Error);
  bundle::Configuration configuration;
  configuration.target = default_target();
  EXPECT_THROW(compile(nvptx_kernel(0), "target triple = \"spirv64-unknown-unknown\"\ndefine void @k() { ret void }",
                       configuration),
               Error);
}

}  // namespace
}  // namespace mneme::codegen::host
