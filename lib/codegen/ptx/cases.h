// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: kernels of PTX that are lifted, compiled for the host and run.
#pragma once
#include <gmock/gmock.h>
#include <llvm/IR/LLVMContext.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/host/dialect/nvptx/run.h"
#include "codegen/ptx/lift.h"
#include "ir/module.h"

namespace mneme::codegen::ptx {

using host::NvptxCode;

inline constexpr char kHead[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

inline std::string ir_of(const std::string& text, const std::string& kernel = "k") {
  llvm::LLVMContext context;
  return ir::print_module(*ir::load_module(context, lift_kernel(kHead + text, kernel), "the lifted IR"));
}

inline std::string refusal_of(const std::string& text) {
  try {
    lift_kernel(kHead + text, "k");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// A kernel k(out, in) of PTX whose thread t has the number %t, in[t] in %x, and stores %y in out[t].
inline std::string kernel_of(const std::string& body, const std::string& more = "") {
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

inline std::vector<uint32_t> run(const std::string& text, const std::vector<uint32_t>& in) {
  std::string bitcode = lift_kernel(kHead + text, "k");
  NvptxCode code(host::nvptx_kernel(2), bitcode, NvptxCode::configuration_of("default<O3>", "loop"));
  std::vector<uint32_t> out(in.size());
  const void* arguments[] = {out.data(), in.data()};
  code.run(arguments, static_cast<uint32_t>(in.size()), 1024);
  return out;
}

inline std::vector<uint32_t> numbers(uint32_t count) {
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

}  // namespace mneme::codegen::ptx
