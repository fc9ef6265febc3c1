// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/supply.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mneme::run {

void Supply::ask(uint32_t slot, std::span<const Digest> digests) {
  std::string wanted(digests.size() * Digest::kSize, '\0');
  for (size_t i = 0; i < digests.size(); i++) {
    digests[i].store(reinterpret_cast<std::byte*>(wanted.data()) + i * Digest::kSize);
  }
  // What it was read for the last time has to be over: mneme-run writes there.
  device_.wait_for(slot);
  if (!parent_.send(MessageType::kNeed, {raw(slot), wanted})) throw Ended{};
}

void Supply::await(uint32_t slot) {
  std::optional<Message> message = parent_.receive();
  if (!message || message->type != MessageType::kBlocks || message->fields.size() != 1 ||
      message->fields[0] != raw(slot)) {
    throw Ended{};
  }
}

bool Supply::hold(size_t blocks) {
  size_t slots = (blocks + Staging::kSlotBlocks - 1) / Staging::kSlotBlocks;
  if (slots > Staging::kMostHeld) return false;
  to_hold_ = static_cast<uint32_t>(slots);
  return true;
}

// mneme-run is to fill half of the slots at a time. The others are those that the device may not have read yet: a slot
// is asked for again only when as many have been taken since, so that waiting for the device is short.
void Supply::fetch(std::span<const Digest> digests, const Replay::Take& take) {
  auto batch = [&](size_t number) {
    size_t first = number * Staging::kSlotBlocks;
    return digests.subspan(first, std::min(Staging::kSlotBlocks, digests.size() - first));
  };
  const size_t slots = Staging::kSlots - held_;
  auto slot = [&](size_t number) { return held_ + static_cast<uint32_t>(number % slots); };
  const bool asks = std::exchange(filled_, 0) != digests.size();
  size_t batches = (digests.size() + Staging::kSlotBlocks - 1) / Staging::kSlotBlocks;
  for (size_t taken = 0, asked = 0; taken < batches; taken++) {
    for (; asks && asked < std::min(batches, taken + slots / 2); asked++) ask(slot(asked), batch(asked));
    if (asks) await(slot(taken));
    std::span<std::byte> memory = staging_.slot(slot(taken));
    if (!asks) Staging::populate(memory.first(batch(taken).size() * bundle::kBlockSize));
    // Where there is little to fetch it would take longer than it saves.
    if (batch(taken).size() == Staging::kSlotBlocks) device_.pin(memory);
    take(taken * Staging::kSlotBlocks, memory.first(batch(taken).size() * bundle::kBlockSize));
    device_.mark(slot(taken));
  }
  held_ += std::exchange(to_hold_, 0);
}

}  // namespace mneme::run
