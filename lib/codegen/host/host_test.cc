// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels given as AMDGPU IR, compiled and run: what the host device makes of each construct.
#include "codegen/host/host.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "codegen/host/abi.h"

namespace mneme::codegen::host {
namespace {

constexpr char kHeader[] = R"(
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
)";

// A kernel named "k" that takes pointers and nothing else.
bundle::KernelInfo kernel_of_pointers(unsigned count, std::vector<std::string> globals = {}) {
  bundle::KernelInfo kernel;
  kernel.name = "k";
  kernel.demangled = "k(…)";
  kernel.argument_bytes = count * 8;
  for (unsigned i = 0; i < count; ++i) kernel.arguments.push_back({i * 8, 8, "pointer", "ptr", {}});
  for (std::string& name : globals) kernel.globals.push_back({std::move(name), 0, 1, false});
  return kernel;
}

bundle::Configuration configuration(const std::string& passes = "default<O3>", const std::string& form = "auto") {
  bundle::Configuration configuration;
  configuration.target = default_target();
  configuration.passes = passes;
  configuration.form = form;
  return configuration;
}

// Work-items as threads of the CPU that take turns, and meet at barriers.
class Threads {
 public:
  static constexpr Services services() {
    Services services{};
    services.run_items = [](BlockContext* context, uint32_t, ItemFunction item, uint32_t) {
      static_cast<Threads*>(context->launch)->run(*context, item);
    };
    services.meet = [](BlockContext* context, uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint32_t) {
      static_cast<Threads*>(context->launch)->meet();
      return uint64_t{0};
    };
    services.parted = [](BlockContext*, uint32_t, const uint32_t*, uint32_t) {};
    return services;
  }

 private:
  void run(BlockContext& context, ItemFunction item) {
    barrier_.emplace(context.block[0]);
    std::vector<std::jthread> threads;
    for (uint32_t x = 0; x < context.block[0]; ++x) {
      threads.emplace_back([this, &context, item, x] {
        turn_.lock();
        item(&context, x, 0, 0);
        turn_.unlock();
        barrier_->arrive_and_drop();
      });
    }
  }
  void meet() {
    turn_.unlock();
    barrier_->arrive_and_wait();
    turn_.lock();
  }

  std::mutex turn_;
  std::optional<std::barrier<>> barrier_;
};

// Compiled, loaded, and run one block at a time.
class Loaded {
 public:
  explicit Loaded(const Result& result) : form(result.form) {
    Fd file = memory_file("code", bytes_of(result.code));
    handle_ = ::dlopen(("/proc/self/fd/" + std::to_string(file.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw Error(::dlerror());
    object = static_cast<CodeObject*>(::dlsym(handle_, kEntrySymbol));
  }
  ~Loaded() { ::dlclose(handle_); }

  BlockContext run(std::vector<void*> arguments, uint32_t threads, uint32_t group = 0, size_t frames = 1 << 20) {
    std::vector<std::byte> room(frames);
    std::vector<uint64_t> shared(8192);
    uint32_t implicit[64] = {7, 1, 1};
    uint16_t dispatch[32] = {0, 0, static_cast<uint16_t>(threads)};
    BlockContext context{};
    context.arguments = arguments.data();
    context.implicit = implicit;
    context.dispatch = dispatch;
    context.shared = shared.data();
    context.frames = room.data();
    context.frames_size = frames;
    context.group[0] = group;
    context.block[0] = threads;
    context.block[1] = context.block[2] = 1;
    context.grid[0] = 7;
    context.grid[1] = context.grid[2] = 1;
    static constexpr Services kServices = Threads::services();
    Threads items;
    context.services = &kServices;
    context.launch = &items;
    object->run_block(&context);
    return context;
  }

  std::string form;
  CodeObject* object = nullptr;

 private:
  void* handle_ = nullptr;
};

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

// out[i] = in[threads - 1 - i] through shared memory, with a barrier between.
constexpr char kReverse[] = R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %x
  %v = load i32, ptr addrspace(1) %p
  %t = getelementptr i32, ptr addrspace(3) @tile, i32 %l
  store i32 %v, ptr addrspace(3) %t
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %r = sub i32 63, %l
  %u = getelementptr i32, ptr addrspace(3) @tile, i32 %r
  %w = load i32, ptr addrspace(3) %u
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %w, ptr addrspace(1) %q
  ret void
})";

class EveryLevel : public testing::TestWithParam<const char*> {};

TEST_P(EveryLevel, LoopOverWorkItems) {
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(1), std::string(kHeader) + kScale, configuration(GetParam(), form)));
    EXPECT_EQ(code.form, form);
    std::vector<int> out(128, -1);
    EXPECT_EQ(code.run({out.data()}, 40, 1).fault, kNoFault);
    for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], i >= 40 && i < 80 ? i * 3 : -1) << form << " " << i;
  }
}

