// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/function_address.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace mneme::objects {
namespace {

uint64_t hash_of(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

}  // namespace

uint64_t function_address(std::string_view name) {
  constexpr uint64_t kStep = 16;
  return kFunctionsBegin + hash_of(name) % ((kFunctionsEnd - kFunctionsBegin) / kStep) * kStep;
}

uint64_t recorded_address(const bundle::KernelInfo& kernel, std::string_view name) {
  auto found = std::ranges::find(kernel.functions, name);
  auto index = static_cast<size_t>(found - kernel.functions.begin());
  return index < kernel.function_addresses.size() ? kernel.function_addresses[index] : 0;
}

uint64_t recorded_or_made_address(const bundle::KernelInfo& kernel, std::string_view name) {
  const uint64_t recorded = recorded_address(kernel, name);
  return recorded ? recorded : function_address(name);
}

// Not the name itself: PTX does not allow all of the characters that LLVM does.
std::string address_symbol(std::string_view function) {
  return fmt::format("__mneme_address_{:016x}", hash_of(function));
}

}  // namespace mneme::objects
