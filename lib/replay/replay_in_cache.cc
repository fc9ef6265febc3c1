// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Executions on a device with images that are to find in its cache what the kernel itself leaves there.
#include <algorithm>
#include <map>

#include "replay/replay.h"

namespace mneme::run {

using bundle::kBlockSize;

void Replay::choose_source(const ExecuteOnce& execute_once, Usual usual) {
  constexpr int kTrials = 3;
  constexpr double kClearly = 0.98;  // as long, or less, than from the device
  if (source_ || usual.blocks.empty()) return;
  if (layout_.block_bytes() + usual.blocks.size() * kBlockSize <= device_.cache_size() / 2) {
    source_ = From::kDevice;
    return;
  }
  std::map<From, uint64_t> least{{From::kDevice, UINT64_MAX}, {From::kHost, UINT64_MAX}};
  for (int trial = 0; trial < kTrials; trial++) {
    for (auto& [from, shortest] : least) {
      shortest = std::min(shortest, execute_in_its_cache(execute_once, usual, from));
      note_changes();
      restore();
    }
  }
  bool host = static_cast<double>(least[From::kHost]) < kClearly * static_cast<double>(least[From::kDevice]);
  source_ = host ? From::kHost : From::kDevice;
}

uint64_t Replay::execute_in_its_cache(const ExecuteOnce& execute_once, Usual& usual, From from) {
  auto restore_between = [&](const std::vector<Block>& changed) {
    execute_once(false);
    dirty_ = changed;
    if (changed.empty()) note_changes();
    restore(from);
    return execute_once(true);
  };
  uint64_t taken = restore_between(usual.blocks);
  if (usual.blocks.empty()) return taken;
  note_changes();
  usual.always = std::ranges::includes(usual.blocks, dirty_, {}, &Block::address, &Block::address);
  if (!usual.always) {
    usual.blocks.clear();
    restore();
    taken = restore_between({});
  }
  dirty_.clear();
  return taken;
}

}  // namespace mneme::run