TEST_P(EveryLevel, BarrierSeparatesWritesFromReads) {
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kReverse, configuration(GetParam(), form)));
    EXPECT_EQ(code.form, form);
    EXPECT_EQ(code.object->shared_static, 256u);
    std::vector<int> in(64), out(64);
    std::iota(in.begin(), in.end(), 100);
    EXPECT_EQ(code.run({in.data(), out.data()}, 64).fault, kNoFault);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 163 - i) << form;
  }
}

TEST(HostCompile, TellsWhenFramesDoNotFit) {
  Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kReverse, configuration("default<O3>", "loop")));
  std::vector<int> in(64), out(64);
  EXPECT_EQ(code.run({in.data(), out.data()}, 64, 0, 128).fault, kFramesExhausted);
}

// Each work-item meets as many barriers as its argument says, and some leave early: at every round those that
// are left see what the others wrote before.
constexpr char kRounds[] = R"(
@count = internal addrspace(3) global i32 undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %x
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  %n = load i32, ptr addrspace(1) %p
  %first = icmp eq i32 %l, 0
  br i1 %first, label %reset, label %ready
reset:
  store i32 0, ptr addrspace(3) @count
  br label %ready
ready:
  call void @llvm.amdgcn.s.barrier()
  %none = icmp eq i32 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i32 [ 0, %ready ], [ %next, %loop ]
  %sum = phi i32 [ 0, %ready ], [ %more, %loop ]
  %old = atomicrmw add ptr addrspace(3) @count, i32 1 syncscope("workgroup") monotonic
  call void @llvm.amdgcn.s.barrier()
  %seen = load i32, ptr addrspace(3) @count
  %more = add i32 %sum, %seen
  call void @llvm.amdgcn.s.barrier()
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  %result = phi i32 [ -1, %ready ], [ %more, %loop ]
  store i32 %result, ptr addrspace(1) %q
  ret void
})";

TEST_P(EveryLevel, WorkItemsThatEndedDoNotHoldUpABarrier) {
  for (bool alike : {true, false}) {
    std::vector<int> in(40), expected(40, -1);
    for (int i = 0; i < 40; ++i) in[i] = alike ? 3 : i % 5;
    for (int i = 0; i < 40; ++i) {
      if (in[i] > 0) expected[i] = 0;
      int count = 0;
      for (int round = 0; round < in[i]; ++round) {
        for (int n : in) count += n > round;
        expected[i] += count;
      }
    }
    for (const char* form : {"loop", "fiber"}) {
      Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kRounds, configuration(GetParam(), form)));
      std::vector<int> out(40);
      EXPECT_EQ(code.run({in.data(), out.data()}, 40).fault, kNoFault);
      EXPECT_EQ(out, expected) << form << (alike ? " alike" : " apart");
    }
  }
}

constexpr char kDeadBarrier[] = R"(
define internal i32 @sum(i32 %n) noinline {
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %end, label %more
more:
  %less = sub i32 %n, 1
  %rest = call i32 @sum(i32 %less)
  %all = add i32 %rest, %n
  br label %end
dead:
  call void @llvm.amdgcn.s.barrier()
  br label %end
end:
  %result = phi i32 [ 0, %0 ], [ %all, %more ], [ 0, %dead ]
  ret i32 %result
}
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  %s = call i32 @sum(i32 %l)
  store i32 %s, ptr addrspace(1) %q
  ret void
})";

TEST_P(EveryLevel, BarriersThatAreNeverReachedAreNone) {
  Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kDeadBarrier, configuration(GetParam(), "loop")));
  std::vector<int> in(5), out(5);
  EXPECT_EQ(code.run({in.data(), out.data()}, 5).fault, kNoFault);
  EXPECT_EQ(out, (std::vector<int>{0, 1, 3, 6, 10}));
}

