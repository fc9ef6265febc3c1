// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's instructions on matrices that a warp's registers hold: ldmatrix, stmatrix, movmatrix, mma.
//
// Lane t has g = t / 4 and i = t % 4. A register holds n elements, one beside the other: 2 of 16 bits, 4 of 8.
//   m8n8, A:  row g (in every second register g + 8), columns i * n …; a pair of registers further, 4 * n columns
//   B:        as A, with rows and columns exchanged, and 8 columns only
//   C, D:     row g, columns 2 * i and 2 * i + 1; then row g + 8
#include <llvm/IR/Intrinsics.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <array>

#include "codegen/host/dialect/nvptx/ptx/memory.h"
#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"
#include "codegen/host/neutral/memory_spaces.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

Value* from_lane(Builder& builder, Value* value, Value* lane) { return call_permute(builder, value, value, lane); }

// This lane's g and i.
struct Position {
  explicit Position(Builder& builder) {
    Value* lane = lane_index(builder, kWarpSize);
    group = builder.CreateLShr(lane, 2);
    member = builder.CreateAnd(lane, 3);
  }
  Value *group, *member;
};

Value* packed(Builder& builder, Value* low, Value* high) {
  llvm::Type* whole = builder.getInt64Ty();
  return builder.CreateOr(builder.CreateZExt(low, whole), builder.CreateShl(builder.CreateZExt(high, whole), 32));
}
Value* upper_half(Builder& builder, Value* value) {
  return builder.CreateTrunc(builder.CreateLShr(value, 32), builder.getInt32Ty());
}

// ldmatrix and stmatrix: lanes 8 * m to 8 * m + 7 bring the addresses of matrix m's rows.
class MatrixAccess {
 public:
  explicit MatrixAccess(PtxInstruction& instruction)
      : instruction_(instruction), builder_(instruction.builder), at_(builder_) {}

  PtxResult raise(bool loads) {
    PtxName& name = instruction_.name;
    bool known = name.take("sync") && name.take("aligned") && name.take("m8n8");
    StringRef number = name.take_one_of({"x1", "x2", "x4"});
    transposed_ = name.take("trans");
    StringRef space = take_ptx_space(name);
    known = known && !number.empty() && name.take("b16") && name.is_used_up() && (space.empty() || space == "shared");
    if (!known) return std::nullopt;
    unsigned count = static_cast<unsigned>(number[1] - '0');
    if (instruction_.results != (loads ? count : 0) || instruction_.operands.size() != (loads ? 1 : 1 + count)) {
      return std::nullopt;
    }
    take_addresses(space);
    PtxValues results;
    for (unsigned m = 0; m < count; ++m) {
      Value* value = loads ? nullptr : as_type(builder_, instruction_.operands[1 + m], builder_.getInt32Ty());
      if (Value* result = access(m, value)) results.push_back(result);
    }
    return results;
  }

 private:
  // As distances from the beginning of shared memory. Transposed, a lane needs two rows that follow one another: the
  // addresses of both come together.
  void take_addresses(StringRef space) {
    Value* address = instruction_.operands[0];
    if (space.empty()) {
      Value* beginning = builder_.CreatePtrToInt(shared_beginning(builder_), builder_.getInt64Ty());
      address = builder_.CreateSub(as_type(builder_, address, builder_.getInt64Ty()), beginning);
    }
    addresses_ = as_type(builder_, address, builder_.getInt32Ty());
    if (!transposed_) return;
    Value* next = builder_.CreateXor(lane_index(builder_, kWarpSize), 1);
    addresses_ = packed(builder_, addresses_, from_lane(builder_, addresses_, next));
  }

  // Loads where there is no value to store.
  Value* access(unsigned matrix, Value* value) {
    Value* row = transposed_ ? builder_.CreateShl(at_.member, 1) : at_.group;
    Value* theirs = from_lane(builder_, addresses_, builder_.CreateAdd(row, builder_.getInt32(8 * matrix)));
    if (!transposed_) {
      Value* place = element(theirs, builder_.CreateShl(at_.member, 2));
      if (!value) return builder_.CreateAlignedLoad(builder_.getInt32Ty(), place, llvm::Align(4));
      builder_.CreateAlignedStore(value, place, llvm::Align(4));
      return nullptr;
    }
    Value* column = builder_.CreateShl(at_.group, 1);
    Value* places[] = {element(builder_.CreateTrunc(theirs, builder_.getInt32Ty()), column),
                       element(upper_half(builder_, theirs), column)};
    llvm::Type* half = builder_.getInt16Ty();
    Value* result = nullptr;
    for (unsigned i = 0; i < 2; ++i) {
      if (value) {
        Value* part = builder_.CreateTrunc(builder_.CreateLShr(value, 16 * i), half);
        builder_.CreateAlignedStore(part, places[i], llvm::Align(2));
        continue;
      }
      Value* part = builder_.CreateAlignedLoad(half, places[i], llvm::Align(2));
      part = builder_.CreateShl(builder_.CreateZExt(part, builder_.getInt32Ty()), 16 * i);
      result = result ? builder_.CreateOr(result, part) : part;
    }
    return result;
  }

