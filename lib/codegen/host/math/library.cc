// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/math/library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>

#include <cstddef>

#include "base/error.h"
#include "codegen/host/neutral/algebra_mark.h"
#include "codegen/host/semantics/canonical_nans.h"

// MNEME_MATH_BITCODE is math/unit.c, compiled by the build.
asm(".pushsection .rodata\n"
    ".balign 8\n"
    "mneme_math_bitcode_begin:\n"
    ".incbin \"" MNEME_MATH_BITCODE
    "\"\n"
    "mneme_math_bitcode_end:\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char mneme_math_bitcode_begin[];
extern "C" __attribute__((visibility("hidden"))) const char mneme_math_bitcode_end[];

namespace mneme::codegen::host {
namespace {

constexpr char kPrefix[] = "mneme_", kAlgebraPrefix[] = "algebra.";

std::unique_ptr<llvm::Module> load_library(llvm::Module& into) {
  llvm::StringRef bytes(mneme_math_bitcode_begin,
                        static_cast<size_t>(mneme_math_bitcode_end - mneme_math_bitcode_begin));
  auto library = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "math"), into.getContext());
  if (!library) throw Error::of("the built-in mathematical functions: {}", llvm::toString(library.takeError()));
  // Neither makes a difference to functions that keep nothing on the stack.
  (*library)->setDataLayout(into.getDataLayout());
  (*library)->setTargetTriple(into.getTargetTriple());
  return std::move(*library);
}

}  // namespace

llvm::FunctionCallee math_function(llvm::Module& module, llvm::StringRef name, llvm::Type* result,
                                   llvm::ArrayRef<llvm::Type*> arguments) {
  auto* type = llvm::FunctionType::get(result, arguments, false);
  if (!is_algebra(module)) return module.getOrInsertFunction((kPrefix + name).str(), type);
  llvm::FunctionCallee callee = module.getOrInsertFunction((kAlgebraPrefix + name).str(), type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setDoesNotAccessMemory();
  return callee;
}

bool is_algebra_function(const llvm::Function& function) { return function.getName().starts_with(kAlgebraPrefix); }

llvm::StringRef plain_name(const llvm::Function& function) {
  llvm::StringRef name = function.getName();
  if (!name.consume_front(kAlgebraPrefix)) return name;  // the C library's
  for (const char* suffix : {"_f16", "_f32", "_f64"}) {
    if (name.consume_back(suffix)) break;
  }
  return name;
}

void link_ring(llvm::Module& module) {
  std::vector<std::string> wanted;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && function.getName().starts_with(kPrefix)) wanted.push_back(function.getName().str());
  }
  std::unique_ptr<llvm::Module> library = load_library(module);
  // Those are of a program, and the kernel's of a shared object.
  library->eraseNamedMetadata(library->getModuleFlagsMetadata());
  for (llvm::Function& function : *library) function.removeFnAttr("target-features");
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded)) {
    throw Error("the functions of the ring do not link");
  }
  for (const std::string& name : wanted) {
    llvm::Function* function = module.getFunction(name);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

void link_math_library(llvm::Module& module) {
  std::vector<llvm::Function*> wanted;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && function.getName().starts_with(kPrefix)) wanted.push_back(&function);
  }
  if (wanted.empty()) return;
  std::unique_ptr<llvm::Module> library = load_library(module);
  for (llvm::Function& function : *library) {
    if (function.isDeclaration()) continue;
    // Theirs is the processor that the kernel will be compiled for.
    for (const char* name : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width"}) {
      function.removeFnAttr(name);
    }
    function.removeFnAttr(llvm::Attribute::UWTable);
    if (!function.hasFnAttribute(llvm::Attribute::StrictFP)) function.addFnAttr(llvm::Attribute::AlwaysInline);
    canonicalize_results(function);
  }
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded)) {
    throw Error("the built-in mathematical functions do not link");
  }
}

}  // namespace mneme::codegen::host
