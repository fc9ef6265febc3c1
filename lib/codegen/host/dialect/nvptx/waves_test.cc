// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warps of CUDA's kernels: what each thread is bound to see, by the PTX ISA's own descriptions.
#include <bit>
#include <functional>
#include <map>

#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

using Values = std::vector<uint32_t>;

constexpr char kDeclarations[] = R"(
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32, i32, i32, i32)
declare { i32, i1 } @llvm.nvvm.shfl.sync.up.i32p(i32, i32, i32, i32)
declare { i32, i1 } @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)
declare { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.down.i32(i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.uni.sync(i32, i1)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
declare i32 @llvm.nvvm.match.any.sync.i64(i32, i64)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32, i32)
declare i32 @llvm.nvvm.activemask()
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare i32 @llvm.nvvm.redux.sync.max(i32, i32)
declare i32 @llvm.nvvm.redux.sync.xor(i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.barrier.sync(i32)
declare void @llvm.nvvm.barrier.sync.cnt(i32, i32)
declare i32 @llvm.nvvm.barrier0.popc(i32)
declare i32 @llvm.nvvm.barrier0.and(i32)
declare i32 @llvm.nvvm.barrier0.or(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.ge()
declare i32 @llvm.nvvm.read.ptx.sreg.warpid()
declare i32 @llvm.nvvm.read.ptx.sreg.nwarpid()
)";

constexpr char kHead[] = R"(
define ptx_kernel void @k(ptr %in, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %x = zext i32 %t to i64
  %p = getelementptr i32, ptr %in, i64 %x
  %q = getelementptr i32, ptr %out, i64 %x
  %n = load i32, ptr %p
)";
constexpr char kTail[] = R"(
  br label %done
done:
  store i32 %r, ptr %q
  ret void
})";

class NvptxWaves : public testing::TestWithParam<const char*> {
 protected:
  static Values run(const std::string& body, Values in, const std::string& more = "") {
    NvptxCode code(nvptx_kernel(2), std::string(kDeclarations) + more + kHead + body + kTail, GetParam());
    Values out(in.size(), 0xdead);
    void* arguments[] = {in.data(), out.data()};
    code.run(arguments, static_cast<uint32_t>(in.size()));
    return out;
  }
  static Values numbers(uint32_t threads) {
    Values in(threads);
    for (uint32_t i = 0; i < threads; ++i) in[i] = i * 2654435761u >> 27;
    return in;
  }
  // Of the warp of thread t, a bit for each lane that `holds`.
  static uint32_t lanes(uint32_t t, size_t threads, const std::function<bool(uint32_t)>& holds) {
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t i = t / 32 * 32 + lane;
      if (i < threads && holds(i)) mask |= 1u << lane;
    }
    return mask;
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, NvptxWaves, testing::Values("default<O0>", "default<O3>"));

// The pseudocode of shfl.sync in the PTX ISA.
struct Shuffled {
  uint32_t lane;
  bool exists;
};
Shuffled shuffled(const std::string& mode, uint32_t lane, uint32_t b, uint32_t c) {
  int bval = static_cast<int>(b & 0x1f), cval = static_cast<int>(c & 0x1f), mask = static_cast<int>(c >> 8 & 0x1f);
  int self = static_cast<int>(lane), max_lane = (self & mask) | (cval & ~mask), min_lane = self & mask, j = 0;
  bool exists = false;
  if (mode == "up") {
    j = self - bval;
    exists = j >= max_lane;
  } else if (mode == "down") {
    j = self + bval;
    exists = j <= max_lane;
  } else if (mode == "bfly") {
    j = self ^ bval;
    exists = j <= max_lane;
  } else {
    j = min_lane | (bval & ~mask);
    exists = j <= max_lane;
  }
  return {static_cast<uint32_t>(exists ? j : self), exists};
}