  Value* element(Value* row, Value* bytes) { return ptx_address(builder_, builder_.CreateAdd(row, bytes), "shared"); }

  PtxInstruction& instruction_;
  Builder& builder_;
  Position at_;
  bool transposed_ = false;
  Value* addresses_ = nullptr;
};

// movmatrix: a matrix of 16-bit elements, transposed.
PtxResult raise_move(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  bool known = name.take("sync") && name.take("aligned") && name.take("m8n8") && name.take("trans") &&
               name.take("b16") && name.is_used_up();
  if (!known || instruction.operands.size() != 1 || instruction.results != 1) return std::nullopt;
  Position at(builder);
  Value* value = as_type(builder, instruction.operands[0], builder.getInt32Ty());
  Value* distance = builder.CreateShl(builder.CreateAnd(at.group, 1), 4);  // of the element in its register
  Value* result = nullptr;
  for (uint32_t i = 0; i < 2; ++i) {
    Value* row = builder.CreateAdd(builder.CreateShl(at.member, 1), builder.getInt32(i));
    Value* lane = builder.CreateAdd(builder.CreateShl(row, 2), builder.CreateLShr(at.group, 1));
    Value* element = builder.CreateLShr(from_lane(builder, value, lane), distance);
    element = builder.CreateShl(builder.CreateAnd(element, 0xffff), 16 * i);
    result = result ? builder.CreateOr(result, element) : element;
  }
  return PtxValues{result};
}

// mma: D = A * B + C. Products and sums are exact or doubles, rounded once at the end, as the ISA leaves the order of
// the additions open; integers wrap.
//
//   for s in 0 … 3:  the four lanes of a row, and of a column, one after the other
//     a = A's registers of lane 4 * g + s
//     for j in 0, 1:  b = B's registers of lane 4 * (2 * i + j) + s;  d[·][j] += a * b
class Multiplication {
 public:
  explicit Multiplication(PtxInstruction& instruction)
      : instruction_(instruction), builder_(instruction.builder), at_(builder_) {}

  PtxResult raise() {
    if (!read_name() || !read_operands()) return std::nullopt;
    std::array<llvm::PHINode*, 4> sums = {};
    const unsigned results = rows_ / 4;  // a lane's elements
    // Each place in which lanes meet costs time to compile: a loop has few.
    llvm::Instruction* place = &*builder_.GetInsertPoint();
    llvm::BasicBlock* before = place->getParent();
    PtxValues initial;
    for (unsigned e = 0; e < results; ++e) initial.push_back(accumulator(e));
    llvm::BasicBlock* after = llvm::SplitBlock(before, place);
    llvm::BasicBlock* round = llvm::BasicBlock::Create(builder_.getContext(), "mma", before->getParent(), after);
    before->getTerminator()->setSuccessor(0, round);
    builder_.SetInsertPoint(round);
    llvm::PHINode* source = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    source->addIncoming(builder_.getInt32(0), before);
    for (unsigned e = 0; e < results; ++e) {
      sums[e] = builder_.CreatePHI(initial[e]->getType(), 2);
      sums[e]->addIncoming(initial[e], before);
    }
    auto lane_of = [&](Value* group) { return builder_.CreateAdd(builder_.CreateShl(group, 2), source); };
    PtxValues a = fetch(a_, lane_of(at_.group));
    PtxValues totals(sums.begin(), sums.begin() + results);
    for (unsigned j = 0; j < 2; ++j) {
      Value* column = builder_.CreateAdd(builder_.CreateShl(at_.member, 1), builder_.getInt32(j));
      PtxValues b = fetch(b_, lane_of(column));
      for (unsigned e = j; e < results; e += 2) totals[e] = add_products(totals[e], a, b, e / 2);
    }
    Value* next = builder_.CreateAdd(source, builder_.getInt32(1));
    source->addIncoming(next, round);
    for (unsigned e = 0; e < results; ++e) sums[e]->addIncoming(totals[e], round);
    builder_.CreateCondBr(builder_.CreateICmpULT(next, builder_.getInt32(4)), round, after);
    builder_.SetInsertPoint(place);
    return rounded(totals);
  }

