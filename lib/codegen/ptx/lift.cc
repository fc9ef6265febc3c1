// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/lift.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "codegen/ptx/module.h"
#include "ir/module.h"
#include "ir/optimize.h"

namespace mneme::codegen::ptx {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";
constexpr char kLayout[] = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";
constexpr unsigned kNewestVersion = 85;  // of PTX that LLVM's back end writes

void annotate(llvm::Module& module, llvm::Function& kernel, llvm::StringRef what, uint64_t value) {
  llvm::LLVMContext& context = module.getContext();
  auto* number = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  module.getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(context, what),
                                               llvm::ValueAsMetadata::get(number)}));
}

// What the source promised of launches.
void annotate(llvm::Module& module, llvm::Function& kernel, const PtxFunction& source) {
  annotate(module, kernel, "kernel", 1);
  for (auto& [directive, prefix] : {std::pair("maxntid", "maxntid"), std::pair("reqntid", "reqntid"),
                                    std::pair("reqnctapercluster", "cluster_dim_")}) {
    auto found = source.limits.find(directive);
    if (found == source.limits.end()) continue;
    constexpr char kAxes[] = {'x', 'y', 'z'};
    for (size_t i = 0; i < found->second.size() && i < 3; ++i) {
      annotate(module, kernel, std::string(prefix) + kAxes[i], found->second[i]);
    }
  }
  for (auto& [directive, name] : {std::pair("minnctapersm", "minctasm"), std::pair("maxnreg", "maxnreg"),
                                  std::pair("maxclusterrank", "maxclusterrank")}) {
    auto found = source.limits.find(directive);
    if (found != source.limits.end() && !found->second.empty()) annotate(module, kernel, name, found->second[0]);
  }
}

// What only other kernels need goes. Functions that a pointer may lead to stay.
void keep_only(llvm::Module& module, llvm::StringRef kernel) {
  llvm::SmallVector<llvm::GlobalValue*, 8> pointed;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.getName() == kernel) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (function.hasAddressTaken()) pointed.push_back(&function);
  }
  if (!pointed.empty()) llvm::appendToCompilerUsed(module, pointed);
  if (llvm::NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations")) {
    llvm::SmallVector<llvm::MDNode*, 8> own;
    for (llvm::MDNode* node : annotations->operands()) {
      auto* about = llvm::mdconst::dyn_extract_or_null<llvm::Function>(node->getOperand(0));
      if (about && about->getName() == kernel) own.push_back(node);
    }
    annotations->clearOperands();
    for (llvm::MDNode* node : own) annotations->addOperand(node);
  }
  ir::optimize(module, "globaldce", nullptr);
}

std::unique_ptr<llvm::Module> new_module(llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("mneme", context);
  module->setSourceFileName("");
  module->setTargetTriple(kTriple);
  module->setDataLayout(kLayout);
  return module;
}

void lift_file(const PtxFile& file, llvm::StringRef text, llvm::Module& module, Lifted& lifted) {
  LiftedModule functions(file, text, module);
  std::string version = "+ptx" + std::to_string(std::min(file.major * 10 + file.minor, kNewestVersion));
  for (const PtxFunction& source : file.functions) {
    if (!source.is_defined) continue;
    if (functions.definition(source.name) != &source || file.aliases.contains(source.name)) {
      functions.fail(source.name, "is defined twice");
    }
    llvm::Function* function = nullptr;
    try {
      function = functions.function(source.name);
      lift_function(functions, source, *function);
      function->addFnAttr("target-features", version);
    } catch (const Error& error) {
      if (function) function->deleteBody();
      lifted.refused[source.name.str()] = error.what();
    }
    if (source.is_kernel && !llvm::is_contained(lifted.kernels, source.name)) {
      lifted.kernels.push_back(source.name.str());
    }
  }
  // Memory, or the application, may know of variables that no function here refers to.
  for (const PtxVariable& variable : file.variables) {
    if (address_space(variable.space) == kShared) continue;
    try {
      functions.variable(variable.name);
    } catch (const Error& error) {
      lifted.refused[variable.name.str()] = error.what();
    }
  }
  for (const auto& [other, name] : file.aliases) {
    llvm::Function* function = functions.function(name);
    if (function && !function->isDeclaration()) llvm::GlobalAlias::create(other, function);
  }
}

