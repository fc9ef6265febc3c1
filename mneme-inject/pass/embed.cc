// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/embed.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "cuda/carried.h"
#include "objects/embedded.h"
#include "objects/source.h"

namespace mneme::inject {
namespace {

constexpr unsigned kAmdGpuConstantSpace = 4;

std::string symbol_of(llvm::StringRef kernel) { return ("__mneme_ir_" + kernel).str(); }

void embed_in_amdgpu(llvm::Module& module, const std::string& symbol, std::string_view section,
                     const std::string& record) {
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(module.getContext(), record, /*AddNull=*/false);
  // Weak, because two translation units may instantiate the same template; protected, so that the symbol
  // is exported and what it names stays under --gc-sections.
  auto* variable =
      new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true, llvm::GlobalValue::WeakODRLinkage, bytes,
                               symbol, nullptr, llvm::GlobalValue::NotThreadLocal, kAmdGpuConstantSpace);
  variable->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  variable->setSection(llvm::StringRef(section));
  variable->setAlignment(llvm::Align(objects::kEmbeddedAlign));
  llvm::appendToUsed(module, {variable});
}

}  // namespace

bool has_embedded(const llvm::Module& module, llvm::StringRef name) {
  return module.getNamedValue(symbol_of(name)) != nullptr;
}

void embed(llvm::Module& module, llvm::StringRef name, const std::string& record) {
  if (llvm::Triple(module.getTargetTriple()).isNVPTX()) {
    module.appendModuleInlineAsm(carried_lines(objects::kEmbeddedSection, record));
  } else {
    embed_in_amdgpu(module, symbol_of(name), objects::kEmbeddedSection, record);
  }
}

void embed_source(llvm::Module& module, const std::string& record) {
  if (llvm::Triple(module.getTargetTriple()).isNVPTX()) {
    module.appendModuleInlineAsm(carried_lines(objects::kSourceSection, record));
    return;
  }
  const std::string symbol = "__mneme_source_" + digest_of(record).hex();
  if (!module.getNamedValue(symbol)) embed_in_amdgpu(module, symbol, objects::kSourceSection, record);
}

std::vector<bundle::KernelInfo> embedded_kernels(const llvm::Module& module) {
  std::vector<bundle::KernelInfo> kernels;
  auto add = [&](std::string_view records) {
    for (auto& kernel : objects::parse_embedded(bytes_of(records), "embedded IR")) {
      kernels.push_back(std::move(kernel.info));
    }
  };
  std::string assembly = module.getModuleInlineAsm();
  add(take_carried(assembly)[std::string(objects::kEmbeddedSection)]);
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.hasInitializer() || variable.getSection() != llvm::StringRef(objects::kEmbeddedSection)) continue;
    auto* record = llvm::dyn_cast<llvm::ConstantDataSequential>(variable.getInitializer());
    if (!record) continue;
    llvm::StringRef bytes = record->getRawDataValues();
    add({bytes.data(), bytes.size()});
  }
  return kernels;
}

}  // namespace mneme::inject
