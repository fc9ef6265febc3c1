// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;

constexpr uint64_t kGroupSegment = 28;  // where a dispatch packet has the bytes of shared memory

std::string text_of(uint64_t number, const uint32_t (&sizes)[3]) {
  return fmt::format("({}, {}, {})", number % sizes[0], number / sizes[0] % sizes[1], number / sizes[0] / sizes[1]);
}

std::string describe_place(const BlockContext& context, uint64_t address) {
  const uint64_t shared = reinterpret_cast<uint64_t>(context.shared), size = shared_size(context);
  if (address - shared < size) return fmt::format("byte {} of the block's {} of shared memory", address - shared, size);
  const RunOptions& options = static_cast<const ServiceState*>(context.launch)->options;
  if (const KnownMemory* known = known_at(options, address)) {
    return fmt::format("byte {} of {}", address - known->address, known->what);
  }
  return "in memory that is not known";
}

}  // namespace

uint32_t number_of_block(const BlockContext& context) {
  const auto& [x, y, z] = context.group;
  return x + context.grid[0] * (y + context.grid[1] * z);
}

uint64_t shared_size(const BlockContext& context) {
  uint32_t size = 0;
  std::memcpy(&size, static_cast<const std::byte*>(context.dispatch) + kGroupSegment, sizeof size);
  return size;
}

std::string text_of(const BlockContext& context, ItemNumber item) {
  return fmt::format("block {}, thread {}", text_of(item.block, context.grid), text_of(item.thread, context.block));
}

std::string at(const codegen::host::Site& site) { return *site.place ? fmt::format(" at {}", site.place) : ""; }

const char* verb_of(const codegen::host::Site& site) {
  constexpr const char* kVerbs[] = {"reads", "writes", "updates", "uses"};
  return kVerbs[site.flags & codegen::host::kTrackedAccess];
}

std::string describe_tracked(const BlockContext& context, uint32_t thread, const char* verb, uint64_t address,
                             uint64_t size, const codegen::host::Site& site) {
  return fmt::format("kernel '{}', {}: {} {} byte{} at {:#x}, {}{}{}",
                     static_cast<const ServiceState*>(context.launch)->kernel,
                     text_of(context, {number_of_block(context), thread}), verb, size, size == 1 ? "" : "s", address,
                     describe_place(context, address), *site.place ? "," : "", at(site));
}

const KnownMemory* known_at(const RunOptions& options, uint64_t address) {
  auto after = std::ranges::upper_bound(options.memory, address, {}, &KnownMemory::address);
  if (after == options.memory.begin()) return nullptr;
  const KnownMemory& known = *std::prev(after);
  return address - known.address < known.size ? &known : nullptr;
}

}  // namespace mneme::device::host
