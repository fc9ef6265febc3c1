// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives in the loop form: kernels written with neutral operations, run, against what each
// thread is bound to see.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <vector>

#include "base/error.h"
#include "codegen/host/host.h"
#include "codegen/host/neutral/test_block.h"

namespace mneme::codegen::host {
namespace {

// Bodies of `k(ptr in, ptr out)`: %t is the thread, %lane its lane, %n what `in` holds for it; they end at `done` with
// %r for `out`.
constexpr char kHead[] = R"(
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @mneme.local.id.x() memory(none) nounwind willreturn speculatable
declare i32 @mneme.local.size.x() memory(none) nounwind willreturn speculatable
declare i64 @llvm.ctpop.i64(i64)
declare void @mneme.barrier() convergent nounwind
declare i32 @mneme.barrier.count(i1) convergent nounwind
declare void @mneme.barrier.grid() convergent nounwind
declare void @mneme.wave.sync() convergent nounwind
declare i64 @mneme.wave.ballot(i1) convergent nounwind
declare i32 @mneme.wave.permute.i32(i32, i32, i32) convergent nounwind
declare i64 @mneme.wave.permute.i64(i64, i64, i32) convergent nounwind
declare i32 @mneme.wave.first.i32(i32) convergent nounwind
define internal i32 @here(i1 %say) alwaysinline convergent {
  %b = call i64 @mneme.wave.ballot(i1 %say) convergent
  %c = call i64 @llvm.ctpop.i64(i64 %b)
  %d = trunc i64 %c to i32
  ret i32 %d
}
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @mneme.local.id.x()
  %x = zext i32 %t to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %x
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  %n = load i32, ptr addrspace(1) %p
)";
constexpr char kTail[] = R"(
done:
  store i32 %r, ptr addrspace(1) %q
  br label %end
end:
  ret void
})";

using Values = std::vector<int>;

struct Calls {
  int diverged = 0, grid = 0, yields = 0;
  std::vector<uint32_t> places;
};
Calls& calls() {
  static Calls made;
  return made;
}

class WaveTest : public testing::TestWithParam<std::tuple<const char*, uint32_t>> {
 protected:
  uint32_t wave() const { return std::get<1>(GetParam()); }

  // Runs a kernel for some numbers of threads, and expects of each thread what `expected(thread, in)` says; -1: that it
  // writes nothing.
  void expect(const std::string& body, const std::function<int(int, const Values&)>& expected) {
    bundle::KernelInfo kernel;
    kernel.name = kernel.demangled = "k";
    kernel.wave_size = wave();
    kernel.argument_bytes = 16;
    for (unsigned i = 0; i < 2; ++i) kernel.arguments.push_back({i * 8, 8, "pointer", "ptr", {}});
    bundle::Configuration configuration;
    configuration.target = default_target();
    configuration.passes = std::get<0>(GetParam());
    configuration.form = "loop";
    std::string text = kHead;
    text += "  %lane = and i32 %t, " + std::to_string(wave() - 1) + "\n  br label %start\nstart:\n" + body + kTail;
    Result result = compile(kernel, text, configuration);
    LoadedCode code(result.code);
    CodeObject* object = code.object;
    for (uint32_t threads : {1, 31, 40, 64, 100, 256}) {
      for (int kind = 0; kind < 4; ++kind) {
        Values in(threads), out(threads, -1), wanted(threads);
        for (uint32_t i = 0; i < threads; ++i) {
          in[i] = static_cast<int>(kind == 0   ? 3
                                   : kind == 1 ? i % 5
                                   : kind == 2 ? (i * 2654435761u) >> 28
                                               : i / 32 % 3);
        }
        for (uint32_t i = 0; i < threads; ++i) wanted[i] = expected(static_cast<int>(i), in);
        run(*object, in, out);
        EXPECT_EQ(out, wanted) << threads << " threads, kind " << kind;
      }
    }
  }

  // How many of the wave's threads something holds for.
  int count(int thread, const Values& in, const std::function<bool(int)>& holds) const {
    int sum = 0, size = static_cast<int>(wave());
    for (int i = thread / size * size; i < (thread / size + 1) * size && i < static_cast<int>(in.size()); ++i) {
      sum += holds(i);
    }
    return sum;
  }