// The third operand comes with the lane to take from, in one word.
TEST_P(NvptxWaves, ShufflesFollowThePseudocode) {
  std::string body = "  %from = and i32 %n, 31\n  %c = lshr i32 %n, 8\n  %r0 = add i32 0, 0\n";
  std::string before = "%r0";
  const char* modes[] = {"idx", "up", "down", "bfly"};
  // Each gives a byte: the lane that was read, and whether there was one.
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i), result = i == 3 ? "%r" : "%s" + n;
    body += "  %b" + n + " = call { i32, i1 } @llvm.nvvm.shfl.sync." + modes[i] +
            ".i32p(i32 -1, i32 %lane, i32 %from, i32 %c)\n  %v" + n + " = extractvalue { i32, i1 } %b" + n +
            ", 0\n  %e" + n + " = extractvalue { i32, i1 } %b" + n + ", 1\n  %w" + n + " = select i1 %e" + n +
            ", i32 128, i32 0\n  %o" + n + " = or i32 %v" + n + ", %w" + n + "\n  %h" + n + " = shl i32 %o" + n + ", " +
            std::to_string(8 * i) + "\n  " + result + " = or i32 " + before + ", %h" + n + "\n";
    before = result;
  }
  NvptxCode code(nvptx_kernel(2), std::string(kDeclarations) + kHead + body + kTail, GetParam());
  for (uint32_t c : {0u, 0x1fu, 0x181fu, 0x1800u, 0x1007u, 0x1c03u, 0x1f00u}) {
    Values in = numbers(64), out(64);
    for (uint32_t& value : in) value |= c << 8;
    void* arguments[] = {in.data(), out.data()};
    code.run(arguments, 64);
    for (uint32_t t = 0; t < 64; ++t) {
      uint32_t wanted = 0;
      for (int i = 0; i < 4; ++i) {
        Shuffled from = shuffled(modes[i], t % 32, in[t] & 31, c);
        wanted |= (from.lane | (from.exists ? 128u : 0)) << 8 * i;
      }
      EXPECT_EQ(out[t], wanted) << c << " " << t;
    }
  }
}

TEST_P(NvptxWaves, ShufflesOfFloatsAndWithoutMask) {
  Values in = numbers(40);
  Values out = run(R"(
  %f = bitcast i32 %n to float
  %g = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %f, i32 1, i32 31)
  %h = bitcast float %g to i32
  %o = call i32 @llvm.nvvm.shfl.down.i32(i32 %t, i32 2, i32 31)
  %s = shl i32 %o, 8
  %r = add i32 %s, %h)",
                   in);
  for (uint32_t t = 0; t < 40; ++t) {
    uint32_t below = t % 32 + 2 < 32 && t + 2 < 40 ? t + 2 : t;  // a lane that does not exist: one's own
    EXPECT_EQ(out[t], below << 8 | in[t ^ 1]) << t;
  }
}

TEST_P(NvptxWaves, VotesInABranchAreOfItsLanes) {
  Values in = numbers(100);
  Values out = run(R"(
  %few = icmp ult i32 %n, 12
  br i1 %few, label %a, label %b
a:
  %m = call i32 @llvm.nvvm.activemask()
  %odd = trunc i32 %n to i1
  %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 %odd)
  %any = call i1 @llvm.nvvm.vote.any.sync(i32 %m, i1 %odd)
  %all = call i1 @llvm.nvvm.vote.all.sync(i32 %m, i1 %odd)
  %anyw = zext i1 %any to i32
  %allw = select i1 %all, i32 2, i32 0
  %y = xor i32 %v, %anyw
  %z = xor i32 %y, %allw
  br label %b
b:
  %r = phi i32 [ %z, %a ], [ 7, %0 ])",
                   in);
  for (uint32_t t = 0; t < 100; ++t) {
    if (in[t] >= 12) {
      EXPECT_EQ(out[t], 7u);
      continue;
    }
    uint32_t here = lanes(t, 100, [&](uint32_t i) { return in[i] < 12; });
    uint32_t odd = lanes(t, 100, [&](uint32_t i) { return in[i] < 12 && in[i] % 2; });
    EXPECT_EQ(out[t], odd ^ (odd ? 1u : 0u) ^ (odd == here ? 2u : 0u)) << t;
  }
}

