// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/staging.h"

namespace mneme::device::cuda {

Marks::~Marks() {
  for (auto [number, event] : events_) driver().cuEventDestroy_v2(event);
}

void Marks::set(uint32_t number) {
  Event*& event = events_[number];
  if (!event) check(driver().cuEventCreate(&event, kNoTiming), "making an event");
  check(driver().cuEventRecord(event, nullptr), "recording an event");
}

void Marks::wait_for(uint32_t number) const {
  auto mark = events_.find(number);
  if (mark == events_.end()) return;
  check(driver().cuEventSynchronize(mark->second), "waiting for the GPU");
}

PinnedMemory::~PinnedMemory() {
  for (auto [memory, pinned] : pieces_) {
    if (pinned) driver().cuMemHostUnregister(memory);
  }
}

void PinnedMemory::add(std::span<std::byte> memory) {
  auto [piece, fresh] = pieces_.try_emplace(memory.data(), false);
  if (fresh) piece->second = driver().cuMemHostRegister_v2(memory.data(), memory.size(), kRegisterPortable) == 0;
}

}  // namespace mneme::device::cuda
