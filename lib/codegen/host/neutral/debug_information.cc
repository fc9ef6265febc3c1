// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/debug_information.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/InstIterator.h>

#include "codegen/host/host.h"
#include "codegen/host/neutral/context.h"
#include "ir/module.h"

namespace mneme::codegen::host {
namespace {

bool has_locations(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const auto& i) { return i.getDebugLoc().get() != nullptr; });
}

// Of the kernel's code that stands in a function: it counts as inlined there, at `place`.
class InlinedAt {
 public:
  explicit InlinedAt(llvm::DILocation* place) : place_(place) {}

  // What the lowering made belongs to the function as a whole.
  llvm::DebugLoc operator()(const llvm::DebugLoc& location) {
    if (!location) return place_;
    llvm::LLVMContext& context = place_->getContext();
    llvm::DILocation* at = llvm::DebugLoc::appendInlinedAt(location, place_, context, cache_);
    return llvm::DILocation::get(context, location.getLine(), location.getCol(), location.getScope(), at);
  }

 private:
  llvm::DILocation* place_;
  llvm::DenseMap<const llvm::MDNode*, llvm::MDNode*> cache_;
};

void move_locations(llvm::Function& function, llvm::DILocation* place) {
  InlinedAt inlined(place);
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    instruction.setDebugLoc(inlined(instruction.getDebugLoc()));
    llvm::updateLoopMetadataDebugLocations(instruction, [&](llvm::Metadata* part) -> llvm::Metadata* {
      auto* location = llvm::dyn_cast_or_null<llvm::DILocation>(part);
      return location ? inlined(location).get() : part;
    });
    for (llvm::DbgRecord& record : instruction.getDbgRecordRange()) {
      record.setDebugLoc(inlined(record.getDebugLoc()));
    }
  }
}

bool is_elsewhere(const llvm::Value* value, const llvm::Function& function) {
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(value)) return instruction->getFunction() != &function;
  auto* argument = llvm::dyn_cast<llvm::Argument>(value);
  return argument && argument->getParent() != &function;
}

// Where code was copied from one function to another, a variable may still be said to be what it was in the first.
void forget_what_is_elsewhere(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    for (llvm::DbgVariableRecord& record :
         llvm::make_early_inc_range(llvm::filterDbgVars(instruction.getDbgRecordRange()))) {
      bool elsewhere = llvm::any_of(record.location_ops(), [&](auto* value) { return is_elsewhere(value, function); });
      if (elsewhere) record.eraseFromParent();
    }
  }
}

}  // namespace

void forget_assignments(llvm::Module& device) {
  for (llvm::Function& function : device) {
    llvm::SetVector<llvm::DebugVariable> declared;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      for (llvm::DbgVariableRecord& record :
           llvm::make_early_inc_range(llvm::filterDbgVars(instruction.getDbgRecordRange()))) {
        if (!record.isDbgAssign() || record.isKillAddress() || !declared.insert(llvm::DebugVariable(&record))) continue;
        llvm::DbgVariableRecord::createDVRDeclare(record.getAddress(), record.getVariable(),
                                                  record.getAddressExpression(), record.getDebugLoc(), record);
      }
    }
    llvm::at::deleteAll(&function);
  }
}

void prepare_debug_information(const llvm::Module& device, llvm::Module& host) {
  host.setIsNewDbgInfoFormat(device.IsNewDbgInfoFormat);
  if (device.debug_compile_units().empty()) return;
  host.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  constexpr uint32_t kDwarfVersion = 4;  // what every debugger of today reads
  host.addModuleFlag(llvm::Module::Max, "Dwarf Version", kDwarfVersion);
}

bool is_for_debugging(const bundle::KernelInfo& info, std::string_view ir) {
  if (info.id == info.bitcode) return false;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ir::load_module(context, ir, "the IR of kernel '" + info.demangled + "'");
  const llvm::Function* kernel = module->getFunction(info.name);
  return kernel && kernel->getSubprogram() && kernel->hasOptNone();
}

llvm::DISubprogram* subprogram_of(const llvm::Module& module, const std::string& kernel) {
  const llvm::Function* function = module.getFunction(kernel);
  return function ? function->getSubprogram() : nullptr;
}

void scope_debug_information(llvm::Module& module, llvm::DISubprogram* kernel) {
  if (!kernel) return;
  llvm::DIBuilder builder(module, false, kernel->getUnit());
  llvm::DIFile* file = kernel->getFile();
  llvm::DISubroutineType* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  for (llvm::Function& function : module) {
    forget_what_is_elsewhere(function);
    bool runs = function.getName() == kBlockFunction || (function.hasAddressTaken() && has_locations(function));
    if (function.isDeclaration() || function.getSubprogram() || !runs) continue;
    llvm::DISubprogram* own = builder.createFunction(
        file, (kernel->getName() + ".block").str(), "", file, kernel->getLine(), type, kernel->getScopeLine(),
        llvm::DINode::FlagArtificial, llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagLocalToUnit);
    auto* place = llvm::DILocation::get(module.getContext(), kernel->getScopeLine(), 0, own);
    move_locations(function, place);
    function.setSubprogram(own);
  }
  builder.finalize();
}

}  // namespace mneme::codegen::host
