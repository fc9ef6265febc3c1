// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "describe.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/Support/Path.h>
#include <llvm/TargetParser/TargetParser.h>

#include "layout.h"

namespace mneme::inject {
namespace {

// LLVM's numbers of the AMDGPU backend's address spaces.
constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kConstantSpace = 4;

llvm::StringRef attribute(const llvm::Function& function, llvm::StringRef name) {
  return function.getFnAttribute(name).getValueAsString();
}

uint32_t wave_size_of(const llvm::Function& kernel) {
  llvm::StringRef features = attribute(kernel, "target-features");
  if (features.contains("+wavefrontsize64")) return 64;
  if (features.contains("+wavefrontsize32")) return 32;
  llvm::AMDGPU::GPUKind kind = llvm::AMDGPU::parseArchAMDGCN(attribute(kernel, "target-cpu"));
  return llvm::AMDGPU::getArchAttrAMDGCN(kind) & llvm::AMDGPU::FEATURE_WAVE32 ? 32 : 64;
}

// HIP's threadIdx and its like are empty objects that only carry a type.
bool is_empty_object(const llvm::GlobalVariable& variable, uint64_t size) {
  return size <= 1 && variable.isConstant() && variable.hasInitializer() &&
         llvm::isa<llvm::UndefValue>(variable.getInitializer());
}

// Variables in device memory that the host can fill, or that memory can point to. String literals and tables
// of the device libraries are part of the code.
bool is_device_variable(const llvm::GlobalVariable& variable, uint64_t size) {
  if (size == 0 || is_empty_object(variable, size)) return false;
  if (variable.getAddressSpace() == kGlobalSpace) return true;
  return variable.getAddressSpace() == kConstantSpace && variable.isExternallyInitialized();
}

std::vector<bundle::Global> globals_of(const llvm::Module& closure) {
  const llvm::DataLayout& layout = closure.getDataLayout();
  std::vector<bundle::Global> globals;
  for (const llvm::GlobalVariable& variable : closure.globals()) {
    uint64_t size = layout.getTypeAllocSize(variable.getValueType());
    if (!is_device_variable(variable, size)) continue;
    llvm::Align align = layout.getValueOrABITypeAlignment(variable.getAlign(), variable.getValueType());
    globals.push_back({.name = variable.getName().str(),
                       .size = size,
                       .align = static_cast<uint32_t>(align.value()),
                       .constant = variable.isConstant()});
  }
  return globals;
}

std::vector<std::string> functions_with_address(const llvm::Module& closure) {
  std::vector<std::string> functions;
  for (const llvm::Function& function : closure) {
    if (!function.isIntrinsic() && function.hasAddressTaken()) functions.push_back(function.getName().str());
  }
  return functions;
}

}  // namespace

bundle::KernelInfo describe(const llvm::Module& closure, llvm::StringRef name, const std::string& bitcode,
                            llvm::StringRef source) {
  const llvm::Function& kernel = *closure.getFunction(name);
  ArgumentLayout layout = argument_layout(kernel);
  bundle::KernelInfo info;
  info.id = info.bitcode = digest_of(bitcode);
  info.name = name.str();
  info.demangled = llvm::demangle(info.name);
  info.target = closure.getTargetTriple() + "--" + attribute(kernel, "target-cpu").str();
  info.wave_size = wave_size_of(kernel);
  info.argument_bytes = layout.bytes;
  info.arguments = std::move(layout.arguments);
  info.globals = globals_of(closure);
  info.functions = functions_with_address(closure);
  info.source = llvm::sys::path::filename(source).str();
  return info;
}

}  // namespace mneme::inject
