// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"

using namespace mneme::hostgpu;

extern "C" __attribute__((visibility("default"))) int mneme_hostgpu_refuse(const char* name, const char* reason) {
  return answer([&] {
    say_once(fmt::format("{} is not supported on the host device: {}", name, reason));
    throw HipError(hipErrorNotSupported);
  });
}