// Guards at the end of the data: whatever the bound, just those below it write.
TEST_P(EveryLevel, BoundsCutABlockShort) {
  constexpr char kBounded[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %bound) {
  %n = ptrtoint ptr addrspace(1) %bound to i64
  %m = trunc i64 %n to i32
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  %below = icmp slt i32 %l, %m
  br i1 %below, label %some, label %next
some:
  store i32 1, ptr addrspace(1) %p
  br label %next
next:
  call void @llvm.amdgcn.s.barrier()
  %shifted = add nsw i32 %l, -3
  %far = icmp slt i32 %shifted, %m
  br i1 %far, label %more, label %last
more:
  %v = load i32, ptr addrspace(1) %p
  %w = add i32 %v, 2
  store i32 %w, ptr addrspace(1) %p
  br label %last
last:
  call void @llvm.amdgcn.s.barrier()
  %under = icmp ult i32 %l, %m
  br i1 %under, label %again, label %end
again:
  %y = load i32, ptr addrspace(1) %p
  %z = add i32 %y, 4
  store i32 %z, ptr addrspace(1) %p
  br label %end
end:
  ret void
})";
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kBounded, configuration(GetParam(), form)));
    for (int64_t bound : {-5, -1, 0, 1, 17, 39, 40, 41, 1000}) {
      std::vector<int> out(60), expected(60);
      for (int i = 0; i < 40; ++i) {
        expected[i] = (i < bound ? 1 : 0) + (i - 3 < bound ? 2 : 0) + (bound < 0 || i < bound ? 4 : 0);
      }
      code.run({out.data(), reinterpret_cast<void*>(bound)}, 40);
      EXPECT_EQ(out, expected) << form << " " << bound;
    }
  }
}

// Loops that count in their own ways: once round all that the index can be, and for as long as it equals something.
TEST_P(EveryLevel, GuardsCutOnlyLoopsThatTheyBound) {
  constexpr char kCounting[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %bound) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %n = ptrtoint ptr addrspace(1) %bound to i64
  %m = trunc i64 %n to i32
  %b = trunc i64 %n to i8
  %o = mul i32 %l, 260
  %y = zext i32 %o to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %y
  br label %around
around:
  %i = phi i8 [ 0, %0 ], [ %j, %onwards ]
  %low = icmp ult i8 %i, %b
  br i1 %low, label %count, label %onwards
count:
  %x = zext i8 %i to i64
  %q = getelementptr i32, ptr addrspace(1) %p, i64 %x
  store i32 1, ptr addrspace(1) %q
  br label %onwards
onwards:
  %j = add i8 %i, 1
  %all = icmp eq i8 %j, 0
  br i1 %all, label %equal, label %around
equal:
  %e = phi i32 [ 0, %onwards ], [ %f, %further ]
  %less = icmp ult i32 %e, %m
  br i1 %less, label %mark, label %further
mark:
  %z = zext i32 %e to i64
  %r = getelementptr i32, ptr addrspace(1) %p, i64 %z
  %s = getelementptr i32, ptr addrspace(1) %r, i64 256
  store i32 2, ptr addrspace(1) %s
  br label %further
further:
  %f = add i32 %e, 1
  %same = icmp eq i32 %f, 1
  br i1 %same, label %equal, label %end
end:
  ret void
})";
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kCounting, configuration(GetParam(), form)));
    for (int64_t bound : {0, 1, 2, 3, 100, 255}) {
      std::vector<int> out(520), expected(520);
      for (int i = 0; i < 520; ++i)
        expected[i] = i % 260 < 256 ? i % 260 < bound : i % 260 - 256 < std::min<int64_t>(bound, 2) ? 2 : 0;
      code.run({out.data(), reinterpret_cast<void*>(bound)}, 2);
      EXPECT_EQ(out, expected) << form << " " << bound;
    }
  }
}

