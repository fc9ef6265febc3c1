// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: kernels given as AMDGPU IR, compiled for the host and run one block at a time.
#pragma once
#include <gtest/gtest.h>

#include <barrier>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "codegen/host/host.h"
#include "codegen/host/neutral/test_block.h"

namespace mneme::codegen::host {

inline constexpr char kAmdgpuHead[] = R"(
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
)";

// A kernel named "k" that takes pointers and nothing else.
inline bundle::KernelInfo kernel_of_pointers(unsigned count, std::vector<std::string> globals = {}) {
  bundle::KernelInfo kernel;
  kernel.name = "k";
  kernel.demangled = "k(…)";
  kernel.argument_bytes = count * 8;
  for (unsigned i = 0; i < count; ++i) kernel.arguments.push_back({i * 8, 8, "pointer", "ptr", {}});
  for (std::string& name : globals) kernel.globals.push_back({std::move(name), 0, 1, false});
  return kernel;
}

inline bundle::Configuration configuration(const std::string& passes = "default<O3>",
                                           const std::string& form = "auto") {
  bundle::Configuration configuration;
  configuration.target = default_target();
  configuration.passes = passes;
  configuration.form = form;
  return configuration;
}

// Work-items as threads of the CPU that take turns, and meet at barriers.
class BlockOfThreads {
 public:
  static constexpr Services services() {
    Services services{};
    services.run_items = [](BlockContext* context, uint32_t, ItemFunction item, uint32_t wave_size) {
      static_cast<BlockOfThreads*>(context->launch)->run(*context, item, wave_size);
    };
    services.converge = [](BlockContext* context, uint32_t thread, uint32_t collective, uint32_t, uint64_t value,
                           uint64_t, uint32_t lane) {
      return static_cast<BlockOfThreads*>(context->launch)->converge(thread, collective, value, lane);
    };
    services.stop = [](BlockContext* context, uint32_t, uint32_t fault, const char*) { context->fault = fault; };
    services.diverged = [](BlockContext*, uint32_t, const uint32_t*, uint32_t) {};
    return services;
  }

 private:
  void run(BlockContext& context, ItemFunction item, uint32_t wave_size) {
    wave_size_ = wave_size;
    values_.resize(context.block[0]);
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
  // All meet; of the operations of waves, there are permutes among lanes that are all here.
  uint64_t converge(uint32_t thread, uint32_t collective, uint64_t value, uint32_t lane) {
    values_[thread] = value;
    wait();
    if (collective != kWavePermute) return 0;
    uint64_t result = values_[thread / wave_size_ * wave_size_ + lane];
    wait();
    return result;
  }
  void wait() {
    turn_.unlock();
    barrier_->arrive_and_wait();
    turn_.lock();
  }

  uint32_t wave_size_ = 0;
  std::vector<uint64_t> values_;  // that they brought
  std::mutex turn_;
  std::optional<std::barrier<>> barrier_;
};

// Compiled, loaded, and run one block at a time.
class AmdgpuCode {
  LoadedCode code_;

 public:
  explicit AmdgpuCode(const Result& result) : code_(result.code), form(result.form), object(code_.object) {}

  BlockContext run(std::vector<void*> arguments, uint32_t threads, uint32_t group = 0, size_t frames = 1 << 20) {
    static constexpr Services kServices = BlockOfThreads::services();
    BlockOfThreads items;
    TestBlock block(*object, arguments.data(), {.threads = threads, .group = group, .groups = 7, .frames = frames});
    return block.run(kServices, &items);
  }

  std::string form;
  CodeObject* object;
};

// For tests of what has to hold whatever is optimised: INSTANTIATE_TEST_SUITE_P(Levels, …, kEveryLevel).
class EveryLevel : public testing::TestWithParam<const char*> {};
inline const auto kEveryLevel =
    testing::Values("default<O0>", "default<O1>", "default<O2>", "default<O3>", "default<Os>", "default<Oz>",
                    "function(instcombine<no-verify-fixpoint>)");

}  // namespace mneme::codegen::host
