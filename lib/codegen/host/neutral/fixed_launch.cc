// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/fixed_launch.h"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "codegen/host/abi.h"
#include "codegen/host/neutral/context.h"

namespace mneme::codegen::host {
namespace {

constexpr char kLaunch[] = "mneme.launch";

using Numbers = std::array<uint32_t, 7>;  // grid, block, bytes of dynamic shared memory

Numbers numbers_of(const bundle::LaunchSize& size) {
  return {size.grid.x, size.grid.y, size.grid.z, size.block.x, size.block.y, size.block.z, size.shared_bytes};
}

// A structure in memory, of which some bytes are known.
struct Known {
  std::string bytes;
  std::vector<bool> known;
  explicit Known(size_t size) : bytes(size, '\0'), known(size) {}

  void put(size_t at, uint32_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      bytes[at + i] = static_cast<char>(value >> (8 * i));
      known[at + i] = true;
    }
  }
  bool has(uint64_t at, uint64_t size) const {
    if (at > known.size() || size > known.size() - at) return false;
    for (uint64_t i = at; i < at + size; ++i) {
      if (!known[i]) return false;
    }
    return true;
  }
};

void answer_loads(llvm::Instruction& structure, const Known& known) {
  const llvm::DataLayout& layout = structure.getModule()->getDataLayout();
  llvm::Constant* contents = llvm::ConstantDataArray::getString(structure.getContext(), known.bytes, /*AddNull=*/false);
  std::vector<std::pair<llvm::Value*, uint64_t>> work = {{&structure, 0}};
  while (!work.empty()) {
    auto [value, offset] = work.back();
    work.pop_back();
    for (llvm::User* user : llvm::make_early_inc_range(value->users())) {
      if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        llvm::APInt more(layout.getIndexTypeSizeInBits(address->getType()), 0);
        if (address->accumulateConstantOffset(layout, more)) work.emplace_back(address, offset + more.getZExtValue());
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        if (!known.has(offset, layout.getTypeStoreSize(load->getType()))) continue;
        llvm::Constant* answer =
            llvm::ConstantFoldLoadFromConst(contents, load->getType(), llvm::APInt(64, offset), layout);
        if (answer) load->replaceAllUsesWith(answer);
      }
    }
  }
}

}  // namespace

void fix_launch(llvm::Module& module, const bundle::LaunchSize& size) {
  llvm::SmallVector<llvm::Metadata*> numbers;
  llvm::Type* word = llvm::Type::getInt32Ty(module.getContext());
  for (uint32_t number : numbers_of(size)) {
    numbers.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(word, number)));
  }
  module.getOrInsertNamedMetadata(kLaunch)->addOperand(llvm::MDNode::get(module.getContext(), numbers));
}

std::optional<bundle::LaunchSize> fixed_launch(const llvm::Module& module) {
  const llvm::NamedMDNode* noted = module.getNamedMetadata(kLaunch);
  if (!noted || noted->getNumOperands() != 1 || noted->getOperand(0)->getNumOperands() != Numbers().size()) {
    return std::nullopt;
  }
  Numbers numbers;
  for (unsigned i = 0; i < numbers.size(); ++i) {
    auto* number = llvm::mdconst::dyn_extract<llvm::ConstantInt>(noted->getOperand(0)->getOperand(i));
    if (!number) return std::nullopt;
    numbers[i] = static_cast<uint32_t>(number->getZExtValue());
  }
  return bundle::LaunchSize{{numbers[0], numbers[1], numbers[2]}, {numbers[3], numbers[4], numbers[5]}, numbers[6]};
}

// Where they lie: abi.h.
void answer_implicit_loads(llvm::CallInst& implicit, const bundle::LaunchSize& size) {
  Known known(256);
  Numbers numbers = numbers_of(size);
  for (size_t i = 0; i < 3; ++i) {
    known.put(4 * i, numbers[i], 4);
    known.put(12 + 2 * i, numbers[3 + i], 2);
    known.put(18 + 2 * i, 0, 2);  // what remains of the grid: nothing
  }
  answer_loads(implicit, known);
}

void answer_dispatch_loads(llvm::CallInst& dispatch, const bundle::LaunchSize& size) {
  Known known(64);
  Numbers numbers = numbers_of(size);
  for (size_t i = 0; i < 3; ++i) {
    known.put(4 + 2 * i, numbers[3 + i], 2);
    known.put(12 + 4 * i, numbers[i] * numbers[3 + i], 4);
  }
  answer_loads(dispatch, known);
}

void refuse_other_launches(llvm::Module& module, llvm::Function& run_block) {
  std::optional<bundle::LaunchSize> size = fixed_launch(module);
  if (!size) return;
  Context context(module);
  llvm::Value* given = run_block.getArg(0);
  llvm::BasicBlock& entry = run_block.getEntryBlock();
  // Locals stay where they are found to be such.
  auto first = entry.getFirstNonPHIOrDbgOrAlloca();
  llvm::IRBuilder<> builder(&entry, first);
  Numbers numbers = numbers_of(*size);
  llvm::Value* differs = builder.getFalse();
  for (unsigned i = 0; i < 6; ++i) {
    Context::Member member = i < 3 ? Context::kGrid : Context::kBlock;
    llvm::Value* actual = builder.CreateLoad(builder.getInt32Ty(), context.address(builder, given, member, i % 3));
    differs = builder.CreateOr(differs, builder.CreateICmpNE(actual, builder.getInt32(numbers[i])));
  }
  llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(differs, &*builder.GetInsertPoint(), /*Unreachable=*/true);
  builder.SetInsertPoint(then);
  std::string text = fmt::format("runs code that was compiled for the grid {} and the block {} only",
                                 bundle::text_of(size->grid), bundle::text_of(size->block));
  call_through_table(builder, "stop", builder.getVoidTy(), given, builder.getInt32(0),
                     {builder.getInt32(kOther), builder.CreateGlobalStringPtr(text)});
}

}  // namespace mneme::codegen::host
