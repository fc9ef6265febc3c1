// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "followed_pointers.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_set>

namespace mneme::capture {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);
constexpr size_t kMostPointers = 1 << 20;
constexpr uint64_t kMostWords = 1 << 26;     // that are looked at
constexpr uint64_t kMostElements = 1 << 16;  // of arrays within one place

// Less than from recorded memory to other, by elements of 16 bytes; and more than there is between any two addresses of
// a process: seeds and hashes are rarely less.
constexpr uint64_t kFar = uint64_t{1} << 40, kTooFar = uint64_t{1} << 47;

bool is_far(uint64_t number) {
  const uint64_t distance = std::min(number, -number);
  return distance >= kFar && distance < kTooFar;
}

constexpr char kOrdinary[] = "memory that no allocation known to the recorder gave out";

// The last of them, by address, that begins at or before the address, and contains it or ends there.
template <class Ranges>
auto containing(const Ranges& ranges, uint64_t address) -> decltype(&ranges.front()) {
  auto after = std::ranges::upper_bound(ranges, address, {}, [](const auto& range) { return range.address; });
  if (after == ranges.begin()) return nullptr;
  const auto& range = *std::prev(after);
  return address - range.address <= range.size ? &range : nullptr;
}

class Walk {
 public:
  Walk(const bundle::KernelInfo& kernel, const record::Prologue& launch, const std::vector<bundle::Segment>& segments,
       const Snapshot& memory)
      : kernel_(kernel), launch_(launch), segments_(segments), memory_(memory), behind_(kernel.pointers.size()) {
    for (size_t i = 0; i < kernel.pointers.size(); ++i) {
      for (const bundle::PointerPlace& place : kernel.pointers[i].at) {
        if (place.pointer >= 0) behind_[static_cast<size_t>(place.pointer)].push_back({i, &place});
      }
    }
  }

  FollowedPointers run() {
    for (size_t i = 0; i < kernel_.pointers.size(); ++i) {
      for (const bundle::PointerPlace& place : kernel_.pointers[i].at) {
        if (place.pointer < 0 && place.symbol.empty()) look_at_arguments(i, place);
        if (!place.symbol.empty()) look_at_variable(i, place);
      }
    }
    found_.strays |= numbers_lead_far();
    while (!pending_.empty()) {
      auto [pointer, address] = pending_.back();
      pending_.pop_back();
      const bundle::Segment* segment = containing(segments_, address);
      for (const auto& [held, place] : behind_[pointer]) look_at_memory(held, *place, *segment, address);
    }
    return std::move(found_);
  }

