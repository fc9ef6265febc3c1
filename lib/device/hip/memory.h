// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "device/gpu/recorded_memory.h"
#include "device/hip/runtime.h"

namespace mneme::device::hip {

// Where the runtime's virtual memory functions do not work, which shows when they are tried, device memory is one large
// allocation made at the start, as the recorder makes it there: what was recorded in such a one can be replayed if it
// comes back at the same address.
class HipMemory final : public gpu::RecordedMemory {
 public:
  HipMemory();
  ~HipMemory() override;

  // Another runtime's allocation is replayed as memory of this device too, at the same address.
  void expect(std::span<const BlockRange> ranges) override;

 private:
  static constexpr uint64_t kGranularity = uint64_t{2} << 20;

  Result create(Allocation** allocation, uint64_t size) const;
  bool try_virtual_memory();
  void take_plain();
  bool is_plain(uint64_t address) const { return address - plain_begin_ < plain_end_ - plain_begin_; }

  bool is_device(uint64_t address) const override;
  void map_device(uint64_t address, uint64_t end) override;
  void reserve(uint64_t address, uint64_t end) override;
  uint64_t granularity() const override { return kGranularity; }
  uint64_t reserve_at(uint64_t window, uint64_t size) override;
  void free_addresses(uint64_t window, uint64_t size) override;
  void back_device(uint64_t begin, uint64_t size) override;
  void give_device_back(uint64_t address, uint64_t size) override;
  void register_host(void* memory, uint64_t size) override;
  uint64_t seen_by_gpu(void* memory) override;
  void unregister_host(void* memory) override;

  bool virtual_ = false;  // the functions work
  bool newer_ = true;     // the form of their structure
  void* plain_ = nullptr;
  uint64_t plain_begin_ = 0, plain_end_ = 0;  // whole blocks of it
  std::map<uint64_t, uint64_t> elsewhere_;    // other device memory of the recording's: address → size, whole granules
};

}  // namespace mneme::device::hip
