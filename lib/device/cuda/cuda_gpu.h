// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/cuda/driver.h"
#include "device/gpu/gpu.h"

namespace mneme::device::cuda {

// Of the context that is current.
class CudaGpu final : public gpu::Gpu {
 public:
  explicit CudaGpu(int device);

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

  int device_;
};

}  // namespace mneme::device::cuda
