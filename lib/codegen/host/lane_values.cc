// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/lane_values.h"

#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MathExtras.h>

#include "codegen/host/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr unsigned kDeepest = 200;      // operands of operands that are looked at
constexpr uint64_t kArgument = 4096;    // sizes, of which arguments are odd multiples
constexpr uint64_t kLoaded = 4;         // what is loaded is less
constexpr unsigned kVariableBits = 40;  // addresses in a variable

}  // namespace

LaneValues::LaneValues(const llvm::DominatorTree& dominators, const llvm::LoopInfo& loops, const TriedWave& wave)
    : layout_(dominators.getRoot()->getDataLayout()), dominators_(dominators), loops_(loops), wave_(wave) {}

uint64_t LaneValues::number_of(const llvm::Value* value) {
  return numbers_.try_emplace(value, numbers_.size() + 1).first->second;
}

uint64_t LaneValues::address_of(const llvm::GlobalVariable& variable) { return number_of(&variable) << kVariableBits; }

const LaneNumbers& LaneValues::at(const llvm::Value* value, const Moment& moment) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  const llvm::Loop* loop = instruction ? loops_.getLoopFor(instruction->getParent()) : nullptr;
  std::optional<Moment> here = moment_in(loop, moment);
  bool unknown = !here;
  Key key(value, unknown ? ~uint64_t{0} : here->packed());
  if (unknown) {
    here.emplace();
    here->loop = loop;
  }
  auto [found, fresh] = known_.try_emplace(key);
  if (!fresh) return *found->second;
  // As whoever comes back here from its operands finds it.
  LaneNumbers first = LaneNumbers::all(cut(number_of(value) % kLoaded, width_of(value->getType())));
  first.made_up = ~uint64_t{0};
  found->second = std::make_unique<LaneNumbers>(first);
  LaneNumbers* numbers = found->second.get();
  if (depth_ == kDeepest) return *numbers;
  ++depth_;
  LaneNumbers computed = compute(value, *here);
  --depth_;
  unsigned width = width_of(value->getType());
  for (uint64_t& number : computed.of) number = cut(number, width);
  if (unknown) {
    computed.made_up = ~uint64_t{0};
    computed.by_lane = true;
  }
  *numbers = computed;
  return *numbers;
}

LaneNumbers LaneValues::compute(const llvm::Value* value, const Moment& moment) {
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) return of_phi(*phi, moment);
  if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(value)) {
    LaneNumbers numbers = LaneNumbers::all(number_of(local) << kVariableBits);
    numbers.by_lane = true;
    for (unsigned lane = 0; lane < kTriedLanes; ++lane) numbers.of[lane] += uint64_t{lane} << (kVariableBits - 8);
    return numbers;
  }
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(value)) {
    if (std::optional<LaneNumbers> numbers = of_call(*call, moment)) return *numbers;
    return made_up(*call, moment);
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction && (instruction->mayReadOrWriteMemory() || !width_of(value->getType()))) {
    return made_up(*instruction, moment);
  }
  if (auto* operation = llvm::dyn_cast<llvm::Operator>(value)) return of_operator(*operation, moment);
  return of_constant(value);
}

LaneNumbers LaneValues::of_constant(const llvm::Value* value) {
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
    return LaneNumbers::all(number->getValue().extractBitsAsZExtValue(std::min(64u, number->getBitWidth()), 0));
  if (auto* number = llvm::dyn_cast<llvm::ConstantFP>(value)) {
    return LaneNumbers::all(number->getValueAPF().bitcastToAPInt().extractBitsAsZExtValue(16, 0));
  }
  if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value)) return LaneNumbers::all(address_of(*variable));
  if (llvm::isa<llvm::Constant>(value)) return LaneNumbers::all(0);  // null, and what is undefined
  LaneNumbers numbers = LaneNumbers::all(value->getType()->isPointerTy() ? number_of(value) << kVariableBits
                                                                         : (2 * number_of(value) + 1) * kArgument);
  numbers.made_up = ~uint64_t{0};
  return numbers;
}

