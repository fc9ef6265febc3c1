// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stores.h"

#include "base/child_jobs.h"
#include "base/confine.h"
#include "base/error.h"
#include "codegen/host/host.h"
#include "codegen/ptx/lift.h"
#include "confined.h"
#include "ir/fatal_errors.h"
#include "objects/ptx.h"
#include "recorded_code.h"

namespace mneme::compile {
namespace {

constexpr double kPatience = 10;         // seconds; most kernels take a few milliseconds
constexpr size_t kMostBytes = 16 << 20;  // of an answer

std::string ir_of(const bundle::KernelMember& kernel) {
  if (!kernel.bitcode.empty()) return kernel.bitcode;
  const std::string ptx = objects::ptx_of_kernel(ptx_of(kernel), kernel.info.name);
  check_parameters(kernel.info, objects::parameters_in_ptx(ptx, kernel.info.name).value_or(objects::Parameters()),
                   "the PTX");
  return codegen::ptx::lift_kernel(ptx, kernel.info.name);
}

}  // namespace

std::string_view ptx_of(const bundle::KernelMember& kernel) {
  if (has_ir(kernel.info)) return {};
  return kernel.info.code == bundle::kPtxFile ? kernel.code : kernel.ptx;
}

// Without an answer memory is compared byte for byte, which is no reason to trouble anybody.
std::optional<std::vector<bundle::StoreType>> stores_of(const bundle::KernelMember& kernel) try {
  if (kernel.info.stores || (kernel.bitcode.empty() && ptx_of(kernel).empty())) return kernel.info.stores;
  std::optional<std::vector<bundle::StoreType>> stores;
  ChildJobs one;
  one.name = "a compiler";
  one.count = 1;
  one.seconds = kPatience;
  one.most_bytes = kMostBytes;
  one.body = [&](size_t) {
    confine_process();
    ir::throw_fatal_errors();
    return encode({{}, "code.ptx", "", codegen::host::stored_types(kernel.info, ir_of(kernel))});
  };
  one.take = [&](size_t, const ChildJobs::Result& result) {
    if (result.done) stores = decode(result.text, one.name).stores;
  };
  one.run();
  return stores;
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace mneme::compile