// Under a condition that some work-items meet, a division whose result is the same for all: the first of those side by
// side in a vector need not be one of them. By 0 nobody divides who does not have to.
TEST_P(EveryLevel, ConditionalDivisionsAreForThoseWhoMeetTheCondition) {
  auto kernel = [](const char* operation) {
    return std::string(kHeader) + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, ptr addrspace(1) %by) {
  %n = ptrtoint ptr addrspace(1) %by to i64
  %m = trunc i64 %n to i32
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %x
  %v = load i32, ptr addrspace(1) %p
  %z = icmp eq i32 %v, 0
  br i1 %z, label %end, label %divide
divide:
  %a = )" + operation +
           R"( i32 -25, %m
  %i = and i32 %a, 31
  %j = zext i32 %i to i64
  %e = getelementptr i32, ptr addrspace(1) %in, i64 %j
  %f = getelementptr i32, ptr addrspace(1) %e, i64 64
  %w = load i32, ptr addrspace(1) %f
  br label %end
end:
  %s = phi i32 [ 7, %0 ], [ %w, %divide ]
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %s, ptr addrspace(1) %q
  ret void
})";
  };
  using Divide = unsigned (*)(int, int);
  std::pair<const char*, Divide> operations[] = {
      {"sdiv", [](int x, int y) { return static_cast<unsigned>(x / y); }},
      {"srem", [](int x, int y) { return static_cast<unsigned>(x % y); }},
      {"udiv", [](int x, int y) { return static_cast<unsigned>(x) / static_cast<unsigned>(y); }},
      {"urem", [](int x, int y) { return static_cast<unsigned>(x) % static_cast<unsigned>(y); }}};
  for (auto [operation, divide] : operations) {
    for (const char* form : {"loop", "fiber"}) {
      Loaded code(compile(kernel_of_pointers(3), kernel(operation), configuration(GetParam(), form)));
      for (int by : {-25, -7, -1, 0, 1, 3, 25, 1000}) {
        std::vector<int> in(96), out(64), expected(64, 7);
        for (int i = 0; i < 32; ++i) in[64 + i] = 100 + i;
        for (int i = 1; i < 64 && by != 0; i += 3) {
          in[i] = 1;
          expected[i] = 100 + static_cast<int>(divide(-25, by) % 32);
        }
        code.run({in.data(), out.data(), reinterpret_cast<void*>(static_cast<int64_t>(by))}, 64);
        EXPECT_EQ(out, expected) << form << ": " << operation << " by " << by;
      }
    }
  }
}

// As on a GPU, which has no instruction that could trap.
TEST_P(EveryLevel, DivisionsDoNotTrap) {
  constexpr char kDivisions[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %px = getelementptr i32, ptr addrspace(1) %x, i64 %i
  %py = getelementptr i32, ptr addrspace(1) %y, i64 %i
  %a = load i32, ptr addrspace(1) %px
  %b = load i32, ptr addrspace(1) %py
  %q = sdiv i32 %a, %b
  %r = srem i32 %a, %b
  %s = udiv i32 %a, %b
  %t = urem i32 %a, %b
  %j = mul i64 %i, 4
  %o = getelementptr i32, ptr addrspace(1) %out, i64 %j
  %o1 = getelementptr i32, ptr addrspace(1) %o, i64 1
  %o2 = getelementptr i32, ptr addrspace(1) %o, i64 2
  %o3 = getelementptr i32, ptr addrspace(1) %o, i64 3
  store i32 %q, ptr addrspace(1) %o
  store i32 %r, ptr addrspace(1) %o1
  store i32 %s, ptr addrspace(1) %o2
  store i32 %t, ptr addrspace(1) %o3
  ret void
})";
  std::vector<int> x, y, expected;
  for (int a : {INT32_MIN, -25, 0, 7, INT32_MAX}) {
    for (int b : {0, -1, 1, -7, 25}) {
      x.push_back(a);
      y.push_back(b);
      auto wide = static_cast<int64_t>(a);
      auto unsigned_a = static_cast<uint32_t>(a), unsigned_b = static_cast<uint32_t>(b);
      expected.push_back(b ? static_cast<int>(wide / b) : -1);
      expected.push_back(b ? static_cast<int>(wide % b) : a);
      expected.push_back(static_cast<int>(b ? unsigned_a / unsigned_b : UINT32_MAX));
      expected.push_back(static_cast<int>(b ? unsigned_a % unsigned_b : unsigned_a));
    }
  }
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(3), std::string(kHeader) + kDivisions, configuration(GetParam(), form)));
    std::vector<int> out(expected.size());
    code.run({x.data(), y.data(), out.data()}, static_cast<uint32_t>(x.size()));
    EXPECT_EQ(out, expected) << form;
  }
}