 private:
  void look_at_arguments(size_t pointer, const bundle::PointerPlace& place) {
    auto offset = static_cast<uint64_t>(place.offset);
    for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
      const bundle::Argument& argument = kernel_.arguments[i];
      uint64_t end = std::min<uint64_t>(argument.offset + argument.size, launch_.arguments.size());
      if (offset < argument.offset || offset >= end) continue;
      std::vector<uint64_t> places = positions(place, offset - argument.offset, end - argument.offset);
      for (uint64_t at : places) {
        at += argument.offset;
        uint64_t word = 0;
        std::memcpy(&word, launch_.arguments.data() + at, kWord);
        const char* what = argument.kind == "struct" ? ", a structure," : "";
        if (take(pointer, word) && told_arguments_.insert(i).second)
          found_.missing.push_back(fmt::format("argument {}{} points to {:#x}, {}", i, what, word, kOrdinary));
      }
    }
  }

  // Whether one of the numbers, or two of them together, added to an address of recorded memory may come to any other.
  bool numbers_lead_far() const {
    std::vector<uint64_t> numbers;
    for (const bundle::Argument& argument : kernel_.arguments) {
      if (argument.type != "i64" || argument.offset + kWord > launch_.arguments.size()) continue;
      uint64_t number = 0;
      std::memcpy(&number, launch_.arguments.data() + argument.offset, kWord);
      if (std::min(number, -number) >= kFar && !containing(segments_, number)) numbers.push_back(number);
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (is_far(numbers[i])) return true;
      for (size_t k = 0; k < i; ++k) {
        if (is_far(numbers[i] + numbers[k]) || is_far(numbers[i] - numbers[k])) return true;
      }
    }
    return false;
  }

  void look_at_variable(size_t pointer, const bundle::PointerPlace& place) {
    for (const bundle::Segment& segment : segments_) {
      bool its = segment.symbol == place.symbol && segment.device == launch_.device;
      if (its) look_at_memory(pointer, place, segment, segment.address);
    }
  }

  void look_at_memory(size_t pointer, const bundle::PointerPlace& place, const bundle::Segment& segment,
                      uint64_t address) {
    uint64_t begin = segment.address;
    uint64_t first = address - begin + static_cast<uint64_t>(place.offset);  // of the segment; may be ahead of it
    if (place.stride > 0) {
      first = (address - begin) % place.stride + remainder(place.offset, place.stride);
      if (!walked_.emplace(pointer, &place, begin, first % place.stride).second) return;
    }
    for (uint64_t at : positions(place, first, segment.size)) {
      if (++words_ > kMostWords) return;
      uint64_t word = word_at(begin + at);
      if (take(pointer, word)) tell_of_memory(begin + at, word);
    }
  }

  static uint64_t remainder(int64_t offset, uint64_t stride) {
    return offset < 0 ? (stride - static_cast<uint64_t>(-offset) % stride) % stride
                      : static_cast<uint64_t>(offset) % stride;
  }

  // Of whole words in `size` bytes: `first`, or all that are multiples of the stride from it, in each of the elements.
  static std::vector<uint64_t> positions(const bundle::PointerPlace& place, uint64_t first, uint64_t size) {
    std::vector<uint64_t> firsts{first};
    uint64_t stride = place.stride;
    for (const bundle::Elements& array : place.arrays) {
      if (array.count == 0 || array.count > kMostElements / firsts.size()) {  // more than is worth telling apart
        stride = std::gcd(stride, array.stride);
        continue;
      }
      size_t count = firsts.size();
      for (uint64_t i = 1; i < array.count; ++i) {
        for (size_t k = 0; k < count; ++k) firsts.push_back(firsts[k] + i * array.stride);
      }
    }
    std::vector<uint64_t> positions;
    for (uint64_t at : firsts) {
      if (stride > 0) at %= stride;
      for (; at < size && size - at >= kWord && positions.size() < kMostWords; at += stride) {
        positions.push_back(at);
        if (stride == 0) break;
      }
    }
    return positions;
  }

  // Follows the pointer if it leads to recorded memory. True: it leads to the process's ordinary memory.
  bool take(size_t pointer, uint64_t word) {
    if (word == 0) return false;
    if (kernel_.pointers[pointer].number) {
      found_.strays |= is_far(word) && !containing(segments_, word);
      return false;
    }
    bool polled = kernel_.pointers[pointer].polled;
    if (const bundle::Segment* segment = containing(segments_, word)) {
      if (polled && segment->kind == bundle::SegmentKind::kHost) found_.polls = true;
      bool leads_on = !behind_[pointer].empty() && seen_.size() < kMostPointers;
      if (leads_on && seen_.emplace(pointer, word).second) pending_.emplace_back(pointer, word);
      return false;
    }
    const record::MemoryRange* ordinary = containing(launch_.ordinary, word);
    const bool named = containing(launch_.outside, word);  // by others
    bool leads_there = ordinary && word - ordinary->address < ordinary->size && !named;
    if (!leads_there && !named) found_.strays = true;
    if (polled && leads_there) found_.polls = true;
    return leads_there;
  }

  void tell_of_memory(uint64_t at, uint64_t word) {
    if (!told_ranges_.insert(containing(launch_.ordinary, word)->address).second) return;
    found_.missing.push_back(fmt::format("the memory at {:#x} holds the address {:#x}, {}", at, word, kOrdinary));
  }

  uint64_t word_at(uint64_t address) {
    uint64_t word = 0;
    auto* out = reinterpret_cast<std::byte*>(&word);
    for (uint64_t done = 0; done < kWord;) {
      uint64_t offset = (address + done) % bundle::kBlockSize;
      if (uint64_t block = address + done - offset; block_.empty() || block != block_address_) {
        block_ = memory_.block(block);
        block_address_ = block;
      }
      uint64_t size = std::min(kWord - done, bundle::kBlockSize - offset);
      std::memcpy(out + done, block_.data() + offset, size);
      done += size;
    }
    return word;
  }

  struct Held {
    size_t pointer;
    const bundle::PointerPlace* place;
  };

  const bundle::KernelInfo& kernel_;
  const record::Prologue& launch_;
  const std::vector<bundle::Segment>& segments_;
  const Snapshot& memory_;
  std::vector<std::vector<Held>> behind_;  // of each pointer: those that lie behind what it points to
  std::vector<std::pair<size_t, uint64_t>> pending_;
  std::set<std::pair<size_t, uint64_t>> seen_;  // pointers with their values
  // Pointers with the places, segments and first words that were looked at for them.
  std::set<std::tuple<size_t, const bundle::PointerPlace*, uint64_t, uint64_t>> walked_;
  std::set<size_t> told_arguments_;
  std::set<uint64_t> told_ranges_;
  uint64_t words_ = 0;
  Bytes block_;
  uint64_t block_address_ = 0;
  FollowedPointers found_;
};

}  // namespace

FollowedPointers follow_pointers(const bundle::KernelInfo& kernel, const record::Prologue& launch,
                                 const std::vector<bundle::Segment>& segments, const Snapshot& memory) {
  return Walk(kernel, launch, segments, memory).run();
}

}  // namespace mneme::capture
