// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that compute: the table of rows, and around a row's meaning what modifiers make of operands and results:
// halves and bytes of registers, signs, values of other lanes, results kept within zero and one.
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

struct Signature {
  llvm::SmallVector<GcnType, 2> results;
  llvm::SmallVector<GcnType, 4> operands;
  bool accumulates = false;
  decltype(GcnRow::meaning) meaning = nullptr;

  // As the assembler counts them.
  size_t written() const {
    auto is_written = [](const GcnType& type) { return type.kind != GcnType::kCode; };
    return static_cast<size_t>(llvm::count_if(results, is_written) + llvm::count_if(operands, is_written));
  }
};

std::string filled(StringRef text, StringRef type) {
  std::string result;
  for (char c : text) result += c == '@' ? type.str() : std::string(1, c);
  return result;
}

Signature parse_signature(StringRef text, StringRef type, decltype(GcnRow::meaning) meaning) {
  Signature signature;
  signature.meaning = meaning;
  signature.accumulates = text.consume_front("+");
  std::string whole = filled(text, type);
  auto [results, operands] = StringRef(whole).split(':');
  llvm::SmallVector<StringRef, 4> parts;
  results.split(parts, ' ', -1, false);
  for (StringRef part : parts) signature.results.push_back(GcnType::parse(part));
  parts.clear();
  operands.split(parts, ' ', -1, false);
  for (StringRef part : parts) signature.operands.push_back(GcnType::parse(part));
  return signature;
}

// By name: one for each number of operands.
using Table = llvm::StringMap<llvm::SmallVector<Signature, 1>>;
Table make_table() {
  Table table;
  for (auto rows : {gcn_float_rows(), gcn_conversion_rows(), gcn_integer_rows(), gcn_comparison_rows(),
                    gcn_packed_rows(), gcn_scalar_rows()}) {
    for (const GcnRow& row : rows) {
      llvm::SmallVector<StringRef, 6> types;
      StringRef(row.types).split(types, ' ');
      for (StringRef type : types) {
        table[filled(row.name, type)].push_back(parse_signature(row.signature, type, row.meaning));
      }
    }
  }
  return table;
}

const Signature* find_signature(StringRef name, size_t operands) {
  static const Table kTable = make_table();
  auto found = kTable.find(name);
  if (found == kTable.end()) return nullptr;
  for (const Signature& signature : found->second) {
    if (signature.written() == operands) return &signature;
  }
  return nullptr;
}

Value* half_of(Builder& builder, Value* value, unsigned element) {
  return builder.CreateExtractElement(value, uint64_t{element});
}

// Values of other lanes, as DPP's control says: the intrinsic's operands.
struct LaneControl {
  uint32_t control = 0, rows = 15, banks = 15;
  bool bound = false;
  std::optional<uint32_t> eight;  // of a lane's own eight instead
};

std::optional<uint32_t> lane_pattern(const GcnStatement& statement) {
  auto quad = statement.list("quad_perm");
  if (quad.size() == 4) return quad[0] | quad[1] << 2 | quad[2] << 4 | quad[3] << 6;
  static constexpr struct {
    StringRef name;
    uint32_t base, most;
  } kShifts[] = {{"row_shl", 0x100, 15},   {"row_shr", 0x110, 15},      {"row_ror", 0x120, 15},
                 {"row_share", 0x150, 15}, {"row_newbcast", 0x150, 15}, {"row_xmask", 0x160, 15}};
  for (const auto& shift : kShifts) {
    if (!statement.has(shift.name)) continue;
    std::optional<int64_t> amount = statement.number(shift.name, 0);
    if (!amount || *amount < 0 || *amount > shift.most) return std::nullopt;
    return shift.base | static_cast<uint32_t>(*amount);
  }
  if (statement.has("wave_shl")) return 0x130;
  if (statement.has("wave_rol")) return 0x134;
  if (statement.has("wave_shr")) return 0x138;
  if (statement.has("wave_ror")) return 0x13c;
  if (statement.has("row_mirror")) return 0x140;
  if (statement.has("row_half_mirror")) return 0x141;
  if (statement.number("row_bcast", 0) == 15) return 0x142;
  if (statement.number("row_bcast", 0) == 31) return 0x143;
  return std::nullopt;
}

