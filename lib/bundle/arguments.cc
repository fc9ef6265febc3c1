// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/arguments.h"

#include <charconv>
#include <set>

#include "base/error.h"

namespace mneme::bundle {
namespace {

// By their numbers: bundles have no names in `list`.
std::set<size_t> numbers_of(const KernelInfo& kernel, std::string_view list) {
  std::set<size_t> numbers;
  if (list == "all") {
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const Argument& argument = kernel.arguments[i];
      if (argument.kind != "pointer" && !holds_handle(kernel, argument)) numbers.insert(i);
    }
    return numbers;
  }
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    size_t number = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failed != std::errc() || end != word.data() + word.size() || number >= kernel.arguments.size()) {
      throw Error::of("kernel '{}' has a variant that is specialised to an argument '{}', which the kernel lacks",
                      kernel.demangled, word.substr(0, 80));
    }
    numbers.insert(number);
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return numbers;
}

}  // namespace

bool holds_handle(const KernelInfo& kernel, const Argument& argument) {
  return std::ranges::any_of(kernel.handles, [&](const Handle& handle) {
    return handle.argument >= argument.offset && handle.argument < int64_t{argument.offset} + argument.size;
  });
}

std::vector<Guard> guards_of(const KernelInfo& kernel, const Configuration& configuration, std::string_view arguments) {
  std::vector<bool> guarded(arguments.size());
  for (size_t number : numbers_of(kernel, configuration.specialize_args)) {
    const Argument& argument = kernel.arguments[number];
    if (uint64_t{argument.offset} + argument.size > arguments.size()) {
      throw Error::of("a launch of kernel '{}' lacks its argument {}", kernel.demangled, number);
    }
    for (uint32_t i = 0; i < argument.size; ++i) guarded[argument.offset + i] = true;
    for (const ByteRange& range : argument.padding) {
      for (uint32_t i = 0; i < range.size; ++i) guarded.at(argument.offset + range.offset + i) = false;
    }
  }
  std::vector<Guard> guards;
  for (size_t i = 0; i < guarded.size(); ++i) {
    if (!guarded[i]) continue;
    if (i == 0 || !guarded[i - 1]) guards.push_back({static_cast<uint32_t>(i), {}});
    guards.back().bytes += arguments[i];
  }
  return guards;
}

}  // namespace mneme::bundle
