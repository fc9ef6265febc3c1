// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/processor.h"

#include <fmt/format.h>

namespace mneme::device::host {

unsigned processor_level() {
  if (__builtin_cpu_supports("x86-64-v4")) return 4;
  if (__builtin_cpu_supports("x86-64-v3")) return 3;
  return __builtin_cpu_supports("x86-64-v2") ? 2 : 1;
}

std::string why_not_here(const std::string& target, unsigned level) {
  constexpr std::string_view kLevels = "host:x86-64-v";
  if (!target.starts_with(kLevels) || target.size() != kLevels.size() + 1) return "";
  auto needed = static_cast<unsigned>(target.back() - '0');
  if (needed <= level) return "";
  std::string lower = level < 2 ? "" : fmt::format(": mneme-compile --target host:x86-64-v{} makes code for it", level);
  return fmt::format("it was compiled for processors of the level x86-64-v{}, and this one has x86-64{} only{}", needed,
                     level < 2 ? "" : fmt::format("-v{}", level), lower);
}

}  // namespace mneme::device::host