// Nothing: it is not of other lanes, or `known` is false.
std::optional<LaneControl> lane_control(const GcnStatement& statement, bool& known) {
  static constexpr StringRef kPatterns[] = {"quad_perm",    "row_shl",    "row_shr",         "row_ror",   "row_share",
                                            "row_newbcast", "row_xmask",  "wave_shl",        "wave_rol",  "wave_shr",
                                            "wave_ror",     "row_mirror", "row_half_mirror", "row_bcast", "dpp8"};
  known = true;
  bool moves = false;
  for (StringRef pattern : kPatterns) moves |= statement.has(pattern);
  if (!moves) return std::nullopt;
  LaneControl lanes;
  if (statement.has("dpp8")) {
    auto eight = statement.list("dpp8");
    known = eight.size() == 8;
    uint32_t selectors = 0;
    for (size_t i = 0; i < eight.size(); ++i) selectors |= (eight[i] & 7) << (3 * i);
    lanes.eight = selectors;
    return lanes;
  }
  std::optional<uint32_t> pattern = lane_pattern(statement);
  std::optional<int64_t> rows = statement.number("row_mask", 15), banks = statement.number("bank_mask", 15);
  known = pattern && rows && banks;
  if (!known) return std::nullopt;
  lanes.control = *pattern;
  lanes.rows = static_cast<uint32_t>(*rows) & 15;
  lanes.banks = static_cast<uint32_t>(*banks) & 15;
  lanes.bound = statement.has("bound_ctrl");  // "0" and "1" mean the same
  return lanes;
}

class Execution {
 public:
  Execution(GcnInstruction& instruction, const Signature& row)
      : builder_(instruction.builder),
        statement_(instruction.statement),
        registers_(instruction.registers),
        row_(row),
        packed_(StringRef(statement_.name).starts_with("v_pk_")) {}

  bool run() {
    if (!read_modifiers()) return false;
    size_t place = 0;
    for (const GcnType& type : row_.results) place += type.kind != GcnType::kCode;
    llvm::SmallVector<Value*, 5> operands;
    for (const GcnType& type : row_.operands) {
      Value* value = type.kind == GcnType::kCode ? registers_.read("scc", type) : read(place, operands.size(), type);
      if (type.kind != GcnType::kCode) ++place;
      if (!value) return false;
      operands.push_back(value);
    }
    if (row_.accumulates) {
      Value* old = registers_.read(statement_.operands[0], row_.results[0]);
      if (!old) return false;
      operands.push_back(old);
    }
    llvm::Type* type = row_.results[0].of(builder_.getContext());
    return write(row_.meaning(builder_, operands, type));
  }

 private:
  static constexpr StringRef kKnown[] = {
      "clamp",     "op_sel",     "op_sel_hi",  "neg_lo",          "neg_hi",    "quad_perm", "row_shl",
      "row_shr",   "row_ror",    "row_share",  "row_newbcast",    "row_xmask", "wave_shl",  "wave_rol",
      "wave_shr",  "wave_ror",   "row_mirror", "row_half_mirror", "row_bcast", "dpp8",      "row_mask",
      "bank_mask", "bound_ctrl", "dst_sel",    "dst_unused",      "src0_sel",  "src1_sel"};

