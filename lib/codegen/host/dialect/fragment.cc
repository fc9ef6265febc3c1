// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/fragment.h"

#include <llvm/Support/MathExtras.h>

namespace mneme::codegen::host {

using llvm::Value;

constexpr char kChooses = 's';
constexpr llvm::StringLiteral kAxes = "rckb";

unsigned Fragment::Axes::of(char axis) const {
  return axis == 'r' ? rows : axis == 'c' ? columns : axis == 'k' ? depth : blocks;
}

Fragment::Fragment(llvm::StringRef text, const Axes& lengths) {
  auto [of_lane, of_element] = text.split('|');
  auto read = [&](llvm::StringRef words, llvm::SmallVectorImpl<Bit>& bits, bool all) {
    llvm::SmallVector<llvm::StringRef, 8> parts;
    words.split(parts, ' ', -1, false);
    for (llvm::StringRef part : parts) {
      Bit bit{part[0], 0};
      part.drop_front().getAsInteger(10, bit.number);
      if (all || bit.axis == '-' || (1u << bit.number) < lengths.of(bit.axis)) bits.push_back(bit);
    }
  };
  read(of_lane, lane_, true);
  read(of_element, element_, false);
}

Value* Fragment::of_lane(llvm::IRBuilderBase& builder, Value* lane, char axis) const {
  Value* index = builder.getInt32(0);
  for (unsigned i = 0; i < lane_.size();) {
    unsigned first = i, mask = 0;  // bits that stay together
    for (; i < lane_.size() && lane_[i].axis == axis && lane_[i].number == lane_[first].number + (i - first); ++i) {
      mask |= 1u << i;
    }
    if (i == first) {
      ++i;
      continue;
    }
    Value* part = builder.CreateAnd(lane, mask);
    unsigned to = lane_[first].number;
    part = to > first ? builder.CreateShl(part, to - first) : builder.CreateLShr(part, first - to);
    index = builder.CreateOr(index, part);
  }
  return index;
}

unsigned Fragment::of_element(unsigned element, char axis) const {
  unsigned index = 0;
  for (unsigned i = 0; i < element_.size(); ++i) {
    if (element_[i].axis == axis && element >> i & 1) index |= 1u << element_[i].number;
  }
  return index;
}

Value* Fragment::place_of_lane(llvm::IRBuilderBase& builder, Value* lane, const Axes& strides) const {
  Value* place = builder.getInt32(0);
  for (char axis : kAxes) {
    if (!strides.of(axis)) continue;
    Value* index = of_lane(builder, lane, axis);
    place = builder.CreateAdd(place, builder.CreateMul(index, builder.getInt32(strides.of(axis))));
  }
  return place;
}

unsigned Fragment::place_of_element(unsigned element, const Axes& strides) const {
  unsigned place = 0;
  for (char axis : kAxes) place += of_element(element, axis) * strides.of(axis);
  return place;
}

bool Fragment::runs_along(char axis, unsigned count) const {
  for (unsigned i = 0; i < llvm::Log2_32(count); ++i) {
    if (i >= element_.size() || element_[i].axis != axis || element_[i].number != i) return false;
  }
  return true;
}

Value* Fragment::is_chosen(llvm::IRBuilderBase& builder, Value* lane, unsigned chosen) const {
  Value* bits = of_lane(builder, lane, kChooses);
  unsigned known = 0;
  for (const Bit& bit : lane_) known |= bit.axis == kChooses ? 1u << bit.number : 0;
  return builder.CreateICmpEQ(bits, builder.getInt32(chosen & known));
}

}  // namespace mneme::codegen::host
