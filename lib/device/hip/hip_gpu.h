// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>
#include <vector>

#include "device/gpu/gpu.h"
#include "device/hip/runtime.h"

namespace mneme::device::hip {

// The device that is current. Its own kernels are loaded when they are first wanted: device memory that is to come back
// at an address has to be taken before. What it cannot load is for processors that the build knows not of, and those
// have none.
class HipGpu final : public gpu::Gpu {
 public:
  // `pieces` of the memory that it copies, address → size, which are other memory to the runtime each, whether or not
  // they lie side by side: that a copy may go on from one into the next came later than virtual memory did
  // (ihipMemcpy_validate in ROCm/clr).
  explicit HipGpu(const std::map<uint64_t, uint64_t>& pieces) : pieces_(pieces) {}
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
  Mark* make_mark() override;
  void set(Mark* mark) override;
  void wait_for(Mark* mark) override;
  void drop(Mark* mark) override;
  bool pin(std::span<std::byte> memory) override;
  void unpin(std::byte* memory) override;
  uint64_t cache_size() const override;

 private:
  void load_block_kernels() override;
  uint64_t left_in_piece(uint64_t address) const;
  // Calls `copy` for parts of it, each within a piece.
  template <class Copy>
  void copy_parts(uint64_t to, uint64_t from, uint64_t bytes, const Copy& copy) const;

  const std::map<uint64_t, uint64_t>& pieces_;
  std::string pack_;  // the runtime may keep on reading what it loaded
  std::vector<Module*> modules_;
  std::vector<Function*> functions_;  // in the order of gpu::kBlockKernels
};

}  // namespace mneme::device::hip
