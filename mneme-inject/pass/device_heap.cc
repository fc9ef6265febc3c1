// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   %p = call ptr @malloc(i64 %n)    ─▶    %p = call ptr @__mneme_malloc(i64 %n)
//
// and the allocator is linked into the module. Where the recorder has given it no memory it calls the vendor's.
#include "pass/device_heap.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Linker/Linker.h>
#include <llvm/TargetParser/Triple.h>

#include "base/error.h"
#include "objects/device_heap.h"

// The allocator, compiled for either vendor's GPUs.
asm(R"(
.section .rodata
mneme_heap_nvptx: .incbin ")" MNEME_HEAP_NVPTX R"("
mneme_heap_nvptx_end:
mneme_heap_amdgpu: .incbin ")" MNEME_HEAP_AMDGPU R"("
mneme_heap_amdgpu_end:
.previous
)");
extern "C" const char mneme_heap_nvptx[] __attribute__((visibility("hidden")));
extern "C" const char mneme_heap_nvptx_end[] __attribute__((visibility("hidden")));
extern "C" const char mneme_heap_amdgpu[] __attribute__((visibility("hidden")));
extern "C" const char mneme_heap_amdgpu_end[] __attribute__((visibility("hidden")));

namespace mneme::inject {
namespace {

// A function of the vendor's, the allocator's in its place, and what the allocator calls the vendor's.
struct Replaced {
  const char *vendor, *own, *inner;
};
constexpr Replaced kNvidia[] = {{"malloc", objects::kHeapAllocate, "__mneme_vendor_malloc"},
                                {"free", objects::kHeapRelease, "__mneme_vendor_free"}};
constexpr Replaced kAmd[] = {{"__ockl_dm_alloc", objects::kHeapAllocate, "__mneme_vendor_malloc"},
                             {"__ockl_dm_dealloc", objects::kHeapRelease, "__mneme_vendor_free"}};

llvm::StringRef allocator_for(const llvm::Module& module) {
  if (llvm::Triple(module.getTargetTriple()).isNVPTX()) {
    return {mneme_heap_nvptx, static_cast<size_t>(mneme_heap_nvptx_end - mneme_heap_nvptx)};
  }
  return {mneme_heap_amdgpu, static_cast<size_t>(mneme_heap_amdgpu_end - mneme_heap_amdgpu)};
}

// Code for one processor is inlined into code for the same only.
void compile_for(llvm::Function& function, const llvm::Module& module) {
  for (const char* attribute : {"target-cpu", "target-features"}) function.removeFnAttr(attribute);
  for (const llvm::Function& other : module) {
    if (other.isDeclaration()) continue;
    for (const char* attribute : {"target-cpu", "target-features"}) {
      if (other.hasFnAttribute(attribute)) function.addFnAttr(other.getFnAttribute(attribute));
    }
    return;
  }
}

std::unique_ptr<llvm::Module> load_allocator(const llvm::Module& module) {
  auto loaded = llvm::parseBitcodeFile({allocator_for(module), "the device heap's allocator"}, module.getContext());
  if (!loaded) throw Error::of("cannot read the device heap's allocator: {}", toString(loaded.takeError()));
  std::unique_ptr<llvm::Module> allocator = std::move(*loaded);
  allocator->setDataLayout(module.getDataLayout());
  allocator->setTargetTriple(module.getTargetTriple());
  for (llvm::NamedMDNode& node : llvm::make_early_inc_range(allocator->named_metadata())) node.eraseFromParent();
  for (const char* name : {"llvm.used", "llvm.compiler.used", "__hip_cuid_"}) {
    if (llvm::GlobalVariable* list = allocator->getNamedGlobal(name)) list->eraseFromParent();
  }
  for (llvm::Function& function : *allocator) {
    if (function.isDeclaration()) continue;
    compile_for(function, module);
    function.setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
  return allocator;
}

bool is_used(const llvm::Module& module, const char* name) {
  const llvm::Function* function = module.getFunction(name);
  return function && !function->use_empty();
}

}  // namespace

void use_own_heap(llvm::Module& module) {
  const auto& functions = llvm::Triple(module.getTargetTriple()).isNVPTX() ? kNvidia : kAmd;
  if (module.getFunction(functions[0].own) || module.getFunction(functions[1].own)) return;
  std::unique_ptr<llvm::Module> allocator = load_allocator(module);
  bool any = false;
  for (const Replaced& each : functions) {
    if (is_used(module, each.vendor)) {
      any = true;
    } else {
      allocator->getFunction(each.own)->eraseFromParent();
    }
  }
  if (!any) return;
  // By other names until then: the vendor's may be the module's own, which nothing is linked to.
  if (llvm::Linker::linkModules(module, std::move(allocator)))
    throw Error("cannot link the device heap's allocator into the device code");
  for (const Replaced& each : functions) {
    llvm::Function *vendor = module.getFunction(each.vendor), *own = module.getFunction(each.own);
    if (!own) continue;
    // Several units of a program may have it.
    own->setLinkage(llvm::GlobalValue::LinkOnceODRLinkage);
    own->setVisibility(llvm::GlobalValue::HiddenVisibility);
    vendor->replaceAllUsesWith(own);
    llvm::Function* inner = module.getFunction(each.inner);
    inner->replaceAllUsesWith(vendor);
    inner->eraseFromParent();
  }
  module.getNamedGlobal(objects::kHeapVariable)->setLinkage(llvm::GlobalValue::WeakAnyLinkage);
}

}  // namespace mneme::inject