 private:
  static void run(const CodeObject& object, Values& in, Values& out) {
    Services services = {};
    services.converge_grid = [](BlockContext*, uint32_t) { ++calls().grid; };
    services.yield = [](BlockContext*, uint32_t, uint32_t) { ++calls().yields; };
    services.diverged = [](BlockContext*, uint32_t, const uint32_t* places, uint32_t count) {
      ++calls().diverged;
      calls().places.assign(places, places + count);
    };
    void* arguments[] = {in.data(), out.data()};
    TestBlock block(object, arguments, {.threads = static_cast<uint32_t>(in.size())});
    EXPECT_EQ(block.run(services).fault, kNoFault);
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, WaveTest,
                         testing::Combine(testing::Values("default<O0>", "default<O3>"), testing::Values(32u, 64u)));

TEST_P(WaveTest, PermutesTakeFromLanesThatAreThere) {
  std::string last = std::to_string(wave() - 1);
  expect(R"(
  %next = add i32 %lane, 1
  %from = and i32 %next, )" +
             last + R"(
  %v = mul i32 %t, 3
  %a = call i32 @mneme.wave.permute.i32(i32 %v, i32 -7, i32 %from) convergent
  %w = sext i32 %a to i64
  %b = call i64 @mneme.wave.permute.i64(i64 %w, i64 %w, i32 %lane) convergent
  %r = trunc i64 %b to i32
  br label %done)",
         [&](int t, const Values& in) {
           int size = static_cast<int>(wave());
           int from = t / size * size + (t + 1) % size;
           return from < static_cast<int>(in.size()) ? 3 * from : -7;
         });
}

TEST_P(WaveTest, BallotsAndFirstAreOfTheLanesInABranch) {
  expect(R"(
  %c = icmp ult i32 %n, 3
  br i1 %c, label %few, label %many
few:
  %f = call i32 @mneme.wave.first.i32(i32 %t) convergent
  %g = call i32 @here(i1 true)
  %h = mul i32 %g, 1000
  %i = add i32 %h, %f
  br label %join
many:
  %odd = trunc i32 %n to i1
  %o = call i32 @here(i1 %odd)
  br label %join
join:
  %s = phi i32 [ %i, %few ], [ %o, %many ]
  %all = call i32 @here(i1 true)
  %u = mul i32 %all, 1000000
  %r = add i32 %s, %u
  br label %done)",
         [&](int t, const Values& in) {
           int all = count(t, in, [](int) { return true; });
           if (in[t] >= 3) return all * 1000000 + count(t, in, [&](int i) { return in[i] >= 3 && in[i] % 2; });
           int first = t / static_cast<int>(wave()) * static_cast<int>(wave());
           while (in[first] >= 3) ++first;
           return all * 1000000 + count(t, in, [&](int i) { return in[i] < 3; }) * 1000 + first;
         });
}

TEST_P(WaveTest, LoopsOfDifferentLengths) {
  expect(R"(
  br label %head
head:
  %i = phi i32 [ 0, %start ], [ %j, %body ]
  %s = phi i32 [ 0, %start ], [ %u, %body ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %body, label %behind
body:
  %c = call i32 @here(i1 true)
  %j = add i32 %i, 1
  %m = mul i32 %c, %j
  %u = add i32 %s, %m
  br label %head
behind:
  %all = call i32 @here(i1 true)
  %w = mul i32 %all, 100000
  %r = add i32 %s, %w
  br label %done)",
         [&](int t, const Values& in) {
           int sum = 100000 * count(t, in, [](int) { return true; });
           for (int i = 0; i < in[t]; ++i) sum += (i + 1) * count(t, in, [&](int o) { return in[o] > i; });
           return sum;
         });
}

// Lanes that pass a place by do not run ahead of those that stop there.
TEST_P(WaveTest, LoopsInWhichSomeContinue) {
  expect(R"(
  br label %head
head:
  %i = phi i32 [ 0, %start ], [ %j, %body ], [ %j, %ask ]
  %s = phi i32 [ 0, %start ], [ %s, %body ], [ %u, %ask ]
  %more = icmp ult i32 %i, 6
  br i1 %more, label %body, label %behind
body:
  %j = add i32 %i, 1
  %shifted = lshr i32 %n, %i
  %skip = trunc i32 %shifted to i1
  br i1 %skip, label %head, label %ask
ask:
  %c = call i32 @here(i1 true)
  %m = mul i32 %c, %j
  %u = add i32 %s, %m
  br label %head
behind:
  %r = add i32 %s, 0
  br label %done)",
         [&](int t, const Values& in) {
           int sum = 0;
           for (int i = 0; i < 6; ++i) {
             if (!(in[t] >> i & 1)) sum += (i + 1) * count(t, in, [&](int o) { return !(in[o] >> i & 1); });
           }
           return sum;
         });
}