// Units that are linked: a function or variable of the one that the other declares is the same. Throws Error where both
// define it.
void link(llvm::Module& module, std::unique_ptr<llvm::Module> other) {
  std::string twice;
  module.getContext().setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* information, void* into) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(into));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        information->print(printer);
      },
      &twice);
  bool failed = llvm::Linker::linkModules(module, std::move(other));
  module.getContext().setDiagnosticHandlerCallBack(nullptr);
  if (failed) throw Error::of("the PTX of several units cannot be linked: {}", twice);
}

// Nobody outside calls functions. An alias is its function.
void end_linking(llvm::Module& module, llvm::ArrayRef<std::string> kernels) {
  for (llvm::GlobalAlias& alias : llvm::make_early_inc_range(module.aliases())) {
    alias.replaceAllUsesWith(alias.getAliasee());
    alias.eraseFromParent();
  }
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    bool is_kernel = llvm::is_contained(kernels, function.getName());
    function.setLinkage(is_kernel ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.hasWeakAnyLinkage()) variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
}

}  // namespace

Lifted lift(llvm::LLVMContext& context, std::string_view text) {
  std::string plain = without_comments(text);
  std::vector<PtxFile> files = parse_files(plain);
  Lifted lifted;
  lifted.module = new_module(context);
  llvm::Module& module = *lifted.module;
  for (const PtxFile& file : files) {
    if (&file == &files.front()) {
      lift_file(file, plain, module, lifted);
    } else {
      std::unique_ptr<llvm::Module> other = new_module(context);
      lift_file(file, plain, *other, lifted);
      link(module, std::move(other));
    }
  }
  end_linking(module, lifted.kernels);
  ir::verify_module(module, "the IR that Mneme made from the PTX");
  ir::optimize(module, "function(sroa)", nullptr);
  recover_pointers(module, lifted.kernels);
  ir::optimize(module, "function(sroa,instcombine<no-verify-fixpoint>,dce)", nullptr);
  write_as_clang(module);
  ir::optimize(module, "function(dce)", nullptr);
  std::set<llvm::StringRef> annotated;  // what several units define is annotated once
  for (const PtxFile& file : files) {
    for (const PtxFunction& source : file.functions) {
      llvm::Function* kernel = source.is_kernel && source.is_defined ? module.getFunction(source.name) : nullptr;
      if (kernel && !kernel->isDeclaration() && annotated.insert(source.name).second) annotate(module, *kernel, source);
    }
  }
  ir::verify_module(module, "the IR that Mneme made from the PTX");
  return lifted;
}

std::string why_refused(const Lifted& lifted, const std::string& kernel,
                        llvm::function_ref<bool(const llvm::GlobalValue&)> uses) {
  auto own = lifted.refused.find(kernel);
  if (own != lifted.refused.end()) return own->second;
  for (const auto& [name, why] : lifted.refused) {
    const llvm::GlobalValue* value = lifted.module->getNamedValue(name);
    if (value && value->isDeclaration() && uses(*value)) return why;
  }
  return {};
}

std::string lift_kernel(std::string_view text, const std::string& kernel) {
  llvm::LLVMContext context;
  Lifted lifted = lift(context, text);
  if (std::ranges::find(lifted.kernels, kernel) == lifted.kernels.end()) {
    throw Error::of("the PTX has no kernel '{}'", kernel);
  }
  keep_only(*lifted.module, kernel);
  std::string why = why_refused(lifted, kernel, [](const llvm::GlobalValue& left) { return !left.use_empty(); });
  if (!why.empty()) throw Error(why);
  return ir::write_bitcode(*lifted.module);
}

}  // namespace mneme::codegen::ptx
