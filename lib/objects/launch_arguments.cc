// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/launch_arguments.h"

#include <cstring>

namespace mneme::objects {
namespace {

bool fits(uint64_t offset, uint64_t size, uint64_t room) { return offset <= room && size <= room - offset; }

// Null: there is none.
const void* value_of(const bundle::Argument& argument, size_t i, const LaunchArguments& arguments) {
  if (arguments.list) return arguments.list[i];
  if (arguments.packed.empty() || !fits(argument.offset, argument.size, arguments.packed.size())) return nullptr;
  return arguments.packed.data() + argument.offset;
}

}  // namespace

LaunchArguments arguments_of(void* const* list, void* const* extra, uintptr_t end) {
  LaunchArguments arguments{list, {}};
  if (list || !extra) return arguments;
  const std::byte* buffer = nullptr;
  size_t size = 0;
  for (void* const* at = extra; reinterpret_cast<uintptr_t>(*at) != end; at += 2) {
    auto kind = reinterpret_cast<uintptr_t>(*at);
    if (kind == kParameterBuffer) {
      buffer = static_cast<const std::byte*>(at[1]);
    } else if (kind == kParameterSize && at[1]) {
      size = *static_cast<const size_t*>(at[1]);
    } else {
      return arguments;  // the runtime will refuse it
    }
  }
  if (buffer) arguments.packed = {buffer, size};
  return arguments;
}

std::optional<std::vector<void*>> argument_list(std::span<const bundle::Argument> layout,
                                                const LaunchArguments& arguments) {
  std::vector<void*> list;
  for (size_t i = 0; i < layout.size(); ++i) {
    const void* value = value_of(layout[i], i, arguments);
    if (!value && !arguments.list) return std::nullopt;
    list.push_back(const_cast<void*>(value));
  }
  return list;
}

Gathered gather_arguments(const bundle::KernelInfo& kernel, const LaunchArguments& arguments,
                          std::span<std::byte> out) {
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const bundle::Argument& argument = kernel.arguments[i];
    if (!fits(argument.offset, argument.size, out.size())) return Gathered::kBrokenLayout;
    const void* value = value_of(argument, i, arguments);
    if (!value) return Gathered::kWithoutValues;
    std::memcpy(&out[argument.offset], value, argument.size);
    for (const bundle::ByteRange& hole : argument.padding) {
      if (!fits(hole.offset, hole.size, argument.size)) return Gathered::kBrokenLayout;
      std::memset(&out[argument.offset + hole.offset], 0, hole.size);
    }
  }
  return Gathered::kAll;
}

}  // namespace mneme::objects