LaneNumbers LaneValues::of_operator(const llvm::Operator& value, const Moment& moment) {
  if (auto* address = llvm::dyn_cast<llvm::GEPOperator>(&value)) return of_address(*address, moment);
  unsigned opcode = value.getOpcode();
  unsigned width = width_of(value.getOperand(0)->getType());
  if (!width) return made_up(value, moment);
  const LaneNumbers& left = at(value.getOperand(0), moment);
  switch (opcode) {
    case llvm::Instruction::SExt: {
      LaneNumbers numbers = left;
      for (uint64_t& number : numbers.of) number = static_cast<uint64_t>(llvm::SignExtend64(number, width));
      return numbers;
    }
    case llvm::Instruction::ZExt:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::BitCast:
    case llvm::Instruction::AddrSpaceCast:
    case llvm::Instruction::Freeze:
      return left;
    default:
      break;
  }
  if (value.getNumOperands() < 2) return made_up(value, moment);
  const LaneNumbers& right = at(value.getOperand(1), moment);
  LaneNumbers numbers = joined(left, right);
  // What is asked of the launch alone may be answered otherwise in another.
  auto unsure_of = [](const LaneNumbers& truth) {
    return truth.of_launch && !truth.by_lane ? ~uint64_t{0} : truth.made_up;
  };
  if (opcode == llvm::Instruction::Select) {
    const LaneNumbers& otherwise = at(value.getOperand(2), moment);
    add_origin(numbers, otherwise);
    numbers.made_up = unsure_of(left);
    for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
      const LaneNumbers& chosen = left.of[lane] & 1 ? right : otherwise;
      numbers.of[lane] = chosen.of[lane];
      numbers.made_up |= chosen.made_up & uint64_t{1} << lane;
    }
    return numbers;
  }
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&value);
  uint64_t left_unsure = width == 1 ? unsure_of(left) : left.made_up;
  uint64_t right_unsure = width == 1 ? unsure_of(right) : right.made_up;
  numbers.made_up = left_unsure | right_unsure;
  for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
    uint64_t bit = uint64_t{1} << lane, a = left.of[lane], b = right.of[lane];
    if (compare) {
      numbers.of[lane] = llvm::ICmpInst::compare(llvm::APInt(width, a), llvm::APInt(width, b), compare->getPredicate());
      continue;
    }
    std::optional<uint64_t> result = applied(opcode, a, b, width);
    numbers.of[lane] = result.value_or(0);
    if (!result) numbers.made_up |= bit;
    // One side is enough: it is clear what comes of it.
    auto settles = [&](uint64_t side, uint64_t unsure, uint64_t number) {
      return !(unsure & bit) && side == cut(number, width);
    };
    uint64_t settling = opcode == llvm::Instruction::Or ? ~uint64_t{0} : 0;
    bool settled = opcode == llvm::Instruction::And || opcode == llvm::Instruction::Or;
    if (settled && (settles(a, left_unsure, settling) || settles(b, right_unsure, settling))) numbers.made_up &= ~bit;
  }
  return numbers;
}

LaneNumbers LaneValues::of_address(const llvm::GEPOperator& address, const Moment& moment) {
  LaneNumbers numbers = at(address.getPointerOperand(), moment);
  for (auto step = llvm::gep_type_begin(address); step != llvm::gep_type_end(address); ++step) {
    if (llvm::StructType* structure = step.getStructTypeOrNull()) {
      auto* member = llvm::cast<llvm::ConstantInt>(step.getOperand());
      uint64_t offset = layout_.getStructLayout(structure)->getElementOffset(member->getZExtValue());
      for (uint64_t& number : numbers.of) number += offset;
      continue;
    }
    uint64_t size = step.getSequentialElementStride(layout_).getFixedValue();
    unsigned width = width_of(step.getOperand()->getType());
    if (!width) return made_up(address, moment);
    const LaneNumbers& index = at(step.getOperand(), moment);
    for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
      numbers.of[lane] += static_cast<uint64_t>(llvm::SignExtend64(index.of[lane], width)) * size;
    }
    numbers.made_up |= index.made_up;
    add_origin(numbers, index);
  }
  return numbers;
}

