// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "device/gpu/gpu.h"
#include "device/hip/kernel_timer.h"
#include "device/hip/memory.h"
#include "device/hip/runtime.h"

namespace mneme::device::hip {

// AMD's first GPU, as the device that is current. A kernel that faults usually ends the process, which is replaced
// then. Mneme's own kernels are loaded when they are first wanted: device memory that is to come back at an address has
// to be taken before. What it cannot load is for processors that the build knows not of, and those have none.
class HipGpu final : public gpu::Gpu {
 public:
  ~HipGpu() override;

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
  gpu::KernelTimer& timer() override { return timer_; }
  std::unique_ptr<gpu::LoadedCode> load(const bundle::KernelInfo& kernel, Bytes code) override;
  void admit(const gpu::LoadedCode& code, const Launch& launch) const override;
  void start(const gpu::LoadedCode& code, const Launch& launch, std::string& arguments, std::vector<void*>& values,
             const char* doing) override;

 private:
  void load_block_kernels() override;
  uint64_t left_in_piece(uint64_t address) const;
  // Calls `copy` for parts of it, each within a piece of memory(). Pieces are other memory to the runtime each, whether
  // or not they lie side by side: that a copy may go on from one into the next came later than virtual memory did
  // (ihipMemcpy_validate in ROCm/clr).
  template <class Copy>
  void copy_parts(uint64_t to, uint64_t from, uint64_t bytes, const Copy& copy) const;

  HipMemory memory_;
  ProfiledTimer timer_{*this};
  std::string pack_;  // the runtime may keep on reading what it loaded
  std::vector<Module*> modules_;
  std::vector<Function*> functions_;  // in the order of gpu::kBlockKernels
};

}  // namespace mneme::device::hip