// Each thread's mask is of the threads with its own value: several masks at one instruction.
TEST_P(NvptxWaves, MatchAndReduceByGroups) {
  std::string body = R"(
  %m = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %n)
  %w = zext i32 %n to i64
  %w2 = shl i64 %w, 40
  %m2 = call i32 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 %w2)
  %same = icmp eq i32 %m, %m2
  %s = call i32 @llvm.nvvm.redux.sync.add(i32 %t, i32 %m)
  %i = call i32 @llvm.nvvm.redux.sync.umin(i32 %t, i32 %m)
  %a = call i32 @llvm.nvvm.redux.sync.max(i32 %t, i32 %m)
  %x1 = call i32 @llvm.nvvm.redux.sync.xor(i32 %t, i32 %m)
  %u1 = mul i32 %s, 3
  %u2 = mul i32 %i, 5
  %u3 = mul i32 %a, 7
  %v1 = add i32 %u1, %u2
  %v2 = add i32 %u3, %x1
  %v3 = add i32 %v1, %v2
  %v4 = xor i32 %v3, %m
  %r = select i1 %same, i32 %v4, i32 0)";
  NvptxCode code(nvptx_kernel(2), std::string(kDeclarations) + kHead + body + kTail, GetParam());
  for (uint32_t threads : {1u, 32u, 77u}) {
    Values in = numbers(threads), out(threads);
    for (uint32_t& value : in) value %= 5;
    void* arguments[] = {in.data(), out.data()};
    code.run(arguments, threads);
    for (uint32_t t = 0; t < threads; ++t) {
      uint32_t mask = lanes(t, threads, [&](uint32_t i) { return in[i] == in[t]; });
      uint32_t sum = 0, least = UINT32_MAX, most = 0, exclusive = 0;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(mask >> lane & 1)) continue;
        uint32_t i = t / 32 * 32 + lane;
        sum += i;
        least = std::min(least, i);
        most = std::max(most, i);
        exclusive ^= i;
      }
      EXPECT_EQ(out[t], (sum * 3 + least * 5 + most * 7 + exclusive) ^ mask) << t << " of " << threads;
    }
  }
}

TEST_P(NvptxWaves, MatchAllTellsWhetherAllAreAlike) {
  Values in(64, 9);
  in[40] = 8;
  Values out = run(R"(
  %b = call { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32 -1, i32 %n)
  %v = extractvalue { i32, i1 } %b, 0
  %e = extractvalue { i32, i1 } %b, 1
  %w = zext i1 %e to i32
  %uni = call i1 @llvm.nvvm.vote.uni.sync(i32 -1, i1 %e)
  %y = select i1 %uni, i32 %w, i32 5
  %r = xor i32 %v, %y)",
                   in);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], t < 32 ? 0xfffffffeu : 0u) << t;
}

TEST_P(NvptxWaves, RegistersOfLanesAndWarps) {
  Values out = run(R"(
  %lt = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  %ge = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.ge()
  %both = xor i32 %lt, %ge
  %w = call i32 @llvm.nvvm.read.ptx.sreg.warpid()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.nwarpid()
  %w1 = shl i32 %w, 8
  %c1 = shl i32 %c, 16
  %low = and i32 %lt, 255
  %s = add i32 %w1, %c1
  %u = add i32 %s, %low
  %all = icmp eq i32 %both, -1
  %r = select i1 %all, i32 %u, i32 0)",
                   numbers(70));
  for (uint32_t t = 0; t < 70; ++t) {
    uint32_t below = t % 32 ? ~0u >> (32 - t % 32) : 0;
    EXPECT_EQ(out[t], (t / 32) << 8 | 3u << 16 | (below & 255)) << t;
  }
}