// Also where the byte is not what the front end promises of one.
TEST_P(EveryLevel, BoolsAreTheLowestBitOfTheirByte) {
  constexpr char kBools[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %px = getelementptr i8, ptr addrspace(1) %x, i64 %i
  %a = load i8, ptr addrspace(1) %px, !range !0, !noundef !1
  %b = trunc i8 %a to i1
  %not = xor i1 %b, true
  %one = zext i1 %b to i32
  %more = select i1 %not, i32 10, i32 20
  %sum = add i32 %one, %more
  %o = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %sum, ptr addrspace(1) %o
  ret void
}
!0 = !{i8 0, i8 2}
!1 = !{}
)";
  std::vector<uint8_t> x = {0, 1, 255, 254};
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kBools, configuration(GetParam(), form)));
    std::vector<int> out(4);
    code.run({x.data(), out.data()}, 4);
    EXPECT_EQ(out, (std::vector{10, 21, 21, 10})) << form;
  }
}

// As the GPU's instructions do.
TEST_P(EveryLevel, ConversionsToIntegersSaturate) {
  constexpr char kConversions[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %a = load float, ptr addrspace(1) %px
  %d = fpext float %a to double
  %h = fptrunc float %a to half
  %u = fptoui float %a to i32
  %s = fptosi float %a to i32
  %ub = fptoui float %a to i8
  %ub64 = zext i8 %ub to i64
  %du = fptoui double %d to i64
  %ds = fptosi double %d to i64
  %hs = fptosi half %h to i16
  %hs64 = sext i16 %hs to i64
  %u64 = zext i32 %u to i64
  %s64 = sext i32 %s to i64
  %j = mul i64 %i, 6
  %o = getelementptr i64, ptr addrspace(1) %out, i64 %j
  %o1 = getelementptr i64, ptr addrspace(1) %o, i64 1
  %o2 = getelementptr i64, ptr addrspace(1) %o, i64 2
  %o3 = getelementptr i64, ptr addrspace(1) %o, i64 3
  %o4 = getelementptr i64, ptr addrspace(1) %o, i64 4
  %o5 = getelementptr i64, ptr addrspace(1) %o, i64 5
  store i64 %u64, ptr addrspace(1) %o
  store i64 %s64, ptr addrspace(1) %o1
  store i64 %ub64, ptr addrspace(1) %o2
  store i64 %du, ptr addrspace(1) %o3
  store i64 %ds, ptr addrspace(1) %o4
  store i64 %hs64, ptr addrspace(1) %o5
  ret void
})";
  std::vector<float> x = {3.75f, -2.5f, 0x1p32f, -0x1p31f, 300.0f, 1e30f, -1e30f, NAN, 0x1.8p31f};
  const int64_t most = INT64_MAX, least = INT64_MIN, all = -1, u32 = UINT32_MAX, i32 = INT32_MAX;
  std::vector<int64_t> expected = {3,
                                   3,
                                   3,
                                   3,
                                   3,
                                   3,  //
                                   0,
                                   -2,
                                   0,
                                   0,
                                   -2,
                                   -2,  //
                                   u32,
                                   i32,
                                   255,
                                   int64_t{1} << 32,
                                   int64_t{1} << 32,
                                   INT16_MAX,  //
                                   0,
                                   INT32_MIN,
                                   0,
                                   0,
                                   INT32_MIN,
                                   INT16_MIN,  //
                                   300,
                                   300,
                                   44,
                                   300,
                                   300,
                                   300,  //
                                   u32,
                                   i32,
                                   255,
                                   all,
                                   most,
                                   INT16_MAX,  //
                                   0,
                                   INT32_MIN,
                                   0,
                                   0,
                                   least,
                                   INT16_MIN,  //
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,  //
                                   3221225472,
                                   i32,
                                   0,
                                   3221225472,
                                   3221225472,
                                   INT16_MAX};
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(2), std::string(kHeader) + kConversions, configuration(GetParam(), form)));
    std::vector<int64_t> out(expected.size());
    code.run({x.data(), out.data()}, static_cast<uint32_t>(x.size()));
    EXPECT_EQ(out, expected) << form;
  }
}

