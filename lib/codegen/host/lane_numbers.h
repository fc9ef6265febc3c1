// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers, one for each lane of a wave, and arithmetic on them as IR has it.
#pragma once
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Type.h>

#include <array>
#include <cstdint>
#include <optional>

namespace mneme::codegen::host {

// Those of the largest waves. What smaller ones exchange, lanes of these do.
inline constexpr unsigned kTriedLanes = 64;

// A number for each lane, as wide as its type. Pointers into a shared variable have `address_of` it in them.
struct LaneNumbers {
  std::array<uint64_t, kTriedLanes> of = {};
  uint64_t made_up = 0;    // a bit for each lane whose number is not known
  bool by_lane = false;    // made of what differs by work-item
  bool of_memory = false;  // made of what memory held, which may change
  bool of_launch = false;  // made of the block's shape or number, which other launches have differently

  static LaneNumbers all(uint64_t number);  // the same in all lanes
  bool uniform() const;
};

// Has `numbers` be made of what `made_of` is made of, too.
void add_origin(LaneNumbers& numbers, const LaneNumbers& made_of);
// Zeros, made of both, and made up where one of them is.
LaneNumbers joined(const LaneNumbers& a, const LaneNumbers& b);

// Bits of an integer or pointer; 0 for what is computed with no numbers of ours.
unsigned width_of(const llvm::Type* type);
uint64_t cut(uint64_t number, unsigned width);
// A number that has nothing to do with this one but that it is always the same.
uint64_t mixed(uint64_t number);

// What an operator of two integers gives; nothing where it traps.
std::optional<uint64_t> applied(unsigned opcode, uint64_t a, uint64_t b, unsigned width);
// What an intrinsic function of one or two integers gives; nothing of those that are not known.
std::optional<uint64_t> given_by(llvm::Intrinsic::ID intrinsic, uint64_t a, uint64_t b, unsigned width);

}  // namespace mneme::codegen::host
