// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/error.h"
#include "codegen/host/host.h"

namespace mneme::codegen::host {

std::string default_target() {
  if (__builtin_cpu_supports("x86-64-v4")) return "host:x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "host:x86-64-v3";
  return "host:x86-64-v2";
}

void check_target(const std::string& target) {
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (target == std::string("host:") + level) return;
  }
  throw Error::of("'{}' is no target of the host device: use host:x86-64-v2, host:x86-64-v3 or host:x86-64-v4", target);
}

}  // namespace mneme::codegen::host
