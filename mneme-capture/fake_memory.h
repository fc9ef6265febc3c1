// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: memory of a few blocks at an address of its own, and snapshots of it.
#pragma once
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "snapshot.h"

namespace mneme::capture {

inline constexpr uint64_t kFakeBase = 0x400000000000;

class FakeMemory final : public MemoryView {
 public:
  explicit FakeMemory(size_t blocks) : bytes_(blocks * bundle::kBlockSize, '\0') {}

  Bytes at(uint64_t address, uint64_t size, std::byte*) const override {
    return std::as_bytes(std::span(bytes_)).subspan(address - kFakeBase, size);
  }
  bool untouched(uint64_t, uint64_t) const override { return false; }

  void put(uint64_t address, uint64_t word) { std::memcpy(&bytes_[address - kFakeBase], &word, sizeof word); }
  Snapshot take(const std::vector<bundle::Segment>& segments) const {
    return Snapshot::take(segments, *this, nullptr, pool_);
  }

 private:
  std::string bytes_;
  Snapshot::Pool pool_ = std::make_shared<bundle::BlockPool>(UINT64_MAX);
};

}  // namespace mneme::capture