 private:
  enum class Element { kHalf, kBrain, kTensorFloat, kSigned, kUnsigned, kDouble };

  static std::optional<Element> parse_element(StringRef text) {
    if (text == "f16") return Element::kHalf;
    if (text == "bf16") return Element::kBrain;
    if (text == "tf32") return Element::kTensorFloat;
    if (text == "s8") return Element::kSigned;
    if (text == "u8") return Element::kUnsigned;
    if (text == "f64") return Element::kDouble;
    return std::nullopt;
  }

  // mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: the types of D, A, B, C.
  bool read_name() {
    PtxName& name = instruction_.name;
    if (!name.take("sync") || !name.take("aligned")) return false;
    StringRef shape = name.take_first();
    if (!name.take("row") || !name.take("col")) return false;
    saturates_ = name.take("satfinite");
    result_ = name.take_first();
    auto a = parse_element(name.take_first()), b = parse_element(name.take_first());
    if (!a || !b || name.take_first() != result_ || !name.is_used_up()) return false;
    a_type_ = *a, b_type_ = *b;
    integers_ = *a == Element::kSigned || *a == Element::kUnsigned;
    bool both_integers = integers_ && (*b == Element::kSigned || *b == Element::kUnsigned);
    if (*a != *b && !both_integers) return false;
    rows_ = shape.consume_front("m16n8k") ? 16 : shape.consume_front("m8n8k") ? 8 : 0;
    if (!rows_ || shape.getAsInteger(10, depth_)) return false;
    per_register_ = integers_ ? 4 : *a == Element::kHalf || *a == Element::kBrain ? 2 : 1;
    // How many registers of A a row has. "m8n8k4" of halves is another instruction.
    unsigned columns = depth_ / (4 * per_register_);
    if (depth_ % (4 * per_register_) || (columns != 1 && columns != 2 && !(columns == 4 && is_double()))) return false;
    if (rows_ == 8 && (columns != 1 || (!integers_ && !is_double()))) return false;
    if (saturates_ && !integers_) return false;
    if (integers_) return result_ == "s32";
    if (is_double()) return result_ == "f64";
    return result_ == "f32" || (result_ == "f16" && *a == Element::kHalf);
  }

  bool is_double() const { return a_type_ == Element::kDouble; }
  bool gives_halves() const { return result_ == "f16"; }

  bool read_operands() {
    unsigned columns = depth_ / (4 * per_register_);
    size_t a = size_t{columns} * rows_ / 8, b = columns, c = rows_ / (gives_halves() ? 8 : 4);
    auto& in = instruction_.operands;
    if (in.size() != a + b + c || instruction_.results != c) return false;
    llvm::Type* type = is_double() ? builder_.getInt64Ty() : builder_.getInt32Ty();
    for (size_t i = 0; i < a + b; ++i) (i < a ? a_ : b_).push_back(as_type(builder_, in[i], type));
    c_.append(in.begin() + static_cast<ptrdiff_t>(a + b), in.end());
    return true;
  }

  // Element e of this lane's part of C.
  Value* accumulator(unsigned e) {
    if (integers_) return builder_.CreateSExt(as_type(builder_, c_[e], builder_.getInt32Ty()), builder_.getInt64Ty());
    if (is_double()) return as_type(builder_, c_[e], builder_.getDoubleTy());
    if (!gives_halves()) {
      return builder_.CreateFPExt(as_type(builder_, c_[e], builder_.getFloatTy()), builder_.getDoubleTy());
    }
    return number(as_type(builder_, c_[e / 2], builder_.getInt32Ty()), e % 2, Element::kHalf);
  }

  // Registers of another lane, two at a time.
  PtxValues fetch(llvm::ArrayRef<Value*> registers, Value* lane) {
    PtxValues theirs;
    for (size_t i = 0; i < registers.size(); ++i) {
      if (is_double() || i + 1 == registers.size()) {
        theirs.push_back(from_lane(builder_, registers[i], lane));
        continue;
      }
      Value* both = from_lane(builder_, packed(builder_, registers[i], registers[i + 1]), lane);
      theirs.push_back(builder_.CreateTrunc(both, builder_.getInt32Ty()));
      theirs.push_back(upper_half(builder_, both));
      ++i;
    }
    return theirs;
  }

