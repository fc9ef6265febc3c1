// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's instructions that move matrices of eight rows and columns between memory and a warp's registers: ldmatrix,
// stmatrix, movmatrix. Lane t has g = t / 4 and i = t % 4; a register holds two elements of 16 bits, of row g and of
// columns 2 * i and 2 * i + 1.
#include "codegen/host/dialect/nvptx/ptx/matrix.h"

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

}  // namespace

PtxResult raise_ptx_matrix(PtxInstruction& instruction) {
  StringRef operation = instruction.name.operation();
  if (operation == "ldmatrix") return MatrixAccess(instruction).raise(true);
  if (operation == "stmatrix") return MatrixAccess(instruction).raise(false);
  if (operation == "movmatrix") return raise_move(instruction);
  if (operation == "mma") return raise_ptx_mma(instruction);
  if (operation == "wmma") return raise_ptx_wmma(instruction);
  return std::nullopt;
}

}  // namespace mneme::codegen::host
