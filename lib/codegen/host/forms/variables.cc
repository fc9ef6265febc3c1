// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where module-level variables live: shared memory, and device variables.
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/ReplaceConstant.h>

#include <map>

#include "base/error.h"
#include "codegen/host/abi.h"
#include "codegen/host/forms/lower.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

std::vector<llvm::GlobalVariable*> variables_of(llvm::Module& module, MemoryClass memory) {
  std::vector<llvm::GlobalVariable*> found;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (memory_class(variable) == memory) found.push_back(&variable);
  }
  return found;
}

// Replaces each use in a function's code by a value made at that function's entry.
void replace_in_functions(llvm::GlobalVariable& variable,
                          llvm::function_ref<llvm::Value*(llvm::Function&, llvm::IRBuilderBase&)> value) {
  llvm::convertUsersOfConstantsToInstructions({&variable});
  std::map<llvm::Function*, llvm::Value*> made;
  for (llvm::Use& use : llvm::make_early_inc_range(variable.uses())) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(use.getUser());
    if (!instruction) continue;
    llvm::Function* function = instruction->getFunction();
    llvm::Value*& here = made[function];
    if (!here) {
      llvm::IRBuilder<> builder(&*function->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      here = value(*function, builder);
    }
    use.set(here);
  }
}

// The type of one GlobalSlot (abi.h), and one GlobalRelocation.
struct SlotTypes {
  explicit SlotTypes(llvm::LLVMContext& context) {
    llvm::Type* pointer = llvm::PointerType::get(context, 0);
    llvm::Type* number = llvm::Type::getInt64Ty(context);
    slot = llvm::StructType::get(context, {pointer, number, number, pointer, pointer, number, pointer});
    relocation = llvm::StructType::get(context, {number, number});
  }
  llvm::StructType* slot;
  llvm::StructType* relocation;
};

// Initial contents that hold the addresses of other device variables, which only the caller knows: the
// addresses are taken out and listed, what was added to them stays.
class Relocations {
 public:
  Relocations(const std::map<llvm::GlobalVariable*, uint64_t>& index, const llvm::DataLayout& layout,
              const bundle::KernelInfo& kernel, llvm::StringRef variable)
      : index_(index), layout_(layout), kernel_(kernel), variable_(variable) {}

  llvm::Constant* take_out(llvm::Constant* constant, uint64_t offset) {
    if (llvm::isa<llvm::UndefValue>(constant)) return llvm::Constant::getNullValue(constant->getType());
    auto* aggregate = llvm::dyn_cast<llvm::ConstantAggregate>(constant);
    if (!aggregate) return address(constant, offset);
    llvm::SmallVector<llvm::Constant*, 16> elements;
    for (unsigned i = 0; i < aggregate->getNumOperands(); ++i) {
      elements.push_back(take_out(aggregate->getOperand(i), offset + element_offset(aggregate->getType(), i)));
    }
    if (auto* type = llvm::dyn_cast<llvm::StructType>(aggregate->getType())) {
      return llvm::ConstantStruct::get(type, elements);
    }
    if (auto* type = llvm::dyn_cast<llvm::ArrayType>(aggregate->getType())) {
      return llvm::ConstantArray::get(type, elements);
    }
    return llvm::ConstantVector::get(elements);
  }

  const std::vector<std::pair<uint64_t, uint64_t>>& list() const { return list_; }

