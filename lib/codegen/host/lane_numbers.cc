// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/lane_numbers.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/bit.h>
#include <llvm/IR/Instruction.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace mneme::codegen::host {

bool LaneNumbers::uniform() const {
  return llvm::all_of(of, [&](uint64_t number) { return number == of[0]; });
}

void add_origin(LaneNumbers& numbers, const LaneNumbers& made_of) {
  numbers.by_lane |= made_of.by_lane;
  numbers.of_memory |= made_of.of_memory;
  numbers.of_launch |= made_of.of_launch;
}

LaneNumbers joined(const LaneNumbers& a, const LaneNumbers& b) {
  LaneNumbers numbers;
  numbers.made_up = a.made_up | b.made_up;
  add_origin(numbers, a);
  add_origin(numbers, b);
  return numbers;
}

uint64_t mixed(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

unsigned width_of(const llvm::Type* type) {
  if (type->isPointerTy()) return 64;
  return type->isIntegerTy() && type->getIntegerBitWidth() <= 64 ? type->getIntegerBitWidth() : 0;
}

uint64_t cut(uint64_t number, unsigned width) {
  return width ? number & llvm::maskTrailingOnes<uint64_t>(width) : number;
}

LaneNumbers LaneNumbers::all(uint64_t number) {
  LaneNumbers numbers;
  numbers.of.fill(number);
  return numbers;
}

std::optional<uint64_t> applied(unsigned opcode, uint64_t a, uint64_t b, unsigned width) {
  int64_t left = llvm::SignExtend64(a, width), right = llvm::SignExtend64(b, width);
  bool shifts =
      opcode == llvm::Instruction::Shl || opcode == llvm::Instruction::LShr || opcode == llvm::Instruction::AShr;
  if (shifts && b >= width) return std::nullopt;
  bool overflows = b == 0 || (right == -1 && left == llvm::minIntN(width));
  switch (opcode) {
    case llvm::Instruction::Add:
      return a + b;
    case llvm::Instruction::Sub:
      return a - b;
    case llvm::Instruction::Mul:
      return a * b;
    case llvm::Instruction::And:
      return a & b;
    case llvm::Instruction::Or:
      return a | b;
    case llvm::Instruction::Xor:
      return a ^ b;
    case llvm::Instruction::Shl:
      return a << b;
    case llvm::Instruction::LShr:
      return a >> b;
    case llvm::Instruction::AShr:
      return static_cast<uint64_t>(left >> b);
    case llvm::Instruction::UDiv:
      return b ? std::optional(a / b) : std::nullopt;
    case llvm::Instruction::URem:
      return b ? std::optional(a % b) : std::nullopt;
    case llvm::Instruction::SDiv:
      return overflows ? std::nullopt : std::optional(static_cast<uint64_t>(left / right));
    case llvm::Instruction::SRem:
      return overflows ? std::nullopt : std::optional(static_cast<uint64_t>(left % right));
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> given_by(llvm::Intrinsic::ID intrinsic, uint64_t a, uint64_t b, unsigned width) {
  int64_t left = llvm::SignExtend64(a, width), right = llvm::SignExtend64(b, width);
  switch (intrinsic) {
    case llvm::Intrinsic::umin:
      return std::min(a, b);
    case llvm::Intrinsic::umax:
      return std::max(a, b);
    case llvm::Intrinsic::smin:
      return static_cast<uint64_t>(std::min(left, right));
    case llvm::Intrinsic::smax:
      return static_cast<uint64_t>(std::max(left, right));
    case llvm::Intrinsic::usub_sat:
      return a > b ? a - b : 0;
    case llvm::Intrinsic::abs:
      return static_cast<uint64_t>(left < 0 ? -left : left);
    case llvm::Intrinsic::ctpop:
      return llvm::popcount(a);
    case llvm::Intrinsic::cttz:
      return a ? llvm::countr_zero(a) : width;
    case llvm::Intrinsic::ctlz:
      return llvm::countl_zero(a) - (64 - width);
    default:
      return std::nullopt;
  }
}

}  // namespace mneme::codegen::host
