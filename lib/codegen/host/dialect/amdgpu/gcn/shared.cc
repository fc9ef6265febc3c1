// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions on shared memory, and those of its unit that move values between lanes.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/memory.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

// "swizzle(SWAP,1)" as the offset that says so, in the assembler's words: quads of lanes in another order, or
// lane & and | or ^ xor, of 32 lanes.
std::optional<uint32_t> swizzle_offset(StringRef text) {
  if (!text.consume_front("swizzle(") || !text.consume_back(")")) return std::nullopt;
  llvm::SmallVector<StringRef, 5> parts;
  text.split(parts, ',');
  for (StringRef& part : parts) part = part.trim();
  uint32_t numbers[4] = {}, given = 0;
  for (StringRef part : llvm::drop_begin(parts)) {
    if (given == 4 || (part.getAsInteger(0, numbers[given]) && parts[0] != "BITMASK_PERM")) return std::nullopt;
    ++given;
  }
  auto masks = [](uint32_t and_mask, uint32_t or_mask, uint32_t xor_mask) {
    return and_mask | or_mask << 5 | xor_mask << 10;
  };
  const uint32_t size = numbers[0];
  const bool is_power = llvm::isPowerOf2_32(size) && size <= 32;
  if (parts[0] == "QUAD_PERM" && given == 4 && llvm::all_of(numbers, [](uint32_t lane) { return lane < 4; })) {
    return 0x8000 | numbers[0] | numbers[1] << 2 | numbers[2] << 4 | numbers[3] << 6;
  }
  if (parts[0] == "SWAP" && given == 1 && is_power && size <= 16) return masks(31, 0, size);
  if (parts[0] == "REVERSE" && given == 1 && is_power && size > 1) return masks(31, 0, size - 1);
  if (parts[0] == "BROADCAST" && given == 2 && is_power && numbers[1] < size) return masks(32 - size, numbers[1], 0);
  if (parts[0] != "BITMASK_PERM" || given != 1) return std::nullopt;
  // "01pip": of each bit of the lane's number, the highest first.
  StringRef bits = parts[1];
  if (!bits.consume_front("\"") || !bits.consume_back("\"") || bits.size() != 5) return std::nullopt;
  uint32_t and_mask = 0, or_mask = 0, xor_mask = 0;
  for (char c : bits) {
    if (!StringRef("01pi").contains(c)) return std::nullopt;
    and_mask = and_mask << 1 | (c == 'p' || c == 'i');
    or_mask = or_mask << 1 | (c == '1');
    xor_mask = xor_mask << 1 | (c == 'i');
  }
  return masks(and_mask, or_mask, xor_mask);
}

class SharedAccess {
 public:
  SharedAccess(GcnInstruction& instruction, StringRef name) : in_(instruction), name_(name) {}

  bool raise() {
    if (raise_lanes()) return true;
    if (has_more_than_hints(in_.statement, {"offset", "offset0", "offset1", "gds"}) || in_.statement.has("gds")) {
      return false;
    }
    for (StringRef word : {"read2st64_", "load_2addr_stride64_"}) {
      if (name_.consume_front(word)) return load_two(64);
    }
    for (StringRef word : {"read2_", "load_2addr_"}) {
      if (name_.consume_front(word)) return load_two(1);
    }
    for (StringRef word : {"write2st64_", "store_2addr_stride64_"}) {
      if (name_.consume_front(word)) return store_two(64);
    }
    for (StringRef word : {"write2_", "store_2addr_"}) {
      if (name_.consume_front(word)) return store_two(1);
    }
    for (StringRef word : {"read_", "load_"}) {
      if (name_.consume_front(word)) return load();
    }
    // "ds_storexchg" is an update.
    for (StringRef word : {"write_", "store_"}) {
      if (name_.consume_front(word)) return store();
    }
    return update();
  }

 private:
  StringRef operand(size_t i) const {
    return i < in_.statement.operands.size() ? StringRef(in_.statement.operands[i]) : StringRef();
  }
  bool has_operands(size_t count) const { return in_.statement.operands.size() == count; }

  // The distance is that modifier's, in so many bytes.
  Value* address(size_t i, StringRef modifier = "offset", unsigned unit = 1) {
    std::optional<int64_t> offset = in_.statement.number(modifier, 0);
    Value* base = offset ? in_.registers.read_shared_address(operand(i)) : nullptr;
    return base ? gcn_behind(in_.builder, base, *offset * unit) : nullptr;
  }

  bool load() {
    std::optional<GcnSize> size = gcn_size(name_);
    Value* from = size && has_operands(2) ? address(1) : nullptr;
    return from && in_.registers.write(operand(0), gcn_load(in_, from, *size));
  }

