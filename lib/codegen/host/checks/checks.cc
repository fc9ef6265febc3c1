// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/checks/checks.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instruction.h>
#include <llvm/Support/Path.h>

#include "bundle/checks.h"
#include "codegen/host/abi.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

llvm::GlobalVariable& constant(llvm::Module& module, llvm::Constant* value) {
  auto* variable =
      new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "mneme.site");
  set_memory_class(*variable, MemoryClass::kPrivateConstant);
  return *variable;
}

bool is_in_header_of_vendor(const llvm::DILocation& location) {
  const llvm::StringRef file = location.getFilename(), folder = location.getDirectory();
  auto is_system = [](llvm::StringRef path) { return path.starts_with("/usr/") || path.contains("/lib/clang/"); };
  if (llvm::sys::path::filename(file).starts_with("__clang_cuda_")) return true;
  return is_system(file) || (!file.starts_with("/") && is_system(folder));
}

}  // namespace

uint32_t checks_of(const bundle::Configuration& configuration) {
  constexpr std::pair<const char*, uint32_t> kBits[] = {
      {"init", kCheckInit}, {"nan", kCheckNan}, {"races", kCheckRaces}, {"sync", kCheckSync}};
  uint32_t checks = 0;
  for (const auto& [name, bit] : kBits) {
    if (bundle::has_check(configuration.checks, name)) checks |= bit;
  }
  return checks;
}

bool tracks(uint32_t checks) { return (checks & (kCheckRaces | kCheckSync)) != 0; }

std::string place_of(const llvm::Instruction& instruction) {
  const llvm::DILocation *innermost = instruction.getDebugLoc(), *location = innermost;
  while (location && location->getInlinedAt() && (!location->getLine() || is_in_header_of_vendor(*location))) {
    location = location->getInlinedAt();
  }
  // A kernel of a vendor's library is in such headers altogether.
  if (location && is_in_header_of_vendor(*location) && innermost->getLine()) location = innermost;
  if (!location || !location->getLine()) return {};
  return fmt::format("{}:{}", llvm::sys::path::filename(location->getFilename()).str(), location->getLine());
}

llvm::Constant* Sites::text(const std::string& text) {
  llvm::Constant*& known = texts_[text];
  if (!known) known = &constant(module_, llvm::ConstantDataArray::getString(module_.getContext(), text));
  return known;
}

llvm::Constant* Sites::site(const llvm::Instruction& instruction, uint32_t flags) {
  std::string place = place_of(instruction);
  llvm::LLVMContext& context = module_.getContext();
  // Without a line each instruction is a place of its own.
  llvm::Constant* nowhere = nullptr;
  llvm::Constant*& known = place.empty() ? nowhere : sites_[{place, flags}];
  if (known) return known;
  llvm::Constant* name = text(place);
  auto* type = llvm::StructType::get(context, {name->getType(), llvm::Type::getInt32Ty(context)});
  known = &constant(
      module_, llvm::ConstantStruct::get(type, {name, llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), flags)}));
  return known;
}

}  // namespace mneme::codegen::host
