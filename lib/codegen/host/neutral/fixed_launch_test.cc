// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a configuration says beside its pipeline, as it shows in the host device's code.
#include "codegen/host/neutral/fixed_launch.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "codegen/host/abi.h"
#include "codegen/host/host.h"

namespace mneme::codegen::host {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// out[thread of the grid] += amount, n times, with the block's size by the dispatch packet and the grid's by the
// implicit arguments.
constexpr char kKernel[] = R"(
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
define amdgpu_kernel void @k(ptr addrspace(1) %out, float %amount, i32 %n) "amdgpu-flat-work-group-size"="1,256" {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %da = getelementptr i8, ptr addrspace(4) %d, i64 4
  %s = load i16, ptr addrspace(4) %da
  %size = zext i16 %s to i32
  %m = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %blocks = load i32, ptr addrspace(4) %m
  %f = mul i32 %g, %size
  %i = add i32 %f, %l
  %x = zext i32 %i to i64
  %p = getelementptr float, ptr addrspace(1) %out, i64 %x
  br label %loop
loop:
  %r = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = load volatile float, ptr addrspace(1) %p
  %w = fadd float %v, %amount
  store volatile float %w, ptr addrspace(1) %p
  %next = add i32 %r, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  %q = getelementptr float, ptr addrspace(1) %p, i64 64
  %z = mul i32 %blocks, %size
  %y = uitofp i32 %z to float
  store float %y, ptr addrspace(1) %q
  ret void
})";

bundle::KernelInfo kernel() {
  bundle::KernelInfo info;
  info.name = info.demangled = "k";
  info.argument_bytes = 16;
  info.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "float", {}}, {12, 4, "scalar", "i32", {}}};
  return info;
}

struct Arguments {
  float* out = nullptr;
  float amount = 0.5;
  int32_t n = 12;
};

bundle::InstanceInfo instance() {
  bundle::InstanceInfo info;
  info.id = digest_of("one");
  info.grid = {1, 1, 1};
  info.block = {48, 1, 1};
  Arguments arguments;
  info.arguments = std::string(reinterpret_cast<const char*>(&arguments), sizeof arguments);
  return info;
}

Result compiled(const std::function<void(bundle::Configuration&)>& change, const std::string& form = "auto") {
  bundle::Configuration configuration;
  configuration.target = "host:x86-64-v2";
  configuration.passes = "default<O2>";
  configuration.form = form;
  change(configuration);
  bundle::InstanceInfo one = instance();
  return compile(kernel(), kKernel, configuration, &one, {.texts = true});
}

