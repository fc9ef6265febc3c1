// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bundle/format.h"
#include "device/device.h"

namespace mneme::device {

// A device variable, or a function, that is not where it was recorded.
struct Move {
  uint64_t from = 0;  // address as recorded
  uint64_t size = 0;  // bytes; 0 of a function: nothing points into it
  uint64_t to = 0;    // address now
};

// Translates the words (8 bytes, at multiples of 8) that point into variables which moved. A word is taken for such a
// pointer by its value alone, so data that happens to spell such an address is translated as well; as the same word is
// translated back when it is compared, that shows only if the kernel computes with it. The address just behind a
// variable belongs to it unless the next one begins there.
class Moves {
 public:
  explicit Moves(std::vector<Move> moves);  // disjoint, in any order, at neither place

  const std::vector<Move>& all() const { return moves_; }  // by recorded address
  void there(std::span<std::byte> words) const { translate(words, there_); }
  void back(std::span<std::byte> words) const { translate(words, back_); }

  struct Way {
    uint64_t begin, end, target;  // `end` is the last address that belongs to it
  };
  // What becomes of addresses there, and back; by `begin`, disjoint.
  const std::vector<Way>& ways_there() const { return there_; }
  const std::vector<Way>& ways_back() const { return back_; }

 private:
  static std::vector<Way> sorted(std::vector<Way> ways);
  static void translate(std::span<std::byte> words, const std::vector<Way>& ways);

  std::vector<Move> moves_;
  std::vector<Way> there_, back_;
};

// The same device, but with each recorded variable elsewhere than when it was recorded, in the reverse order, as
// wherever a vendor's loader may put it. Addresses that go in and bytes that come out are the recording's still. Where
// the variables were is filled with 0xCB, so that who uses an address that was not translated finds no right bytes.
// `device` is borrowed, and nothing is mapped there yet.
std::unique_ptr<Device> move_globals(Device& device, std::span<const bundle::Segment> segments);

}  // namespace mneme::device