  // Element e of a register, as a double or an i64.
  Value* number(Value* word, unsigned e, Element type) {
    llvm::Type* wide = builder_.getDoubleTy();
    switch (type) {
      case Element::kHalf: {
        Value* bits = builder_.CreateTrunc(builder_.CreateLShr(word, 16 * e), builder_.getInt16Ty());
        return builder_.CreateFPExt(builder_.CreateBitCast(bits, builder_.getHalfTy()), wide);
      }
      case Element::kBrain: {
        Value* bits = e ? builder_.CreateAnd(word, 0xffff0000) : builder_.CreateShl(word, 16);
        return builder_.CreateFPExt(builder_.CreateBitCast(bits, builder_.getFloatTy()), wide);
      }
      case Element::kTensorFloat:  // the lowest bits do not count
        return builder_.CreateFPExt(builder_.CreateBitCast(builder_.CreateAnd(word, ~0x1fffu), builder_.getFloatTy()),
                                    wide);
      case Element::kDouble:
        return builder_.CreateBitCast(word, wide);
      case Element::kSigned:
      case Element::kUnsigned:
        break;
    }
    Value* bits = builder_.CreateTrunc(builder_.CreateLShr(word, 8 * e), builder_.getInt8Ty());
    return builder_.CreateIntCast(bits, builder_.getInt64Ty(), type == Element::kSigned);
  }

  // Of the row g, or g + 8.
  Value* add_products(Value* sum, llvm::ArrayRef<Value*> a, llvm::ArrayRef<Value*> b, unsigned row) {
    for (unsigned column = 0; column < b.size(); ++column) {
      Value* word = a[column * (rows_ / 8) + row];
      for (unsigned e = 0; e < per_register_; ++e) {
        Value *left = number(word, e, a_type_), *right = number(b[column], e, b_type_);
        if (is_double()) {
          sum = builder_.CreateIntrinsic(llvm::Intrinsic::fma, {builder_.getDoubleTy()}, {left, right, sum});
        } else {
          sum = integers_ ? builder_.CreateAdd(sum, builder_.CreateMul(left, right))
                          : builder_.CreateFAdd(sum, builder_.CreateFMul(left, right));
        }
      }
    }
    return sum;
  }

  PtxValues rounded(llvm::ArrayRef<Value*> totals) {
    PtxValues results;
    for (Value* total : totals) {
      if (is_double()) {
        results.push_back(total);
      } else if (!integers_) {
        results.push_back(builder_.CreateFPTrunc(total, builder_.getFloatTy()));
      } else {
        if (saturates_) {
          total = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, total,
                                                 llvm::ConstantInt::getSigned(total->getType(), INT32_MIN));
          total = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, total,
                                                 llvm::ConstantInt::getSigned(total->getType(), INT32_MAX));
        }
        results.push_back(builder_.CreateTrunc(total, builder_.getInt32Ty()));
      }
    }
    if (!gives_halves()) return results;
    PtxValues pairs;
    for (size_t i = 0; i < results.size(); i += 2) {
      Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder_.getHalfTy(), 2));
      for (size_t j = 0; j < 2; ++j) {
        Value* half = builder_.CreateFPTrunc(results[i + j], builder_.getHalfTy());
        pair = builder_.CreateInsertElement(pair, half, uint64_t{j});
      }
      pairs.push_back(pair);
    }
    return pairs;
  }

  PtxInstruction& instruction_;
  Builder& builder_;
  Position at_;
  unsigned rows_ = 0, depth_ = 0;  // m, k; n is 8
  unsigned per_register_ = 1;      // elements
  Element a_type_ = Element::kHalf, b_type_ = Element::kHalf;
  StringRef result_;
  bool integers_ = false, saturates_ = false;
  PtxValues a_, b_, c_;
};

}  // namespace

PtxResult raise_ptx_matrix(PtxInstruction& instruction) {
  StringRef operation = instruction.name.operation();
  if (operation == "ldmatrix") return MatrixAccess(instruction).raise(true);
  if (operation == "stmatrix") return MatrixAccess(instruction).raise(false);
  if (operation == "movmatrix") return raise_move(instruction);
  if (operation == "mma") return Multiplication(instruction).raise();
  return std::nullopt;
}

}  // namespace mneme::codegen::host
