// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/filler.h"

#include <algorithm>
#include <cstring>

#include "bundle/format.h"

namespace mneme::run {
namespace {

constexpr size_t kCopiedAtOnce = 16;  // blocks, by one thread
constexpr size_t kCopiedAlone = 64;   // so few are copied sooner than threads have begun

}  // namespace

void Filler::begin(std::span<std::byte> slot, std::string digests, const Block& block, std::span<Digest> known) {
  // Stays where it is while others come and go at the ends.
  Filling& filling = filling_.emplace_back(Filling{std::move(digests), block, {}});
  size_t count = filling.digests.size() / Digest::kSize;
  auto copy = [slot, count, known, &filling](size_t first) {
    const auto* wanted = reinterpret_cast<const std::byte*>(filling.digests.data());
    for (size_t i = first; i < std::min(count, first + kCopiedAtOnce); i++) {
      const Digest digest = Digest::load(wanted + i * Digest::kSize);
      if (!known.empty() && !digest.empty() && known[i] == digest) continue;
      if (!known.empty()) known[i] = Digest();
      Bytes bytes = filling.block(digest);
      std::memcpy(&slot[i * bundle::kBlockSize], bytes.data(), bundle::kBlockSize);
      if (!known.empty()) known[i] = digest;
    }
  };
  if (count <= kCopiedAlone) {
    std::packaged_task<void()> now([&] {
      for (size_t first = 0; first < count; first += kCopiedAtOnce) copy(first);
    });
    filling.parts.push_back(now.get_future());
    return now();
  }
  if (!threads_) threads_.emplace();
  for (size_t first = 0; first < count; first += kCopiedAtOnce) {
    filling.parts.push_back(threads_->submit([copy, first] { copy(first); }));
  }
}

void Filler::finish() {
  std::vector<std::future<void>> parts = std::move(filling_.front().parts);
  for (std::future<void>& part : parts) part.wait();  // all, before one of them throws
  filling_.pop_front();
  for (std::future<void>& part : parts) part.get();
}

void Filler::rest() {
  threads_.reset();
  filling_.clear();
}

}  // namespace mneme::run
