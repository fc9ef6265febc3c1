// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "units.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "closure.h"

namespace mneme::inject {
namespace {

constexpr char kPrefix[] = "__mneme_unit_";
constexpr unsigned kConstantSpace = 4;

// Each unit has its own copy of the device library's functions. They are known by name further on, so linked units
// must share one; the constants that choose between variants of them may differ from unit to unit and stay apart.
void share_device_library(llvm::Module& unit) {
  for (llvm::Function& function : unit) {
    if (function.isDeclaration() || !function.hasLocalLinkage()) continue;
    llvm::StringRef name = function.getName();
    if (name.starts_with("__ocml_") || name.starts_with("__ockl_")) {
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

std::unique_ptr<llvm::Module> unit_of(const llvm::GlobalVariable& carrier) {
  llvm::StringRef bitcode = llvm::cast<llvm::ConstantDataArray>(carrier.getInitializer())->getRawDataValues();
  auto unit = llvm::parseBitcodeFile({bitcode, carrier.getName()}, carrier.getContext());
  if (!unit) throw Error::of("a translation unit's IR cannot be read: {}", llvm::toString(unit.takeError()));
  return std::move(*unit);
}

}  // namespace

void carry_unit(llvm::Module& unit) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(unit);
  share_device_library(*copy);
  std::string bitcode = bitcode_of(*copy);
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(unit.getContext(), bitcode, /*AddNull=*/false);
  auto* variable = new llvm::GlobalVariable(
      unit, bytes->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, bytes,
      kPrefix + digest_of(bitcode).hex(), nullptr, llvm::GlobalValue::NotThreadLocal, kConstantSpace);
  llvm::appendToUsed(unit, {variable});
}

std::unique_ptr<llvm::Module> carried_units(llvm::Module& program) {
  std::vector<llvm::GlobalVariable*> carriers = carriers_in(program);
  if (carriers.empty()) return nullptr;
  auto linked = std::make_unique<llvm::Module>("mneme", program.getContext());
  linked->setDataLayout(program.getDataLayout());
  linked->setTargetTriple(program.getTargetTriple());
  llvm::Linker linker(*linked);
  for (llvm::GlobalVariable* carrier : carriers) {
    if (linker.linkInModule(unit_of(*carrier))) throw Error("the translation units' IR does not link");
  }
  llvm::SmallPtrSet<llvm::Constant*, 8> gone(carriers.begin(), carriers.end());
  llvm::removeFromUsedLists(program, [&](llvm::Constant* used) { return gone.contains(used); });
  for (llvm::GlobalVariable* carrier : carriers) {
    carrier->removeDeadConstantUsers();
    carrier->eraseFromParent();
  }
  return linked;
}

}  // namespace mneme::inject
