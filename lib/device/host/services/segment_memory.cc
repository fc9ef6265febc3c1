// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/segment_memory.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace mneme::device::host {
namespace {

std::string describe(const KnownMemory& memory, const bundle::Segment& segment) {
  if (segment.symbol == bundle::kDeviceHeap) return kHeapText;
  if (!segment.symbol.empty()) return variable_text(segment.symbol);
  if (segment.kind == bundle::SegmentKind::kHost) return fmt::format("{} bytes of host memory", memory.size);
  return fmt::format("a {}-byte allocation of device memory", memory.size);
}

// Annotated memory begins a segment of its own wherever it lies in its allocation: such a one right behind another may
// be of the same allocation. No access is reported that could be right.
bool continues(const bundle::Segment& before, const bundle::Segment& segment) {
  return before.address + before.size == segment.address && before.kind == segment.kind && before.symbol.empty() &&
         segment.symbol.empty() && !segment.annotation.empty();
}

}  // namespace

std::string variable_text(const std::string& name) {
  if (!name.starts_with("_Z")) return fmt::format("the variable '{}'", name);  // it could be a type's
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return fmt::format("the variable '{}'", plain ? plain.get() : name.c_str());
}

std::vector<KnownMemory> known_memory(std::span<const bundle::Segment> segments,
                                      std::span<const codegen::host::GlobalSlot> variables) {
  std::vector<KnownMemory> known;
  const bundle::Segment* before = nullptr;
  for (const bundle::Segment& segment : segments) {
    if (before && continues(*before, segment)) {
      known.back().size += segment.size;
    } else {
      known.push_back({segment.address, segment.size, {}});
    }
    known.back().what = describe(known.back(), segment);
    before = &segment;
  }
  auto is_listed = [&](uint64_t address) {
    return std::any_of(segments.begin(), segments.end(),
                       [&](const auto& s) { return !s.symbol.empty() && s.address == address; });
  };
  for (const auto& slot : variables) {
    auto address = reinterpret_cast<uint64_t>(slot.address);
    if (!is_listed(address)) known.push_back({address, slot.size, variable_text(slot.name)});
  }
  std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return known;
}

}  // namespace mneme::device::host