  bool store() {
    std::optional<GcnSize> size = gcn_size(name_);
    if (!size || !has_operands(2)) return false;
    Value *to = address(0), *value = in_.registers.read(operand(1), {GcnType::kBits, std::max(size->bits, 32U), 1});
    if (!to || !value) return false;
    gcn_store(in_, to, *size, value);
    return true;
  }

  bool load_two(unsigned stride) {
    std::optional<GcnSize> size = gcn_size(name_);
    if (!size || (size->bits != 32 && size->bits != 64) || !has_operands(2)) return false;
    unsigned unit = stride * size->bits / 8;
    Value *first = address(1, "offset0", unit), *second = address(1, "offset1", unit);
    if (!first || !second) return false;
    llvm::Type* whole = in_.builder.getIntNTy(2 * size->bits);
    Value* low = in_.builder.CreateZExt(gcn_load(in_, first, *size), whole);
    Value* high = in_.builder.CreateZExt(gcn_load(in_, second, *size), whole);
    return in_.registers.write(operand(0), in_.builder.CreateOr(low, in_.builder.CreateShl(high, size->bits)));
  }

  bool store_two(unsigned stride) {
    std::optional<GcnSize> size = gcn_size(name_);
    if (!size || (size->bits != 32 && size->bits != 64) || !has_operands(3)) return false;
    unsigned unit = stride * size->bits / 8;
    const char* modifiers[] = {"offset0", "offset1"};
    for (unsigned i = 0; i < 2; ++i) {
      Value *to = address(0, modifiers[i], unit),
            *value = in_.registers.read(operand(1 + i), {GcnType::kBits, size->bits, 1});
      if (!to || !value) return false;
      gcn_store(in_, to, *size, value);
    }
    return true;
  }

  // "add_u32", "add_rtn_u32".
  bool update() {
    std::string plain = name_.str();
    size_t returns = plain.find("_rtn");
    size_t gives = returns != std::string::npos;
    if (gives) plain.erase(returns, 4);
    std::optional<GcnUpdate> update = gcn_update(plain);
    if (!update || !StringRef(plain).contains('_')) return false;
    if (!has_operands(gives + (update->exchanges ? 3 : 2))) return false;
    Value* where = address(gives);
    Value* value = in_.registers.read(operand(gives + 1), update->type);
    if (!where || !value) return false;
    Value* old = nullptr;
    if (update->exchanges) {
      Value* other = in_.registers.read(operand(gives + 2), update->type);
      if (!other) return false;
      // The later name has the new value first.
      bool new_first = StringRef(plain).starts_with("cmpstore");
      old = gcn_exchange(in_.builder, where, new_first ? other : value, new_first ? value : other);
    } else {
      old = gcn_update_memory(in_.builder, *update, where, value);
    }
    return !gives || in_.registers.write(operand(0), old);
  }

  bool raise_lanes() {
    Builder& builder = in_.builder;
    std::optional<int64_t> offset = swizzle_offset(in_.statement.modifiers.lookup("offset"));
    if (!offset || name_ != "swizzle_b32") offset = in_.statement.number("offset", 0);
    if (!offset || has_more_than_hints(in_.statement, {"offset"})) return false;
    if (name_ == "swizzle_b32" && has_operands(2)) {
      Value* value = in_.registers.read(operand(1), {});
      return value && in_.registers.write(operand(0), builder.CreateIntrinsic(
                                                          llvm::Intrinsic::amdgcn_ds_swizzle, {},
                                                          {value, builder.getInt32(static_cast<uint32_t>(*offset))}));
    }
    bool pulls = name_ == "bpermute_b32";
    if ((!pulls && name_ != "permute_b32") || !has_operands(3)) return false;
    Value *lane = in_.registers.read(operand(1), {}), *value = in_.registers.read(operand(2), {});
    if (!lane || !value) return false;
    lane = builder.CreateAdd(lane, builder.getInt32(static_cast<uint32_t>(*offset)));
    auto id = pulls ? llvm::Intrinsic::amdgcn_ds_bpermute : llvm::Intrinsic::amdgcn_ds_permute;
    return in_.registers.write(operand(0), builder.CreateIntrinsic(id, {}, {lane, value}));
  }

  GcnInstruction& in_;
  StringRef name_;
};

}  // namespace

bool raise_gcn_shared(GcnInstruction& instruction) {
  StringRef name = instruction.statement.name;
  return name.consume_front("ds_") && SharedAccess(instruction, name).raise();
}

}  // namespace mneme::codegen::host
