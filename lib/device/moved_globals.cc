// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/moved_globals.h"

#include <algorithm>
#include <cstring>

namespace mneme::device {
namespace {

using bundle::kBlockSize;

// Away from all that is recorded and from the numbers that stand for functions.
constexpr uint64_t kNewBase = 0x6c0000000000;
constexpr std::byte kNothing{0xCB};

// Each in blocks of its own, at the same place in its first block: so as aligned as it was.
std::vector<Move> new_places(std::span<const bundle::Segment> segments) {
  std::vector<Move> moves;
  uint64_t next = kNewBase;
  for (size_t i = segments.size(); i-- > 0;) {
    const bundle::Segment& segment = segments[i];
    // A texture's array is not where code would find it: its segment stands for it only.
    if (segment.symbol.empty() || segment.symbol.starts_with(bundle::kArraySymbol)) continue;
    uint64_t to = next + segment.address % kBlockSize;
    moves.push_back({segment.address, segment.size, to});
    next = (to + segment.size) / kBlockSize * kBlockSize + kBlockSize;
  }
  return moves;
}

class MovedGlobals : public Device {
 public:
  MovedGlobals(Device& device, std::span<const bundle::Segment> segments)
      : device_(device), moves_(new_places(segments)) {
    for (const Move& move : moves_.all()) {
      uint64_t begin = move.to / kBlockSize * kBlockSize;
      device_.map(begin, (move.to + move.size - begin) / kBlockSize * kBlockSize + kBlockSize);
    }
  }

  std::string name() const override { return device_.name(); }
  std::string clock() const override { return device_.clock(); }
  bool runs_in_this_process() const override { return device_.runs_in_this_process(); }

  void map(uint64_t address, uint64_t size) override {
    device_.map(address, size);
    for_pieces(address, size, [&](uint64_t at, uint64_t bytes, const Move* move) {
      if (move) device_.write(at, std::vector<std::byte>(bytes, kNothing));
    });
  }

  void write(uint64_t address, Bytes bytes) override {
    std::vector<std::byte> words(bytes.begin(), bytes.end());
    moves_.there(words);
    for_pieces(address, bytes.size(), [&](uint64_t at, uint64_t size, const Move* move) {
      device_.write(moved(at, move), Bytes(words).subspan(at - address, size));
    });
  }

  void read(uint64_t address, std::span<std::byte> out) override {
    for_pieces(address, out.size(), [&](uint64_t at, uint64_t size, const Move* move) {
      device_.read(moved(at, move), out.subspan(at - address, size));
    });
    moves_.back(out);
  }

  std::unique_ptr<Code> load(const bundle::KernelInfo& kernel, Bytes code) override {
    return device_.load(kernel, code);
  }

  uint64_t execute(Code& code, const Launch& launch) override {
    Launch there = launch;
    moves_.there(std::as_writable_bytes(std::span(there.arguments)));
    for (bundle::Segment& segment : there.segments) {
      for (const Move& move : moves_.all()) {
        if (!segment.symbol.empty() && move.from == segment.address) segment.address = move.to;
      }
    }
    std::ranges::sort(there.segments, {}, &bundle::Segment::address);
    return device_.execute(code, there);
  }

 private:
  static uint64_t moved(uint64_t address, const Move* move) {
    return move ? move->to + (address - move->from) : address;
  }

  // Calls `take(address, size, move)` for what lies in one variable, or in none, ascending.
  void for_pieces(uint64_t address, uint64_t size, const auto& take) const {
    uint64_t end = address + size;
    for (const Move& move : moves_.all()) {
      if (move.from + move.size <= address) continue;
      if (move.from >= end) break;
      if (address < move.from) take(address, move.from - address, nullptr);
      address = std::max(address, move.from);
      uint64_t until = std::min(end, move.from + move.size);
      take(address, until - address, &move);
      address = until;
    }
    if (address < end) take(address, end - address, nullptr);
  }

  Device& device_;
  Moves moves_;
};

}  // namespace

Moves::Moves(std::vector<Move> moves) : moves_(std::move(moves)) {
  std::ranges::sort(moves_, {}, &Move::from);
  for (const Move& move : moves_) {
    there_.push_back({move.from, move.from + move.size, move.to});
    back_.push_back({move.to, move.to + move.size, move.from});
  }
  there_ = sorted(std::move(there_));
  back_ = sorted(std::move(back_));
}

std::vector<Moves::Way> Moves::sorted(std::vector<Way> ways) {
  std::ranges::sort(ways, {}, &Way::begin);
  for (size_t i = 0; i + 1 < ways.size(); i++) ways[i].end = std::min(ways[i].end, ways[i + 1].begin - 1);
  return ways;
}

void Moves::translate(std::span<std::byte> words, const std::vector<Way>& ways) {
  if (ways.empty()) return;
  uint64_t least = ways.front().begin, most = ways.back().end;
  for (size_t at = 0; at + 8 <= words.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, &words[at], sizeof word);
    if (word < least || word > most) continue;
    auto way = std::ranges::upper_bound(ways, word, {}, &Way::begin);
    --way;
    if (word > way->end) continue;
    word = way->target + (word - way->begin);
    std::memcpy(&words[at], &word, sizeof word);
  }
}

std::unique_ptr<Device> move_globals(Device& device, std::span<const bundle::Segment> segments) {
  return std::make_unique<MovedGlobals>(device, segments);
}

}  // namespace mneme::device
