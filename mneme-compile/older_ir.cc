// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "older_ir.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Operator.h>

#include <initializer_list>
#include <utility>

#include "ir/module.h"

namespace mneme::compile {
namespace {

constexpr char kCodeObject[] = "amdhsa_code_object_version", kCodeObjectBefore19[] = "amdgpu_code_object_version";

struct Since {
  llvm::Attribute::AttrKind kind;
  unsigned major;
};

constexpr Since kAttributes[] = {
    {llvm::Attribute::NoFPClass, 17},
    {llvm::Attribute::DeadOnUnwind, 18},
    {llvm::Attribute::Writable, 18},
    {llvm::Attribute::CoroDestroyOnlyWhenComplete, 18},
    {llvm::Attribute::OptimizeForDebugging, 19},
    {llvm::Attribute::Range, 19},
    {llvm::Attribute::HybridPatchable, 19},
};

llvm::AttributeList older(llvm::LLVMContext& context, llvm::AttributeList list, unsigned major) {
  for (const Since& attribute : kAttributes) {
    if (attribute.major <= major) continue;
    for (unsigned index : list.indexes()) list = list.removeAttributeAtIndex(context, index, attribute.kind);
  }
  return list;
}

void drop_flags(llvm::Instruction& instruction, unsigned major) {
  if (major < 18) {
    if (auto* extended = llvm::dyn_cast<llvm::PossiblyNonNegInst>(&instruction)) extended->setNonNeg(false);
    if (auto* either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction)) either->setIsDisjoint(false);
  }
  if (major < 19) {
    if (auto* cut = llvm::dyn_cast<llvm::TruncInst>(&instruction)) {
      cut->setHasNoSignedWrap(false);
      cut->setHasNoUnsignedWrap(false);
    }
    if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
      address->setNoWrapFlags(address->isInBounds() ? llvm::GEPNoWrapFlags::inBounds() : llvm::GEPNoWrapFlags::none());
    }
  }
}

void take_out(std::string& text, std::string_view part) {
  if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
}

// Address spaces of AMD's that a release does not know have no place in its layout.
std::string layout_for(std::string layout, unsigned major) {
  if (major < 18) take_out(layout, "-p9:192:256:256:32");
  if (major < 17) take_out(layout, "-p7:160:256:256:32-p8:128:128");
  if (const size_t at = layout.find("-ni:7:8:9"); at != std::string::npos && major < 18) {
    layout.replace(at, std::string::npos, major < 17 ? "-ni:7" : "-ni:7:8");
  }
  return layout;
}

unsigned rename_code_object(llvm::Module& module, unsigned major) {
  auto* version = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag(kCodeObject));
  if (!version) return 0;
  if (major < 19) {
    llvm::SmallVector<llvm::Module::ModuleFlagEntry, 8> flags;
    module.getModuleFlagsMetadata(flags);
    module.eraseNamedMetadata(module.getModuleFlagsMetadata());
    for (const auto& flag : flags) {
      const bool is_it = flag.Key->getString() == kCodeObject;
      module.addModuleFlag(flag.Behavior, is_it ? kCodeObjectBefore19 : flag.Key->getString(), flag.Val);
    }
  }
  return static_cast<unsigned>(version->getZExtValue() / 100);
}

}  // namespace

std::string ir_for_release(std::string_view ir, unsigned major, unsigned& code_object) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ir::load_module(context, ir, "the IR");
  llvm::StripDebugInfo(*module);
  for (llvm::Function& function : *module) {
    function.setAttributes(older(context, function.getAttributes(), major));
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      drop_flags(instruction, major);
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        call->setAttributes(older(context, call->getAttributes(), major));
      }
    }
  }
  code_object = rename_code_object(*module, major);
  module->setDataLayout(layout_for(module->getDataLayoutStr(), major));
  return ir::print_module(*module);
}

}  // namespace mneme::compile