 private:
  uint64_t element_offset(llvm::Type* type, unsigned i) const {
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
      return layout_.getStructLayout(structure)->getElementOffset(i);
    }
    return i * layout_.getTypeAllocSize(llvm::GetElementPtrInst::getTypeAtIndex(type, uint64_t{0}));
  }

  // A pointer, or an integer made of one; or neither.
  llvm::Constant* address(llvm::Constant* constant, uint64_t offset) {
    llvm::GlobalValue* base = nullptr;
    llvm::APInt addend;
    if (!llvm::IsConstantOffsetFromGlobal(constant, base, addend, layout_)) {
      // A function's address is a number already.
      if (is_number(constant)) return constant;
      refuse("a computed address");
    }
    auto found = index_.find(llvm::dyn_cast<llvm::GlobalVariable>(base));
    if (found == index_.end()) return constant;  // the code object's own constant
    if (layout_.getTypeStoreSize(constant->getType()) != sizeof(uint64_t)) refuse("part of an address");
    list_.emplace_back(offset, found->second);
    llvm::Type* type = llvm::Type::getInt64Ty(constant->getContext());
    llvm::Constant* number = llvm::ConstantInt::get(type, addend.getSExtValue());
    return constant->getType()->isPointerTy() ? llvm::ConstantExpr::getIntToPtr(number, constant->getType()) : number;
  }

  static bool is_number(const llvm::Constant* constant) {
    if (llvm::isa<llvm::ConstantData>(constant)) return true;
    auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(constant);
    return expression && expression->getOpcode() == llvm::Instruction::IntToPtr &&
           llvm::isa<llvm::ConstantInt>(expression->getOperand(0));
  }

  [[noreturn]] void refuse(const char* what) const {
    throw Error::of("kernel '{}': the variable '{}' is initialised with {}, which the host device does not have",
                    kernel_.demangled, variable_.str(), what);
  }

  const std::map<llvm::GlobalVariable*, uint64_t>& index_;
  const llvm::DataLayout& layout_;
  const bundle::KernelInfo& kernel_;
  llvm::StringRef variable_;
  std::vector<std::pair<uint64_t, uint64_t>> list_;
};

llvm::Constant* private_constant(llvm::Module& module, llvm::Constant* value, llvm::MaybeAlign align = {}) {
  auto* variable = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value);
  variable->setAlignment(align);
  return variable;
}

llvm::Constant* text_constant(llvm::Module& module, llvm::StringRef text) {
  return private_constant(module, llvm::ConstantDataArray::getString(module.getContext(), text));
}

}  // namespace

uint64_t lower_shared_memory(llvm::Module& module, const bundle::KernelInfo& kernel) {
  const llvm::DataLayout& layout = module.getDataLayout();
  Context context_type(module);
  auto place = [&](llvm::GlobalVariable& variable, uint64_t offset) {
    replace_in_functions(variable, [&](llvm::Function& function, llvm::IRBuilderBase& builder) {
      llvm::Value* shared = context_type.load(builder, context_in(function, builder), Context::kShared);
      return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), shared, offset);
    });
    if (!variable.use_empty()) {
      throw Error::of("kernel '{}': the address of the shared variable '{}' is part of another variable",
                      kernel.demangled, variable.getName().str());
    }
    variable.eraseFromParent();
  };
  uint64_t end = 0;
  for (llvm::GlobalVariable* variable : variables_of(module, MemoryClass::kShared)) {
    uint64_t start = llvm::alignTo(end, variable->getAlign().valueOrOne());
    end = start + layout.getTypeAllocSize(variable->getValueType());
    place(*variable, start);
  }
  // Dynamic shared memory follows, all of it at one place.
  llvm::Align align(16);
  const std::vector<llvm::GlobalVariable*> dynamic = variables_of(module, MemoryClass::kSharedDynamic);
  for (llvm::GlobalVariable* variable : dynamic) align = std::max(align, variable->getAlign().valueOrOne());
  end = llvm::alignTo(end, align);
  for (llvm::GlobalVariable* variable : dynamic) place(*variable, end);
  return end;
}