LaneNumbers LaneValues::of_phi(const llvm::PHINode& phi, const Moment& moment) {
  const llvm::Loop* loop = loops_.getLoopFor(phi.getParent());
  if (loop && loop->getHeader() == phi.getParent()) return of_header(phi, *loop, moment);
  LaneNumbers numbers = at(phi.getIncomingValue(0), moment);
  if (phi.getNumIncomingValues() != 2) {
    if (phi.hasConstantValue()) return numbers;
    numbers.made_up = ~uint64_t{0};
    numbers.by_lane = true;
    return numbers;
  }
  // Where two ways join again, the branch tells which was taken.
  const llvm::BasicBlock* fork =
      dominators_.findNearestCommonDominator(phi.getIncomingBlock(0), phi.getIncomingBlock(1));
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(fork->getTerminator());
  auto comes_from = [&](unsigned side, unsigned incoming) {
    llvm::BasicBlockEdge edge(fork, branch->getSuccessor(side));
    const llvm::BasicBlock* block = phi.getIncomingBlock(incoming);
    return (block == fork && branch->getSuccessor(side) == phi.getParent()) || dominators_.dominates(edge, block);
  };
  bool told = branch && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1);
  unsigned when_true = told && comes_from(0, 0) ? 0 : 1;
  if (!told || !comes_from(0, when_true) || !comes_from(1, 1 - when_true)) {
    numbers.made_up = ~uint64_t{0};
    numbers.by_lane = true;
    return numbers;
  }
  const LaneNumbers& condition = at(branch->getCondition(), moment);
  numbers = joined(condition, condition);
  for (unsigned incoming : {0u, 1u}) {
    const LaneNumbers& chosen = at(phi.getIncomingValue(incoming), moment);
    add_origin(numbers, chosen);
    for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
      if ((condition.of[lane] & 1) != (incoming == when_true)) continue;
      numbers.of[lane] = chosen.of[lane];
      numbers.made_up |= chosen.made_up & uint64_t{1} << lane;
    }
  }
  return numbers;
}

// What comes into the loop first, or from the iteration before.
LaneNumbers LaneValues::of_header(const llvm::PHINode& phi, const llvm::Loop& loop, const Moment& moment) {
  unsigned depth = loop.getLoopDepth();
  bool counted = depth <= Moment::kMostLoops;
  bool first = !counted || moment.iteration[depth - 1] == 0;
  const llvm::Value* comes = nullptr;
  bool several = false;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    if (loop.contains(phi.getIncomingBlock(i)) == first) continue;
    several |= comes && comes != phi.getIncomingValue(i);
    if (!comes) comes = phi.getIncomingValue(i);
  }
  Moment then = moment;
  if (!first) --then.iteration[depth - 1];
  LaneNumbers numbers = at(comes, then);
  if (several || !counted) numbers.made_up = ~uint64_t{0};
  return numbers;
}

