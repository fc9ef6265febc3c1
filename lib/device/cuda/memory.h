// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/cuda/driver.h"
#include "device/gpu/recorded_memory.h"

namespace mneme::device::cuda {

// Of the context that is current.
class CudaMemory final : public gpu::RecordedMemory {
 public:
  explicit CudaMemory(int device);
  ~CudaMemory() override;

 private:
  uint64_t granularity() const override { return granularity_; }
  uint64_t reserve_at(uint64_t window, uint64_t size) override;
  void free_addresses(uint64_t window, uint64_t size) override;
  void back_device(uint64_t begin, uint64_t size) override;
  void give_device_back(uint64_t address, uint64_t size) override;
  void register_host(void* memory, uint64_t size) override;
  uint64_t seen_by_gpu(void* memory) override;
  void unregister_host(void* memory) override;

  int device_;
  uint64_t granularity_ = 0;
};

}  // namespace mneme::device::cuda
