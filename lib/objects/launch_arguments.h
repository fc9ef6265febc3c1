// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bundle/format.h"
#include "vendor/common.h"

namespace mneme::objects {

// What a launch gives its kernel: a list of pointers to values, or all values in one buffer, laid out as the kernel
// expects them.
struct LaunchArguments {
  void* const* list = nullptr;
  Bytes packed = {};
};

// Keys in `extra` of a launch of a module's function, of both vendors.
using vendor::kParameterBuffer;
using vendor::kParameterSize;

// Those of such a launch: the list, or what a list of keys and values says that ends with the key `end`.
LaunchArguments arguments_of(void* const* list, void* const* extra, uintptr_t end);

// Where each value lies; nullopt: the buffer ends before the last, or there is neither.
std::optional<std::vector<void*>> argument_list(std::span<const bundle::Argument> layout,
                                                const LaunchArguments& arguments);

// The bytes that the kernel gets, padding zeroed; `out` has argument_bytes.
enum class Gathered { kAll, kWithoutValues, kBrokenLayout };
Gathered gather_arguments(const bundle::KernelInfo& kernel, const LaunchArguments& arguments, std::span<std::byte> out);

}  // namespace mneme::objects