std::pair<llvm::Constant*, uint64_t> lower_device_variables(llvm::Module& module, const bundle::KernelInfo& kernel) {
  const llvm::DataLayout& layout = module.getDataLayout();
  SlotTypes types(module.getContext());
  std::vector<llvm::GlobalVariable*> variables = variables_of(module, MemoryClass::kDevice);
  llvm::Constant* null = llvm::ConstantPointerNull::get(llvm::PointerType::get(module.getContext(), 0));
  if (variables.empty()) return {null, 0};

  std::map<llvm::GlobalVariable*, uint64_t> index;
  for (llvm::GlobalVariable* variable : variables) index.emplace(variable, index.size());
  auto number = [&](uint64_t n) { return llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), n); };

  std::vector<llvm::Constant*> slots;
  for (llvm::GlobalVariable* variable : variables) {
    Relocations relocations(index, layout, kernel, variable->getName());
    llvm::Constant* initial = null;
    if (variable->hasInitializer()) {
      llvm::Constant* contents = relocations.take_out(variable->getInitializer(), 0);
      if (!contents->isNullValue()) initial = private_constant(module, contents, variable->getAlign());
    }
    std::vector<llvm::Constant*> list;
    for (auto [offset, target] : relocations.list()) {
      list.push_back(llvm::ConstantStruct::get(types.relocation, {number(offset), number(target)}));
    }
    llvm::Constant* table = null;
    if (!list.empty()) {
      table =
          private_constant(module, llvm::ConstantArray::get(llvm::ArrayType::get(types.relocation, list.size()), list));
    }
    slots.push_back(llvm::ConstantStruct::get(
        types.slot,
        {text_constant(module, variable->getName()), number(layout.getTypeAllocSize(variable->getValueType())),
         number(variable->getAlign().valueOrOne().value()), initial, table, number(list.size()), null}));
  }
  auto* array = llvm::ArrayType::get(types.slot, slots.size());
  auto* table = new llvm::GlobalVariable(module, array, false, llvm::GlobalValue::InternalLinkage,
                                         llvm::ConstantArray::get(array, slots), "mneme.globals");
  // The caller writes the addresses: nothing may be concluded from the nulls there now.
  table->setExternallyInitialized(true);
  constexpr unsigned kAddressMember = 6;
  for (llvm::GlobalVariable* variable : variables) {
    uint64_t slot = index.at(variable);
    replace_in_functions(*variable, [&](llvm::Function&, llvm::IRBuilderBase& builder) {
      llvm::Value* member = builder.CreateInBoundsGEP(
          array, table, {builder.getInt64(0), builder.getInt64(slot), builder.getInt32(kAddressMember)});
      llvm::LoadInst* load = builder.CreateLoad(builder.getPtrTy(), member);
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
      return load;
    });
  }
  for (llvm::GlobalVariable* variable : variables) variable->setInitializer(nullptr);
  for (llvm::GlobalVariable* variable : variables) {
    variable->removeDeadConstantUsers();
    if (!variable->use_empty()) {
      throw Error::of("kernel '{}': the address of the variable '{}' is part of a constant", kernel.demangled,
                      variable->getName().str());
    }
    variable->eraseFromParent();
  }
  return {table, slots.size()};
}

void make_code_object(llvm::Module& module, const BlockCode& code, const bundle::KernelInfo& kernel,
                      const Traits& traits, std::pair<llvm::Constant*, uint64_t> globals) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::IntegerType* word = llvm::Type::getInt32Ty(context);
  llvm::IntegerType* number = llvm::Type::getInt64Ty(context);
  llvm::Constant* strides = llvm::ConstantDataArray::get(context, traits.block_strides);
  auto* type = llvm::StructType::get(context, {word, word, word, word, pointer, number, pointer, number, pointer, word,
                                               strides->getType(), word, word, word});
  llvm::Constant* object = llvm::ConstantStruct::get(
      type,
      {llvm::ConstantInt::get(word, kAbiVersion), llvm::ConstantInt::get(word, code.keeps),
       llvm::ConstantInt::get(word, traits.ordered), llvm::ConstantInt::get(word, traits.waits), code.run_block,
       llvm::ConstantInt::get(number, traits.shared_static), globals.first,
       llvm::ConstantInt::get(number, globals.second), text_constant(module, kernel.demangled),
       llvm::ConstantInt::get(word, traits.most_threads), strides, llvm::ConstantInt::get(word, traits.wave_dimensions),
       llvm::ConstantInt::get(word, traits.wave_size), llvm::ConstantInt::get(word, traits.checks)});
  new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage, object, kEntrySymbol);
}

}  // namespace mneme::codegen::host
