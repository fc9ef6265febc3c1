// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shadow memory: for each word of 4 bytes, who wrote it last and who has read it since.
#pragma once
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/host/checks/history.h"

namespace mneme::device::host {

// `readers`: those that have read it since the last write, and atomic operations since then.
struct Slot {
  Tag writer = Tag::kNone, readers = Tag::kNone;
};

// A word, or its bytes where accesses are smaller.
class Word {
 public:
  bool is_split() const { return static_cast<uint32_t>(slot_.writer) == kSplit; }
  Slot& whole() { return slot_; }
  size_t bytes() const { return static_cast<uint32_t>(slot_.readers); }  // of one that is split: their number
  void split(size_t number) { slot_ = {static_cast<Tag>(kSplit), static_cast<Tag>(number)}; }

 private:
  static constexpr uint32_t kSplit = ~0u;
  Slot slot_;
};

class Shadow {
 public:
  static constexpr uint64_t kChunk = 4096;  // bytes that a piece of shadow memory stands for
  static constexpr uint64_t kWords = kChunk / 4;
  using Bytes = std::array<Slot, 4>;

  // The words from a multiple of kChunk on, made where there are none.
  Word* chunk(uint64_t address) {
    Cached& cached = cache_[address / kChunk % cache_.size()];
    if (cached.begin == address) return cached.words;
    std::unique_ptr<Word[]>& words = chunks_[address];
    if (!words) words = std::make_unique<Word[]>(kWords);
    cached = {address, words.get()};
    return words.get();
  }
  Bytes& bytes(const Word& word) { return split_[word.bytes()]; }
  void split(Word& word) {
    const Slot before = word.whole();
    size_t number = split_.size();
    if (free_.empty()) {
      split_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    split_[number].fill(before);
    word.split(number);
  }
  void join(Word& word) {
    free_.push_back(word.bytes());
    word.whole() = {};
  }
  void clear() {
    chunks_.clear();
    cache_ = {};
    split_.clear();
    free_.clear();
  }

 private:
  struct Cached {
    uint64_t begin = 1;  // no chunk begins there
    Word* words = nullptr;
  };
  std::array<Cached, 256> cache_ = {};
  std::unordered_map<uint64_t, std::unique_ptr<Word[]>> chunks_;
  std::vector<Bytes> split_;
  std::vector<size_t> free_;
};

}  // namespace mneme::device::host
