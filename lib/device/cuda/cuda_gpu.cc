// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/cuda_gpu.h"

#include <array>

#include "device/cuda/module.h"
#include "device/gpu/kernels/blocks.h"

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
    check(driver().cuModuleLoadData(&loaded, mneme_cuda_blocks_ptx), "loading Mneme's own kernels");
    return loaded;
  }();
  return module;
}

Function* function_of(gpu::BlockKernel kernel) {
  static std::array<Function*, std::size(gpu::kBlockKernels)> found = {};
  const auto which = static_cast<size_t>(kernel);
  if (!found[which]) {
    check(driver().cuModuleGetFunction(&found[which], block_kernels(), gpu::kBlockKernels[which]),
          "finding Mneme's own kernels");
  }
  return found[which];
}

Event* event_of(gpu::Gpu::Mark* mark) { return reinterpret_cast<Event*>(mark); }

}  // namespace

// Whoever has a GPU made ready early waits for its own kernels later otherwise.
CudaGpu::CudaGpu(int device) : device_(device) { has_block_kernels(); }

void CudaGpu::load_block_kernels() {
  for (gpu::BlockKernel kernel :
       {gpu::BlockKernel::kCountDifferences, gpu::BlockKernel::kPutBack, gpu::BlockKernel::kTranslate}) {
    function_of(kernel);
  }
}

uint64_t CudaGpu::allocate(uint64_t bytes) {
  Address address = 0;
  return driver().cuMemAlloc_v2(&address, bytes) == 0 ? address : 0;
}

void CudaGpu::release(uint64_t address) { driver().cuMemFree_v2(address); }

void CudaGpu::copy(uint64_t to, uint64_t from, uint64_t bytes, const char* doing) {
  check(driver().cuMemcpyDtoD_v2(to, from, bytes), doing);
}

void CudaGpu::clear(uint64_t address, uint64_t bytes, const char* doing) {
  check(driver().cuMemsetD8Async(address, 0, bytes, nullptr), doing);
}

void CudaGpu::read(uint64_t address, std::span<std::byte> out, const char* doing) {
  check(driver().cuMemcpyDtoH_v2(out.data(), address, out.size()), doing);
}

void CudaGpu::write(uint64_t address, Bytes bytes, const char* doing) {
  check(driver().cuMemcpyHtoD_v2(address, bytes.data(), bytes.size()), doing);
}

void CudaGpu::begin_write(uint64_t address, Bytes bytes, const char* doing) {
  check(driver().cuMemcpyHtoDAsync_v2(address, bytes.data(), bytes.size(), nullptr), doing);
}

void CudaGpu::start(gpu::BlockKernel kernel, uint64_t groups, void** arguments, const char* doing) {
  check(driver().cuLaunchKernel(function_of(kernel), static_cast<unsigned>(groups), 1, 1, gpu::kThreads, 1, 1, 0,
                                nullptr, arguments, nullptr),
        doing);
}

void CudaGpu::start(Code& code, uint32_t groups, bundle::Dim3 group, void** arguments, const char* doing) {
  check(driver().cuLaunchKernel(static_cast<LoadedModule&>(code).function(), groups, 1, 1, group.x, group.y, group.z, 0,
                                nullptr, arguments, nullptr),
        doing);
}

void CudaGpu::wait(const char* doing) { check(driver().cuCtxSynchronize(), doing); }

gpu::Gpu::Mark* CudaGpu::make_mark() {
  Event* event = nullptr;
  check(driver().cuEventCreate(&event, kNoTiming), "making an event");
  return reinterpret_cast<Mark*>(event);
}

void CudaGpu::set(Mark* mark) { check(driver().cuEventRecord(event_of(mark), nullptr), "recording an event"); }
void CudaGpu::wait_for(Mark* mark) { check(driver().cuEventSynchronize(event_of(mark)), "waiting for the GPU"); }
void CudaGpu::drop(Mark* mark) { driver().cuEventDestroy_v2(event_of(mark)); }

bool CudaGpu::pin(std::span<std::byte> memory) {
  return driver().cuMemHostRegister_v2(memory.data(), memory.size(), kRegisterPortable) == 0;
}

void CudaGpu::unpin(std::byte* memory) { driver().cuMemHostUnregister(memory); }

uint64_t CudaGpu::cache_size() const {
  int bytes = 0;
  check(driver().cuDeviceGetAttribute(&bytes, kSecondCacheSize, device_), "asking for the size of the GPU's cache");
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

}  // namespace mneme::device::cuda
