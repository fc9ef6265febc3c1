// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/errors.h"

using namespace mneme::hostgpu;

// What the weak definitions made from exports.list answer; `reason` is from refusals.list.
extern "C" int mneme_unsupported(const char* name, const char* reason) {
  return answer([&] {
    say_once(fmt::format("{} is not supported on the host device: {}", name, reason));
    throw HipError(hipErrorNotSupported);
  });
}