// Its alignment, even where it is not a multiple of its size, is what code relies on.
TEST_P(EveryLevel, LocalArraysThatOutliveBarriersAreAligned) {
  constexpr char kAligned[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %a = alloca [5 x i32], align 16, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %j = and i32 %l, 3
  %e = getelementptr [5 x i32], ptr addrspace(5) %a, i32 0, i32 %j
  store <4 x i32> <i32 1, i32 2, i32 3, i32 4>, ptr addrspace(5) %a, align 16
  store i32 %l, ptr addrspace(5) %e
  call void @llvm.amdgcn.s.barrier()
  %v = load volatile <4 x i32>, ptr addrspace(5) %a, align 16
  %s = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %v)
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %s, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>))";
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(1), std::string(kHeader) + kAligned, configuration(GetParam(), form)));
    std::vector<int> out(50, -1);
    code.run({out.data()}, 50);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(out[i], 10 - (i % 4 + 1) + i) << form;
  }
}

// An array of its own, indexed by what is known only at run time, lives on across a barrier.
TEST_P(EveryLevel, LocalArraysOutliveBarriers) {
  constexpr char kLocal[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %a = alloca [8 x i32], align 4, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %j = and i32 %l, 7
  %e = getelementptr [8 x i32], ptr addrspace(5) %a, i32 0, i32 %j
  store i32 %l, ptr addrspace(5) %e
  call void @llvm.amdgcn.s.barrier()
  %v = load i32, ptr addrspace(5) %e
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %v, ptr addrspace(1) %p
  ret void
})";
  for (const char* form : {"loop", "fiber"}) {
    Loaded code(compile(kernel_of_pointers(1), std::string(kHeader) + kLocal, configuration(GetParam(), form)));
    std::vector<int> out(50, -1);
    code.run({out.data()}, 50);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(out[i], i) << form;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, EveryLevel,
                         testing::Values("default<O0>", "default<O1>", "default<O2>", "default<O3>", "default<Os>",
                                         "default<Oz>", "function(instcombine<no-verify-fixpoint>)"));

// What goes in step keeps its sums in arrays, which is for nothing where there are but few work-items.
TEST(HostCompile, SmallBlocksDoNotGoInStep) {
  auto kernel = [](const std::string& attributes) {
    return std::string(kHeader) + R"(
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
    Loaded code(compile(kernel_of_pointers(2), kernel(attributes), configuration()));
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
  Loaded code(compile(kernel_of_pointers(1, {"table", "second"}), std::string(kHeader) + kGlobals, configuration()));
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
    std::string ir = std::string(kHeader) + "define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {" +
                     body + " ret void }";
    return Loaded(compile(kernel_of_pointers(2), ir, configuration())).object->ordered;
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
  Loaded(compile(kernel_of_pointers(1), std::string(kHeader) + kFused, configuration())).run({&apart}, 1);
  bundle::Configuration fuse = configuration();
  fuse.fuse = true;
  Loaded(compile(kernel_of_pointers(1), std::string(kHeader) + kFused, fuse)).run({&fused}, 1);
  EXPECT_EQ(apart, 0x1p-22f);
  if (default_target() != "host:x86-64-v2") EXPECT_EQ(fused, 0x1p-22f + 0x1p-46f);
}

TEST(HostCompile, IsDeterministic) {
  std::string ir = std::string(kHeader) + kReverse;
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
  std::string counter = std::string(kHeader) + R"(
declare i64 @llvm.amdgcn.s.getpc()
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %a = call i64 @llvm.amdgcn.s.getpc()
  store i64 %a, ptr addrspace(1) %p
  ret void
})";
  expect_error(kernel_of_pointers(1), counter, configuration(), "llvm.amdgcn.s.getpc");
  expect_error(kernel_of_pointers(2), std::string(kHeader) + kReverse, configuration("default<O3>", "ring"), "ring");
  expect_error(kernel_of_pointers(1), std::string(kHeader) + kReverse, configuration(), "takes 2 arguments");
  expect_error(kernel_of_pointers(1), std::string(kHeader) + kScale, configuration("default<O9>"),
               "rejects the pipeline");
  expect_error(kernel_of_pointers(1), "define void @k( {", configuration(), "line 1");
  expect_error(kernel_of_pointers(1), kHeader, configuration(), "does not define the kernel");
  expect_error(kernel_of_pointers(1), std::string(kHeader) + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  call void asm sideeffect "v_nop", ""()
  ret void
})",
               configuration(), "inline assembly ('v_nop')");
  bundle::Configuration arm = configuration();
  arm.target = "host:armv8";
  expect_error(kernel_of_pointers(1), std::string(kHeader) + kScale, arm, "host:armv8");
}

}  // namespace
}  // namespace mneme::codegen::host
