// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "replay/replay.h"
#include "replay/worker/channel.h"
#include "replay/worker/staging.h"

namespace mneme::run {

// The worker's: has blocks come from mneme-run through staging memory. While the device still reads from some slots and
// one is taken, mneme-run fills others.
class Supply {
 public:
  struct Ended {};  // thrown when mneme-run is gone or does not keep to the protocol

  // All borrowed.
  Supply(Channel& parent, const Staging& staging, device::Device& device)
      : parent_(parent), staging_(staging), device_(device) {}

  // Replay::Fetch.
  void fetch(std::span<const Digest> digests, const Replay::Take& take);
  // Replay::Hold: those blocks stay in their slots, unless that leaves too few for others. Once for each instance.
  bool hold(size_t blocks);
  // Another instance begins; so many blocks, those of its first fetch, are in the first slots. 0: none are.
  void begin(uint32_t filled) {
    held_ = to_hold_ = 0;
    filled_ = filled;
  }

 private:
  void ask(uint32_t slot, std::span<const Digest> digests);
  void await(uint32_t slot);

  Channel& parent_;
  const Staging& staging_;
  device::Device& device_;
  uint32_t held_ = 0, to_hold_ = 0;  // slots, the first ones: that stay as they are; of the next fetch
  uint32_t filled_ = 0;
};

}  // namespace mneme::run