std::optional<LaneNumbers> LaneValues::of_call(const llvm::CallInst& call, const Moment& moment) {
  const llvm::Function* callee = call.getCalledFunction();
  if (!callee) return std::nullopt;
  auto argument = [&](unsigned i) -> const LaneNumbers& { return at(call.getArgOperand(i), moment); };
  if (auto operation = operation_of(*callee)) {
    LaneNumbers numbers;
    switch (operation->kind) {
      case OperationKind::kQuery:
        return of_query(operation->query, operation->dimension);
      case OperationKind::kFirst:
        numbers = LaneNumbers::all(argument(0).of[0]);
        add_origin(numbers, argument(0));
        numbers.made_up = argument(0).made_up ? ~uint64_t{0} : 0;
        return numbers;
      case OperationKind::kPermute:
        numbers = joined(argument(0), argument(2));
        for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
          numbers.of[lane] = argument(0).of[argument(2).of[lane] % kTriedLanes];
        }
        if (numbers.made_up) numbers.made_up = ~uint64_t{0};
        return numbers;
      case OperationKind::kBallot:
        numbers = LaneNumbers::all(0);
        for (unsigned lane = 0; lane < kTriedLanes; ++lane) numbers.of[0] |= (argument(0).of[lane] & 1) << lane;
        numbers = LaneNumbers::all(numbers.of[0]);
        add_origin(numbers, argument(0));
        numbers.made_up = argument(0).made_up ? ~uint64_t{0} : 0;
        return numbers;
      case OperationKind::kBarrierCount:
        numbers = LaneNumbers::all(1);
        numbers.made_up = ~uint64_t{0};
        return numbers;
      default:
        return std::nullopt;
    }
  }
  unsigned width = width_of(call.getType());
  auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
  if (!intrinsic || !width || call.arg_empty() || !width_of(call.getArgOperand(0)->getType())) return std::nullopt;
  if (!given_by(intrinsic->getIntrinsicID(), 1, 1, width)) return std::nullopt;
  const LaneNumbers &left = argument(0), &right = argument(call.arg_size() > 1 ? 1 : 0);
  LaneNumbers numbers = joined(left, right);
  for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
    numbers.of[lane] = *given_by(intrinsic->getIntrinsicID(), left.of[lane], right.of[lane], width);
  }
  return numbers;
}

LaneNumbers LaneValues::of_query(Query query, unsigned dimension) const {
  const auto [x, y, z] = wave_.block;
  LaneNumbers numbers;
  switch (query) {
    case Query::kLocalId:
      numbers.by_lane = true;
      for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
        uint32_t thread = wave_.first + lane;
        numbers.of[lane] = std::array{thread % x, thread / x % y, thread / x / y}[dimension];
      }
      return numbers;
    case Query::kLocalSize:
      numbers = LaneNumbers::all(wave_.block[dimension]);
      break;
    case Query::kGroupId:
      numbers = LaneNumbers::all(3);
      break;
    case Query::kGroupCount:
      numbers = LaneNumbers::all(16);
      break;
  }
  numbers.of_launch = true;
  return numbers;
}

// The same from the same operands; from memory, a small number.
LaneNumbers LaneValues::made_up(const llvm::User& value, const Moment& moment) {
  LaneNumbers numbers = LaneNumbers::all(mixed(llvm::Operator::getOpcode(&value)));
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  bool has_turns = instruction && instruction->mayWriteToMemory();
  numbers.by_lane = has_turns;
  numbers.of_memory = instruction && instruction->mayReadFromMemory() &&
                      !instruction->hasMetadata(llvm::LLVMContext::MD_invariant_load);
  for (const llvm::Value* operand : value.operand_values()) {
    if (llvm::isa<llvm::BasicBlock, llvm::Function, llvm::MetadataAsValue>(operand)) continue;
    const LaneNumbers& made_of = at(operand, moment);
    add_origin(numbers, made_of);
    for (unsigned lane = 0; lane < kTriedLanes; ++lane) numbers.of[lane] = mixed(numbers.of[lane] ^ made_of.of[lane]);
  }
  for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
    uint64_t& number = numbers.of[lane];
    if (has_turns)
      number = lane;
    else if (value.getType()->isIntegerTy())
      number %= kLoaded;
    else if (value.getType()->isPointerTy())
      number |= uint64_t{1} << 63;
  }
  numbers.made_up = ~uint64_t{0};
  return numbers;
}

}  // namespace mneme::codegen::host