// Round the outer loop as often as n says, round the inner one as often as n and the outer one's iteration say; some
// break out of the inner one on the way.
TEST_P(WaveTest, NestedLoopsWithBreaks) {
  expect(R"(
  br label %outer
outer:
  %o = phi i32 [ 0, %start ], [ %o1, %next ]
  %s = phi i32 [ 0, %start ], [ %s1, %next ]
  %goon = icmp ult i32 %o, %n
  br i1 %goon, label %inner, label %behind
inner:
  %i = phi i32 [ 0, %outer ], [ %i1, %latch ]
  %v = phi i32 [ %s, %outer ], [ %v1, %latch ]
  %odd = and i32 %i, 1
  %isodd = icmp eq i32 %odd, 1
  br i1 %isodd, label %ask, label %rest
ask:
  %c = call i32 @here(i1 true)
  %c3 = mul i32 %c, 3
  br label %rest
rest:
  %w = phi i32 [ 0, %inner ], [ %c3, %ask ]
  %v0 = add i32 %v, %w
  %sum = add i32 %n, %o
  %last = icmp eq i32 %i, %sum
  br i1 %last, label %next, label %latch
latch:
  %d = call i32 @here(i1 true)
  %v1 = add i32 %v0, %d
  %i1 = add i32 %i, 1
  br label %inner
next:
  %o1 = add i32 %o, 1
  %s2 = mul i32 %v0, 3
  %s1 = and i32 %s2, 65535
  br label %outer
behind:
  %r = add i32 %s, 0
  br label %done)",
         [&](int t, const Values& in) {
           int sum = 0;
           for (int o = 0; o < in[t]; ++o) {
             for (int i = 0;; ++i) {
               auto at = [&](int other) { return in[other] > o && in[other] + o >= i; };
               if (i & 1) sum += 3 * count(t, in, at);
               if (i == in[t] + o) break;
               sum += count(t, in, [&](int other) { return in[other] > o && in[other] + o > i; });
             }
             sum = sum * 3 & 65535;
           }
           return sum;
         });
}

// What one wave does by itself between two barriers is seen by all, which are together again.
TEST_P(WaveTest, OneWaveBetweenBarriers) {
  std::string size = std::to_string(wave());
  calls() = {};
  expect(R"(
  %c0 = call i32 @mneme.barrier.count(i1 true) convergent
  %isfirst = icmp ult i32 %t, )" +
             size + R"(
  br i1 %isfirst, label %reduce, label %join
reduce:
  %x1 = xor i32 %lane, 1
  %a1 = call i32 @mneme.wave.permute.i32(i32 %n, i32 100, i32 %x1) convergent
  %s1 = add i32 %n, %a1
  %f = call i32 @mneme.wave.first.i32(i32 %s1) convergent
  store i32 %f, ptr addrspace(1) %q
  br label %join
join:
  call void @mneme.barrier() convergent
  %v = load i32, ptr addrspace(1) %out
  %odd = trunc i32 %n to i1
  %c = call i32 @mneme.barrier.count(i1 %odd) convergent
  %c1 = mul i32 %c, 1000
  %c2 = mul i32 %c0, 1000000
  %r1 = add i32 %v, %c1
  %r = add i32 %r1, %c2
  call void @mneme.barrier() convergent
  br label %done)",
         [&](int, const Values& in) {
           int odd = 0;
           for (int n : in) odd += n & 1;
           return in[0] + (in.size() > 1 ? in[1] : 100) + 1000 * odd + 1000000 * static_cast<int>(in.size());
         });
  EXPECT_EQ(calls().diverged, 0);
}

TEST_P(WaveTest, LanesThatEndedAreMissedNowhere) {
  calls() = {};
  expect(R"(
  %few = icmp ult i32 %n, 2
  br i1 %few, label %end, label %stay
stay:
  %odd = trunc i32 %t to i1
  %c = call i32 @mneme.barrier.count(i1 %odd) convergent
  %h = call i32 @here(i1 true)
  call void @mneme.barrier() convergent
  %c1 = mul i32 %c, 1000
  %r = add i32 %c1, %h
  br label %done)",
         [&](int t, const Values& in) {
           if (in[t] < 2) return -1;
           int odd = 0;
           for (size_t i = 0; i < in.size(); ++i) odd += in[i] >= 2 && i % 2;
           return odd * 1000 + count(t, in, [&](int i) { return in[i] >= 2; });
         });
  EXPECT_GT(calls().diverged, 0);
  EXPECT_EQ(calls().places.size(), 256u);
  EXPECT_EQ(calls().places[0], kEndedPoint);
  EXPECT_NE(calls().places[64], kEndedPoint);
}

