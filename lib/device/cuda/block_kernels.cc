// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/block_kernels.h"

// The PTX that the build makes of kernels/blocks.cc, and the zero that ends a text.
asm(".pushsection .rodata\n"
    "mneme_cuda_blocks_ptx:\n"
    ".incbin \"" MNEME_BLOCKS_PTX
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char mneme_cuda_blocks_ptx[];

namespace mneme::device::cuda {
namespace {

// Loaded once: the driver's compiler takes its time.
Module* block_kernels() {
  static Module* const module = [] {
    Module* loaded = nullptr;
    check(driver().cuModuleLoadData(&loaded, mneme_cuda_blocks_ptx), "loading the GPU's own work on memory");
    return loaded;
  }();
  return module;
}

}  // namespace

void prepare_block_kernels() { block_kernels(); }

Function* block_kernel(const char* name) {
  Function* found = nullptr;
  check(driver().cuModuleGetFunction(&found, block_kernels(), name), "finding the GPU's own work on memory");
  return found;
}

}  // namespace mneme::device::cuda