TEST_P(NvptxWaves, BarriersAndTheirVotes) {
  Values in = numbers(96);
  Values out = run(R"(
  %s = getelementptr [96 x i32], ptr addrspace(3) @tile, i64 0, i64 %x
  store i32 %n, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier0()
  %m = sub i64 95, %x
  %o = getelementptr [96 x i32], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 0, i64 %m
  %v = load i32, ptr %o
  call void @llvm.nvvm.barrier.sync(i32 3)
  %odd = and i32 %n, 1
  %c = call i32 @llvm.nvvm.barrier0.popc(i32 %odd)
  %a = call i32 @llvm.nvvm.barrier0.and(i32 %n)
  %any = call i32 @llvm.nvvm.barrier0.or(i32 %odd)
  %c1 = shl i32 %c, 8
  %a1 = shl i32 %a, 20
  %b1 = shl i32 %any, 24
  %r1 = add i32 %v, %c1
  %r2 = add i32 %a1, %b1
  %r = add i32 %r1, %r2)",
                   in, "@tile = internal addrspace(3) global [96 x i32] undef, align 4\n");
  uint32_t odd = 0, all = 1;
  for (uint32_t value : in) {
    odd += value & 1;
    all &= value != 0;
  }
  for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(out[t], in[95 - t] + (odd << 8) + (all << 20) + (1u << 24)) << t;
}

// One warp produces, the other consumes, each at two barriers of 64 threads, while a third has nothing to do with them.
TEST_P(NvptxWaves, NamedBarriersAreOfThoseWhoCome) {
  Values in = numbers(96);
  Values out = run(R"(
  %w = lshr i32 %t, 5
  %l = zext i32 %lane to i64
  %s = getelementptr [32 x i32], ptr addrspace(3) @tile, i64 0, i64 %l
  switch i32 %w, label %idle [ i32 0, label %produce
                               i32 1, label %consume ]
produce:
  store i32 %n, ptr addrspace(3) %s
  call void asm sideeffect "bar.arrive 1, 64;", "~{memory}"()
  call void asm sideeffect "bar.sync 2, 64;", "~{memory}"()
  %back = load i32, ptr addrspace(3) %s
  br label %join
consume:
  call void @llvm.nvvm.barrier.sync.cnt(i32 1, i32 64)
  %m = sub i64 31, %l
  %o = getelementptr [32 x i32], ptr addrspace(3) @tile, i64 0, i64 %m
  %v = load i32, ptr addrspace(3) %o
  call void asm sideeffect "bar.warp.sync $0;", "r,~{memory}"(i32 -1)
  store i32 77, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier.sync.cnt(i32 2, i32 64)
  br label %join
idle:
  br label %join
join:
  %r = phi i32 [ %back, %produce ], [ %v, %consume ], [ 5, %idle ])",
                   in, "@tile = internal addrspace(3) global [32 x i32] undef, align 4\n");
  for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(out[t], t < 32 ? 77 : t < 64 ? in[63 - t] : 5u) << t;
}

// As CUB writes its scans: a predicated sum of what another lane has.
TEST_P(NvptxWaves, AssemblyWithAPredicate) {
  Values in = numbers(64);
  Values out = run(R"(
  %r = call i32 asm sideeffect "{\0A  .reg .s32 r0;\0A  .reg .pred p;\0A  shfl.sync.up.b32 r0|p, $1, $2, $3, $4;\0A  @p add.s32 r0, r0, $5;\0A  mov.s32 $0, r0;\0A}", "=r,r,r,r,r,r"(i32 %n, i32 1, i32 0, i32 -1, i32 %n))",
                   in);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], in[t] + (t % 32 ? in[t - 1] : 0)) << t;
}

}  // namespace
}  // namespace mneme::codegen::host
