// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "supply.h"

#include <algorithm>
#include <cstring>

namespace mneme::run {
namespace {

// Slots that mneme-run is to fill at a time. The others are those that the device may not have read yet: a slot is
// asked for again only when as many have been taken since, so that waiting for the device is short.
constexpr size_t kAskedAtOnce = Staging::kSlots / 2;

}  // namespace

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

void Supply::fetch(std::span<const Digest> digests, const Replay::Take& take) {
  auto batch = [&](size_t number) {
    size_t first = number * Staging::kSlotBlocks;
    return digests.subspan(first, std::min(Staging::kSlotBlocks, digests.size() - first));
  };
  auto slot = [](size_t number) { return static_cast<uint32_t>(number % Staging::kSlots); };
  size_t batches = (digests.size() + Staging::kSlotBlocks - 1) / Staging::kSlotBlocks;
  for (size_t taken = 0, asked = 0; taken < batches; taken++) {
    for (; asked < std::min(batches, taken + kAskedAtOnce); asked++) ask(slot(asked), batch(asked));
    await(slot(taken));
    std::span<std::byte> memory = staging_.slot(slot(taken));
    // Where there is little to fetch it would take longer than it saves.
    if (batch(taken).size() == Staging::kSlotBlocks) device_.pin(memory);
    take(taken * Staging::kSlotBlocks, memory.first(batch(taken).size() * bundle::kBlockSize));
    device_.mark(slot(taken));
  }
}

}  // namespace mneme::run