Result plain() {
  return compiled([](bundle::Configuration&) {});
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::jmp_buf end;
const char* stopped = nullptr;

// What stop() was told, by a block of so many threads in a grid of so many blocks; or "ran".
std::string run(const Result& result, const Arguments& arguments, uint32_t threads, uint32_t blocks) {
  Fd file = memory_file("code", bytes_of(result.code));
  void* handle = ::dlopen(("/proc/self/fd/" + std::to_string(file.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Error(::dlerror());
  auto* object = static_cast<CodeObject*>(::dlsym(handle, kEntrySymbol));
  std::vector<std::byte> frames(1 << 20);
  uint32_t implicit[64] = {blocks, 1, 1};
  uint16_t dispatch[32] = {0, 0, static_cast<uint16_t>(threads), 1, 1};
  Services services{};
  services.stop = [](BlockContext*, uint32_t, uint32_t, const char* text) {
    stopped = text;
    std::longjmp(end, 1);  // as whoever runs kernels does
  };
  services.run_items = [](BlockContext* context, uint32_t, ItemFunction item, uint32_t) {
    for (uint32_t x = 0; x < context->block[0]; ++x) item(context, x, 0, 0);
  };
  services.converge = [](BlockContext*, uint32_t, uint32_t, uint32_t, uint64_t value, uint64_t, uint32_t) {
    return value;
  };
  BlockContext context{};
  context.arguments = &arguments;
  context.implicit = implicit;
  context.dispatch = dispatch;
  context.frames = frames.data();
  context.frames_size = frames.size();
  context.block[0] = threads;
  context.grid[0] = blocks;
  context.block[1] = context.block[2] = context.grid[1] = context.grid[2] = 1;
  context.services = &services;
  stopped = "ran";
  if (setjmp(end) == 0) object->run_block(&context);
  std::string said = stopped;
  ::dlclose(handle);
  return said;
}

TEST(FixedLaunch, IsInTheCodeAndHeldTo) {
  std::string other = "runs code that was compiled for the grid (1, 1, 1) and the block (48, 1, 1) only";
  for (const char* form : {"loop", "fiber"}) {
    Result fixed = compiled([](bundle::Configuration& c) { c.specialize_dims = true; }, form);
    EXPECT_THAT(fixed.ir, HasSubstr("store float 4.800000e+01")) << "the grid's and the block's size";
    EXPECT_THAT(plain().ir, Not(HasSubstr("store float 4.800000e+01")));

    std::vector<float> out(112, 1.0f);
    Arguments arguments;
    arguments.out = out.data();
    EXPECT_EQ(run(fixed, arguments, 48, 1), "ran") << form;
    EXPECT_EQ(out[0], 7.0f);
    EXPECT_EQ(out[47], 7.0f);
    EXPECT_EQ(out[48], 1.0f);
    EXPECT_EQ(out[64], 48.0f);
    out.assign(112, 1.0f);
    EXPECT_EQ(run(fixed, arguments, 32, 1), other);
    EXPECT_EQ(run(fixed, arguments, 48, 2), other);
    EXPECT_EQ(out, std::vector<float>(112, 1.0f)) << "nothing has begun";
    EXPECT_EQ(run(plain(), arguments, 32, 2), "ran");
  }
}

TEST(FixedLaunch, ArgumentsBecomeConstants) {
  Result fixed = compiled([](bundle::Configuration& c) { c.specialize_args = "all"; });
  EXPECT_THAT(fixed.ir, HasSubstr("5.000000e-01"));
  EXPECT_THAT(plain().ir, Not(HasSubstr("5.000000e-01")));
  // What is given at a launch no longer matters; the pointer does.
  std::vector<float> out(112, 1.0f);
  Arguments arguments{out.data(), 100.0f, 1};
  EXPECT_EQ(run(fixed, arguments, 48, 1), "ran");
  EXPECT_EQ(out[3], 7.0f);
}

TEST(HostChoices, UnrollThreshold) {
  auto unrolled = [](uint32_t threshold) {
    return compiled([&](bundle::Configuration& c) {
      c.specialize_args = "2";
      c.unroll_threshold = threshold;
    });
  };
  EXPECT_LT(count(unrolled(0).ir, "store volatile float"), 12u);
  EXPECT_GE(count(unrolled(1'000'000).ir, "store volatile float"), 12u);
}

TEST(HostChoices, FastMathAndAttributes) {
  Result result = compiled([](bundle::Configuration& c) {
    c.fast_math = "reassoc";
    c.attributes = "key=value minsize";
  });
  EXPECT_THAT(result.ir, AllOf(HasSubstr("fadd reassoc float"), HasSubstr("\"key\"=\"value\""), HasSubstr("minsize")));
  EXPECT_THAT(plain().ir, AllOf(Not(HasSubstr("reassoc")), Not(HasSubstr("\"key\"")), Not(HasSubstr("minsize"))));
  result = compiled([](bundle::Configuration& c) { c.attributes = "key=value"; }, "fiber");
  EXPECT_THAT(result.ir, HasSubstr("\"key\"=\"value\""));
}

TEST(HostChoices, Processor) {
  Result result = compiled([](bundle::Configuration& c) {
    c.cpu = "haswell";
    c.features = "-fma";
  });
  EXPECT_THAT(result.ir, AllOf(HasSubstr("\"target-cpu\"=\"haswell\""), HasSubstr("\"target-features\"=\"-fma\"")));
  EXPECT_THAT(result.assembly, HasSubstr("vaddss"));
  EXPECT_THAT(plain().assembly, AllOf(HasSubstr("addss"), Not(HasSubstr("vaddss"))));
}

TEST(HostChoices, LaunchBounds) {
  auto most = [](const Result& result) {
    Fd file = memory_file("code", bytes_of(result.code));
    void* handle = ::dlopen(("/proc/self/fd/" + std::to_string(file.get())).c_str(), RTLD_NOW | RTLD_LOCAL);
    uint32_t threads = static_cast<CodeObject*>(::dlsym(handle, kEntrySymbol))->most_threads;
    ::dlclose(handle);
    return threads;
  };
  EXPECT_EQ(most(plain()), 256u);
  EXPECT_EQ(most(compiled([](bundle::Configuration& c) { c.max_threads = 64; })), 64u);
}

}  // namespace
}  // namespace mneme::codegen::host
