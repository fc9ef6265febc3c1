// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>

#include "device/cuda/cupti_timer.h"
#include "device/cuda/memory.h"
#include "device/cuda/textures.h"
#include "device/gpu/gpu.h"

namespace mneme::device::cuda {

// NVIDIA's first GPU, in a context that is made current. A kernel that faults leaves the context broken: everything
// fails from then on, and the process has to be replaced.
class CudaGpu final : public gpu::Gpu {
 public:
  CudaGpu();

  uint64_t allocate(uint64_t bytes) override;
  void release(uint64_t address) override;
  void copy(uint64_t to, uint64_t from, uint64_t bytes, const char* doing) override;
  void clear(uint64_t address, uint64_t bytes, const char* doing) override;
  void read(uint64_t address, std::span<std::byte> out, const char* doing) override;
  void write(uint64_t address, Bytes bytes, const char* doing) override;
  void begin_write(uint64_t address, Bytes bytes, const char* doing) override;
  void start(gpu::BlockKernel kernel, uint64_t groups, void** arguments, const char* doing) override;
  void start(Code& code, uint32_t groups, bundle::Dim3 group, void** arguments, const char* doing) override;
  void wait(const char* doing) override;
  bool works() override;
  Mark* make_mark(Marking marking) override;
  void set(Mark* mark, const char* doing) override;
  void wait_for(Mark* mark) override;
  float milliseconds(Mark* from, Mark* to) override;
  void drop(Mark* mark) override;
  bool pin(std::span<std::byte> memory) override;
  void unpin(std::byte* memory) override;
  uint64_t cache_size() const override;
  std::optional<size_t> stack_size() const override;
  void give_stacks(size_t bytes, const char* doing) override;
  gpu::RecordedMemory& memory() override { return memory_; }
  gpu::KernelTimer& timer() override { return *timer_; }
  std::unique_ptr<gpu::LoadedCode> load(const bundle::KernelInfo& kernel, Bytes code) override;
  void admit(const gpu::LoadedCode& code, const Launch& launch) const override;
  void prepare(const gpu::LoadedCode& code, const Launch& launch, std::string& arguments) override;
  void start(const gpu::LoadedCode& code, const Launch& launch, std::string& arguments, std::vector<void*>& values,
             const char* doing) override;
  void finish(const Launch& launch) override;
  void forget_launches() override { textures_.reset(); }

 private:
  void load_block_kernels() override;

  std::unique_ptr<gpu::KernelTimer> timer_ = make_cupti_timer();  // before the context
  int device_;
  CudaMemory memory_;
  std::optional<Textures> textures_;  // of the last launch, if it has any
};

}  // namespace mneme::device::cuda
