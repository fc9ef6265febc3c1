// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/shared_memory.h"

#include <cstdlib>
#include <string_view>

#include "codegen/host/abi.h"

namespace mneme::codegen {
namespace {

// As NVIDIA's documentation lists them.
uint32_t most_of_capability(int capability) {
  if (capability >= 120) return 99 << 10;
  if (capability >= 90) return 227 << 10;
  if (capability == 86 || capability == 89) return 99 << 10;
  if (capability >= 80) return 163 << 10;
  if (capability == 75) return 64 << 10;
  if (capability >= 70) return 96 << 10;
  return 48 << 10;
}

}  // namespace

SharedMemory shared_memory_of(const std::string& target) {
  constexpr std::string_view kNvidia = "cuda:sm_";
  if (!target.starts_with(kNvidia)) {
    uint32_t all = target.starts_with("host:") ? host::kMaxSharedBytes : 64 << 10;
    return {all, all, 0, all};
  }
  int capability = std::atoi(target.c_str() + kNvidia.size());
  uint32_t most = most_of_capability(capability), reserved = capability >= 80 ? 1 << 10 : 0;
  return {48 << 10, most, reserved, most + reserved};
}

}  // namespace mneme::codegen