  bool read_modifiers() {
    for (const auto& modifier : statement_.modifiers) {
      if (!llvm::is_contained(kKnown, modifier.first())) return false;
    }
    bool known = false;
    lanes_ = lane_control(statement_, known);
    auto low = statement_.bits("op_sel", 0), high = statement_.bits("op_sel_hi", 7),
         negative_low = statement_.bits("neg_lo", 0), negative_high = statement_.bits("neg_hi", 0);
    if (!known || !low || !high || !negative_low || !negative_high) return false;
    low_ = *low, high_ = *high, negative_low_ = *negative_low, negative_high_ = *negative_high;
    bool halves = statement_.has("op_sel_hi") || statement_.has("neg_lo") || statement_.has("neg_hi");
    return packed_ || !halves;
  }

  // Operand `index` of the row, which stands at `place` of the statement.
  Value* read(size_t place, size_t index, const GcnType& type) {
    bool first = index == 0 && lanes_.has_value();
    std::string selector = "src" + std::to_string(index) + "_sel";
    bool selects = statement_.has(selector);
    bool upper = !packed_ && statement_.has("op_sel") && type.size() == 16 && (low_ >> index & 1);
    if (statement_.has("op_sel") && !packed_ && type.size() != 16) return nullptr;
    bool known = true;
    auto change = [&](Value* word) {
      if (first) word = move(word);
      if (selects) word = select(word, statement_.modifiers.lookup(selector), statement_.operands[place], known);
      return upper ? builder_.CreateLShr(word, 16) : word;
    };
    if ((first || selects) && type.size() > 32) return nullptr;
    Value* value = first || selects || upper ? registers_.read(statement_.operands[place], type, change)
                                             : registers_.read(statement_.operands[place], type);
    if (!value || !known) return nullptr;
    return packed_ && type.lanes == 2 ? arrange(value, static_cast<unsigned>(index), type) : value;
  }

  // Which half each half of the result is made of, and their signs.
  Value* arrange(Value* value, unsigned index, const GcnType& type) {
    Value* result = value;
    for (unsigned half = 0; half < 2; ++half) {
      uint32_t from = (half ? high_ : low_) >> index & 1;
      Value* element = half_of(builder_, value, from);
      if ((half ? negative_high_ : negative_low_) >> index & 1) {
        if (!type.is_floating()) return nullptr;
        element = builder_.CreateFNeg(element);
      }
      result = builder_.CreateInsertElement(result, element, uint64_t{half});
    }
    return result;
  }

