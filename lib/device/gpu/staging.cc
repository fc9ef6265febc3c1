// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/staging.h"

namespace mneme::device::gpu {

void Marks::set(uint32_t number) {
  auto mark = marks_.find(number);
  if (mark == marks_.end()) mark = marks_.try_emplace(number, gpu_, Gpu::Marking::kPlain).first;
  gpu_.set(mark->second.mark(), "recording an event");
}

void Marks::wait_for(uint32_t number) const {
  auto mark = marks_.find(number);
  if (mark != marks_.end()) gpu_.wait_for(mark->second.mark());
}

PinnedMemory::~PinnedMemory() {
  for (auto [memory, pinned] : pieces_) {
    if (pinned) gpu_.unpin(memory);
  }
}

void PinnedMemory::add(std::span<std::byte> memory) {
  auto [piece, fresh] = pieces_.try_emplace(memory.data(), false);
  if (fresh) piece->second = gpu_.pin(memory);
}

}  // namespace mneme::device::gpu
