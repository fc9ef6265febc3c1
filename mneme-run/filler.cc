// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "filler.h"

#include <algorithm>
#include <cstring>

#include "bundle/format.h"

namespace mneme::run {
namespace {

constexpr size_t kCopiedAtOnce = 8;  // blocks, by one thread

}  // namespace

void Filler::fill(std::span<std::byte> slot, Bytes digests, const Block& block) {
  size_t count = digests.size() / Digest::kSize;
  auto copy = [&](size_t first) {
    for (size_t i = first; i < std::min(count, first + kCopiedAtOnce); i++) {
      Bytes bytes = block(Digest::load(digests.data() + i * Digest::kSize));
      std::memcpy(&slot[i * bundle::kBlockSize], bytes.data(), bundle::kBlockSize);
    }
  };
  if (count <= kCopiedAtOnce) return copy(0);
  if (!threads_) threads_.emplace();
  std::vector<std::future<void>> copying;
  for (size_t first = 0; first < count; first += kCopiedAtOnce) {
    copying.push_back(threads_->submit([&copy, first] { copy(first); }));
  }
  for (std::future<void>& part : copying) part.wait();  // all, before one of them throws
  for (std::future<void>& part : copying) part.get();
}

}  // namespace mneme::run