  Value* update_lanes(Value* old, Value* value, uint32_t control, bool bound) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_update_dpp, {builder_.getInt32Ty()},
                                    {old, value, builder_.getInt32(control), builder_.getInt32(lanes_->rows),
                                     builder_.getInt32(lanes_->banks), builder_.getInt1(bound)});
  }

  Value* move(Value* word) {
    if (lanes_->eight) {
      return builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_mov_dpp8, {builder_.getInt32Ty()},
                                      {word, builder_.getInt32(*lanes_->eight)});
    }
    return update_lanes(builder_.getInt32(0), word, lanes_->control, true);
  }

  // Whether the lane's register is written: not where rows and banks are left out, nor, unless bounded, where no lane
  // gives a value.
  Value* is_written() {
    constexpr uint32_t kOwn = 0xe4;  // quad_perm:[0,1,2,3]
    Value* zero = builder_.getInt32(0);
    Value* flag = update_lanes(zero, builder_.getInt32(1), lanes_->bound ? kOwn : lanes_->control, lanes_->bound);
    return builder_.CreateICmpNE(flag, zero);
  }

  // BYTE_0 to BYTE_3, WORD_0, WORD_1, DWORD; sext(…) around the operand extends its sign.
  static bool parse_part(StringRef text, unsigned& begin, unsigned& size) {
    if (text == "DWORD") return begin = 0, size = 32, true;
    unsigned number = 0;
    size = text.consume_front("BYTE_") ? 8 : text.consume_front("WORD_") ? 16 : 0;
    if (!size || text.getAsInteger(10, number) || number >= 32 / size) return false;
    begin = number * size;
    return true;
  }
  Value* select(Value* word, StringRef part, StringRef operand, bool& known) {
    unsigned begin = 0, size = 0;
    known = parse_part(part, begin, size);
    if (!known) return word;
    Value* up = builder_.CreateShl(word, 32 - begin - size);
    return operand.contains("sext(") ? builder_.CreateAShr(up, 32 - size) : builder_.CreateLShr(up, 32 - size);
  }

  bool write(Value* result) {
    size_t place = 0;
    for (size_t i = 0; i < row_.results.size(); ++i) {
      const GcnType& type = row_.results[i];
      Value* value = row_.results.size() == 1 ? result : builder_.CreateExtractValue(result, static_cast<unsigned>(i));
      StringRef to = type.kind == GcnType::kCode ? "scc" : StringRef(statement_.operands[place++]);
      if (i == 0 && !(value = finish(value, to, type))) return false;
      if (!registers_.write(to, value)) return false;
    }
    return true;
  }

  // What clamp, op_sel, dst_sel and lanes that are left out make of a result.
  Value* finish(Value* value, StringRef to, const GcnType& type) {
    if (statement_.has("clamp")) {
      if (!type.is_floating()) return nullptr;
      llvm::Type* llvm_type = value->getType();
      value = builder_.CreateMaxNum(value, llvm::ConstantFP::get(llvm_type, 0.0));
      value = builder_.CreateMinNum(value, llvm::ConstantFP::get(llvm_type, 1.0));
    }
    bool upper = statement_.has("op_sel") && !packed_ && (low_ >> row_.operands.size() & 1);
    if (upper || statement_.has("dst_sel")) {
      if (type.size() > 32 || type.is_condition()) return nullptr;
      if (!(value = put(value, to, upper ? "WORD_1" : statement_.modifiers.lookup("dst_sel"), upper))) return nullptr;
    }
    if (!lanes_ || lanes_->eight || type.is_condition()) return value;
    GcnType stored = type;
    if (value->getType()->isIntegerTy(32)) stored = {};
    Value* old = registers_.read_old(to, stored);
    return old ? builder_.CreateSelect(is_written(), value, old) : nullptr;
  }

  // In one part of the register; the others are zero, like the sign, or as they were.
  Value* put(Value* value, StringRef to, StringRef part, bool keep) {
    unsigned begin = 0, size = 0;
    if (!parse_part(part, begin, size)) return nullptr;
    unsigned given = value->getType()->getPrimitiveSizeInBits();
    Value* bits = builder_.CreateBitCast(value, builder_.getIntNTy(given));
    if (size == 32) return value;
    llvm::Type* word = builder_.getInt32Ty();
    Value* piece = builder_.CreateZExtOrTrunc(bits, builder_.getIntNTy(size));
    std::string unused = statement_.modifiers.lookup("dst_unused");
    if (unused == "UNUSED_SEXT") return builder_.CreateShl(builder_.CreateSExt(piece, word), begin);
    Value* placed = builder_.CreateShl(builder_.CreateZExt(piece, word), begin);
    if (!keep && unused != "UNUSED_PRESERVE") return placed;
    Value* old = registers_.read_old(to, {});
    uint32_t hole = ~(static_cast<uint32_t>((uint64_t{1} << size) - 1) << begin);
    return old ? builder_.CreateOr(builder_.CreateAnd(old, hole), placed) : nullptr;
  }

  Builder& builder_;
  const GcnStatement& statement_;
  GcnRegisters& registers_;
  const Signature& row_;
  bool packed_;
  std::optional<LaneControl> lanes_;
  uint32_t low_ = 0, high_ = 0, negative_low_ = 0, negative_high_ = 0;
};

