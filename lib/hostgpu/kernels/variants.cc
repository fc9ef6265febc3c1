// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other code of the application's kernels (mneme-capture --apply).
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "codegen/host/host.h"
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/kernels/registration.h"

namespace mneme::hostgpu {
namespace {

// The levels of x86-64 differ in their last digit.
void check_target(const std::string& target) {
  codegen::host::check_target(target);
  const std::string here = codegen::host::default_target();
  if (target > here) throw Error::of("it is code for {}, and this processor is {}", target, here);
}

Function& load_variant(const void* host, const std::string& target, Bytes code, VariantFailed failed) {
  check_target(target);
  Function& function = registered_function(host);
  Kernel& kernel = found_kernel(host);
  auto loaded = device::host::HostCode::load(code, kernel.info().demangled);
  const auto device = static_cast<size_t>(current_device());
  Kernel& variant = function.program->on(current_device()).add_variant(kernel, std::move(loaded), std::move(failed));
  Function& stands_for_it = add_function(*function.program, function.name);
  stands_for_it.kernels[device] = &variant;
  return stands_for_it;
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" __attribute__((visibility("default"))) int mneme_hostgpu_load_variant(
    const void* host_function, const char* target, const void* code, size_t code_size,
    mneme_hostgpu_variant_failed failed, void* user, const void** variant, char* reason, size_t size) {
  return answer([&] {
    require(host_function && target && code && failed && variant && reason && size > 0);
    try {
      *variant = &load_variant(host_function, target, {static_cast<const std::byte*>(code), code_size},
                               [=](bool own_code, const std::string& fault) { failed(user, own_code, fault.c_str()); });
    } catch (const std::exception& error) {
      const size_t length = std::min(std::strlen(error.what()), size - 1);
      std::memcpy(reason, error.what(), length);
      reason[length] = '\0';
      throw HipError(hipErrorInvalidImage);
    }
  });
}
