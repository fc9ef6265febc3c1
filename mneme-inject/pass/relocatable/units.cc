// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/relocatable/units.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/Linker/Linker.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "base/error.h"
#include "cuda/carried.h"
#include "pass/closure.h"
#include "pass/compilation.h"
#include "pass/relocatable/own_names.h"

namespace mneme::inject {
namespace {

constexpr char kPrefix[] = "__mneme_unit_";        // of names of variables that hold units' IR
constexpr char kOwnPasses[] = "mneme.own_passes";  // metadata of a unit's IR
constexpr unsigned kAmdGpuConstantSpace = 4;
constexpr std::string_view kUnitMagic = "MNEMEUN1";
constexpr size_t kUnitHeader = 16;  // bytes: the magic and the size
constexpr size_t kUnitAlign = 16;

// Each unit has its own copy of the device library's functions. They are known by name further on, so linked units
// must share one; the constants that choose between variants of them may differ from unit to unit and stay apart.
void share_device_library(llvm::Module& unit) {
  for (llvm::Function& function : unit) {
    if (function.isDeclaration() || !function.hasLocalLinkage()) continue;
    llvm::StringRef name = function.getName();
    if (name.starts_with("__ocml_") || name.starts_with("__ockl_") || name.starts_with("__nv_")) {
      function.setLinkage(llvm::GlobalValue::LinkOnceODRLinkage);
    }
  }
}

std::vector<llvm::GlobalVariable*> carriers_in(llvm::Module& program) {
  std::vector<llvm::GlobalVariable*> found;
  for (llvm::GlobalVariable& variable : program.globals()) {
    if (variable.getName().starts_with(kPrefix) && variable.hasInitializer()) found.push_back(&variable);
  }
  return found;
}

std::unique_ptr<llvm::Module> link(llvm::LLVMContext& context, const std::vector<llvm::StringRef>& units) {
  std::unique_ptr<llvm::Module> linked;
  for (llvm::StringRef bitcode : units) {
    auto unit = llvm::parseBitcodeFile({bitcode, "unit"}, context);
    if (!unit) throw Error::of("a translation unit's IR cannot be read: {}", llvm::toString(unit.takeError()));
    if (!linked) {
      linked = std::make_unique<llvm::Module>("mneme", context);
      linked->setDataLayout((*unit)->getDataLayout());
      linked->setTargetTriple((*unit)->getTargetTriple());
    }
    if (llvm::Linker::linkModules(*linked, std::move(*unit))) throw Error("the translation units' IR does not link");
  }
  return linked;
}

// As it stands in a cubin's section.
std::string unit_record(const std::string& bitcode) {
  uint64_t size = bitcode.size();
  std::string record(kUnitMagic);
  record.append(reinterpret_cast<const char*>(&size), sizeof size);
  record += bitcode;
  record.resize(llvm::alignTo(record.size(), kUnitAlign), '\0');
  return record;
}

}  // namespace

void carry_unit(llvm::Module& unit, const std::vector<std::string>& own_passes) {
  const bool is_nvptx = llvm::Triple(unit.getTargetTriple()).isNVPTX();
  if (is_nvptx) name_what_is_its_own(unit);
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(unit);
  share_device_library(*copy);
  llvm::LLVMContext& context = copy->getContext();
  for (const std::string& passes : own_passes) {
    copy->getOrInsertNamedMetadata(kOwnPasses)
        ->addOperand(llvm::MDNode::get(context, llvm::MDString::get(context, passes)));
  }
  carry(compilations_of(unit), *copy);
  std::string bitcode = bitcode_of(*copy);
  if (is_nvptx) {
    unit.appendModuleInlineAsm(carried_lines(kUnitSection, unit_record(bitcode)));
    return;
  }
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(unit.getContext(), bitcode, /*AddNull=*/false);
  auto* variable = new llvm::GlobalVariable(
      unit, bytes->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, bytes,
      kPrefix + digest_of(bitcode).hex(), nullptr, llvm::GlobalValue::NotThreadLocal, kAmdGpuConstantSpace);
  llvm::appendToUsed(unit, {variable});
}

std::unique_ptr<llvm::Module> carried_units(llvm::Module& program) {
  std::vector<llvm::GlobalVariable*> carriers = carriers_in(program);
  std::vector<llvm::StringRef> units;
  for (const llvm::GlobalVariable* carrier : carriers) {
    units.push_back(llvm::cast<llvm::ConstantDataArray>(carrier->getInitializer())->getRawDataValues());
  }
  std::unique_ptr<llvm::Module> linked = link(program.getContext(), units);
  llvm::SmallPtrSet<llvm::Constant*, 8> gone(carriers.begin(), carriers.end());
  llvm::removeFromUsedLists(program, [&](llvm::Constant* used) { return gone.contains(used); });
  for (llvm::GlobalVariable* carrier : carriers) {
    carrier->removeDeadConstantUsers();
    carrier->eraseFromParent();
  }
  return linked;
}

std::unique_ptr<llvm::Module> linked_units(llvm::LLVMContext& context, Bytes section) {
  std::vector<llvm::StringRef> units;
  std::set<Digest> met;  // the same unit may be linked twice
  std::string_view rest = text_of(section);
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of('\0'), rest.size()));
    if (rest.empty()) return link(context, units);
    uint64_t size = 0;
    if (rest.size() > kUnitHeader) std::memcpy(&size, rest.data() + kUnitMagic.size(), sizeof size);
    if (!rest.starts_with(kUnitMagic) || size == 0 || size > rest.size() - kUnitHeader) {
      throw Error("a translation unit's IR is malformed; compile it again with this version of mneme-inject");
    }
    std::string_view bitcode = rest.substr(kUnitHeader, size);
    if (met.insert(digest_of(bitcode)).second) units.push_back(bitcode);
    rest.remove_prefix(kUnitHeader + size);
  }
}

std::vector<std::string> own_passes_of(const llvm::Module& linked) {
  std::vector<std::string> found;
  const llvm::NamedMDNode* all = linked.getNamedMetadata(kOwnPasses);
  if (!all) return found;
  for (const llvm::MDNode* one : all->operands()) {
    auto* name = one->getNumOperands() == 1 ? llvm::dyn_cast<llvm::MDString>(one->getOperand(0)) : nullptr;
    if (name && llvm::find(found, name->getString()) == found.end()) found.push_back(name->getString().str());
  }
  return found;
}

}  // namespace mneme::inject