// v_fma_mix_f32, v_fma_mixlo_f16, v_fma_mixhi_f16, and as v_mad_mix: each operand is a float, or the half of a register
// that op_sel names where op_sel_hi says so.
bool raise_mixed(GcnInstruction& instruction) {
  const GcnStatement& statement = instruction.statement;
  StringRef name = statement.name;
  if (!name.consume_front("v_fma_mix") && !name.consume_front("v_mad_mix")) return false;
  auto upper = statement.bits("op_sel", 0), halves = statement.bits("op_sel_hi", 0);
  for (const auto& modifier : statement.modifiers) {
    if (!llvm::is_contained({"op_sel", "op_sel_hi", "clamp"}, modifier.first())) return false;
  }
  if (!upper || !halves || statement.operands.size() != 4) return false;
  Builder& builder = instruction.builder;
  llvm::SmallVector<Value*, 3> in;
  for (unsigned i = 0; i < 3; ++i) {
    bool half = *halves >> i & 1;
    auto change = [&](Value* word) { return *upper >> i & 1 ? builder.CreateLShr(word, 16) : word; };
    Value* value = instruction.registers.read(statement.operands[1 + i], GcnType::parse(half ? "f16" : "f32"), change);
    if (!value) return false;
    in.push_back(half ? builder.CreateFPExt(value, builder.getFloatTy()) : value);
  }
  Value* result = builder.CreateIntrinsic(llvm::Intrinsic::fma, {builder.getFloatTy()}, in);
  if (statement.has("clamp")) {
    result = builder.CreateMaxNum(result, llvm::ConstantFP::get(result->getType(), 0.0));
    result = builder.CreateMinNum(result, llvm::ConstantFP::get(result->getType(), 1.0));
  }
  if (name == "_f32") return instruction.registers.write(statement.operands[0], result);
  if (name != "lo_f16" && name != "hi_f16") return false;
  result = builder.CreateBitCast(builder.CreateFPTrunc(result, builder.getHalfTy()), builder.getInt16Ty());
  result = builder.CreateZExt(result, builder.getInt32Ty());
  bool high = name == "hi_f16";
  if (high) result = builder.CreateShl(result, 16);
  Value* old = builder.CreateAnd(instruction.registers.read_old(statement.operands[0], {}), high ? 0xffff : 0xffff0000);
  return instruction.registers.write(statement.operands[0], builder.CreateOr(old, result));
}

// v_swap_b32 and instructions on lanes that the table's form does not fit.
bool raise_moves(GcnInstruction& instruction) {
  const GcnStatement& statement = instruction.statement;
  const auto& operands = statement.operands;
  GcnRegisters& registers = instruction.registers;
  Builder& builder = instruction.builder;
  StringRef name = statement.name;
  if (name == "v_swap_b32" && operands.size() == 2 && statement.modifiers.empty()) {
    Value *first = registers.read(operands[0], {}), *second = registers.read(operands[1], {});
    return first && second && registers.write(operands[0], second) && registers.write(operands[1], first);
  }
  bool other_row = name == "v_permlanex16_b32";
  if (!other_row && name != "v_permlane16_b32") return false;
  auto flags = statement.bits("op_sel", 0);
  if (!flags || operands.size() != 4 || statement.modifiers.size() != statement.has("op_sel")) return false;
  llvm::SmallVector<Value*, 6> in = {registers.read_old(operands[0], {})};
  for (unsigned i = 1; i < 4; ++i) in.push_back(registers.read(operands[i], {}));
  if (llvm::is_contained(in, nullptr)) return false;
  in.push_back(builder.getInt1(*flags & 1));
  in.push_back(builder.getInt1(*flags >> 1 & 1));
  auto id = other_row ? llvm::Intrinsic::amdgcn_permlanex16 : llvm::Intrinsic::amdgcn_permlane16;
  return registers.write(operands[0], builder.CreateIntrinsic(id, {builder.getInt32Ty()}, in));
}

}  // namespace

bool raise_gcn_arithmetic(GcnInstruction& instruction) {
  const GcnStatement& statement = instruction.statement;
  if (const Signature* row = find_signature(statement.name, statement.operands.size())) {
    return Execution(instruction, *row).run();
  }
  return raise_mixed(instruction) || raise_moves(instruction);
}

}  // namespace mneme::codegen::host