// The parts of a block that wait at different barriers go on together, as they do on a GPU.
TEST_P(WaveTest, DifferentBarriersAreReportedAndReleased) {
  calls() = {};
  expect(R"(
  %few = icmp ult i32 %n, 2
  br i1 %few, label %one, label %other
one:
  call void @mneme.barrier() convergent
  br label %join
other:
  call void @mneme.barrier() convergent
  br label %join
join:
  %r = phi i32 [ 5, %one ], [ 6, %other ]
  br label %done)",
         [&](int t, const Values& in) { return in[t] < 2 ? 5 : 6; });
  EXPECT_GT(calls().diverged, 0);
}

TEST_P(WaveTest, ABlockMeetsTheGridOnce) {
  calls() = {};
  expect(R"(
  call void @mneme.barrier.grid() convergent
  %few = icmp ult i32 %n, 1
  br i1 %few, label %end, label %more
more:
  call void @mneme.barrier.grid() convergent
  %r = call i32 @here(i1 true)
  br label %done)",
         [&](int t, const Values& in) { return in[t] < 1 ? -1 : count(t, in, [&](int i) { return in[i] >= 1; }); });
  EXPECT_GE(calls().grid, 6 * 4);
  EXPECT_LE(calls().grid, 6 * 4 * 2);
}

// A loop entered at two blocks.
TEST_P(WaveTest, IrreducibleLoops) {
  expect(R"(
  %c = trunc i32 %n to i1
  br i1 %c, label %left, label %right
left:
  %i = phi i32 [ 0, %start ], [ %k, %right ]
  %s = phi i32 [ 0, %start ], [ %v, %right ]
  %x1 = add i32 %s, 1
  br label %right
right:
  %j = phi i32 [ 0, %start ], [ %i, %left ]
  %u = phi i32 [ 0, %start ], [ %x1, %left ]
  %a = call i64 @mneme.wave.ballot(i1 true) convergent
  %some = icmp ne i64 %a, 0
  %one = zext i1 %some to i32
  %v = add i32 %u, %one
  %k = add i32 %j, 1
  %go = icmp ult i32 %k, 4
  br i1 %go, label %left, label %behind
behind:
  %r = add i32 %v, 0
  br label %done)",
         [&](int t, const Values& in) { return in[t] & 1 ? 8 : 7; });
}

// Each thread spins until the next one is done.
TEST_P(WaveTest, ThreadsThatSpinLetOthersOfTheirWaveGoOn) {
  calls() = {};
  expect(R"(
  %size = call i32 @mneme.local.size.x()
  %next = add i32 %t, 1
  %last = icmp eq i32 %next, %size
  %np = getelementptr i32, ptr addrspace(1) %q, i64 1
  br i1 %last, label %set, label %spin
spin:
  %v = load volatile i32, ptr addrspace(1) %np
  %unset = icmp eq i32 %v, -1
  br i1 %unset, label %spin, label %set
set:
  %before = phi i32 [ 0, %start ], [ %v, %spin ]
  %r = add i32 %before, 1
  br label %done)",
         [](int t, const Values& in) { return static_cast<int>(in.size()) - t; });
  EXPECT_GT(calls().yields, 0);
}

// Some lanes of each wave spin until the next wave is done. The others wait for them where the wave meets.
TEST_P(WaveTest, LanesThatSpinAreWaitedForByTheirWave) {
  std::string last = std::to_string(wave() - 1);
  expect(R"(
  %size = call i32 @mneme.local.size.x()
  %most = or i32 %t, )" +
             last +
             R"(
  %next = add i32 %most, 1
  %behind = icmp ult i32 %next, %size
  %some = icmp ugt i32 %n, 1
  %waits = and i1 %behind, %some
  %y = zext i32 %next to i64
  %np = getelementptr i32, ptr addrspace(1) %out, i64 %y
  br i1 %waits, label %spin, label %go
spin:
  %v = load volatile i32, ptr addrspace(1) %np
  %unset = icmp eq i32 %v, -1
  br i1 %unset, label %spin, label %go
go:
  %r = call i32 @here(i1 true)
  br label %done)",
         [&](int t, const Values& in) { return count(t, in, [](int) { return true; }); });
}

TEST(Waves, OfOtherSizesAreRefused) {
  bundle::KernelInfo kernel;
  kernel.name = kernel.demangled = "k";
  kernel.wave_size = 16;
  kernel.argument_bytes = 16;
  for (unsigned i = 0; i < 2; ++i) kernel.arguments.push_back({i * 8, 8, "pointer", "ptr", {}});
  bundle::Configuration configuration;
  configuration.target = default_target();
  configuration.passes = "default<O1>";
  configuration.form = "loop";
  std::string text =
      std::string(kHead) + "  br label %start\nstart:\n  %r = call i32 @here(i1 true)\n  br label %done" + kTail;
  try {
    compile(kernel, text, configuration);
    ADD_FAILURE() << "compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("waves of 16"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace mneme::codegen::host
