// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>

#include "recorder/hip_api.h"
#include "recorder/next.h"
#include "recorder/process.h"
#include "recorder/runtime.h"

namespace mneme::record::hip {

inline constexpr char kLibrary[] = "libamdhip64.so.5";

// HIP, or its stand-in on a machine with no GPU, which adds functions of its own (lib/hostgpu/extensions.h).
class HipRuntime final : public Runtime {
 public:
  void reserve(uint64_t base, uint64_t size) override;
  void unreserve(uint64_t base, uint64_t size) override;
  std::optional<Fd> back(uint64_t address, uint64_t size, int device) override;
  void unback(uint64_t address, uint64_t size) override;
  bool survives_fork() override { return is_stand_in(); }
  bool adopt_host(void* address, uint64_t size) override;
  void disown_host(void* address) override;
  int device_count() override;
  int device() override;
  int device_of(void* stream) override;
  int synchronize(std::chrono::milliseconds patience) override;
  int synchronize(void* stream, std::chrono::milliseconds patience) override;
  int wait() override;
  void hold() override;
  void let_go() override;
  bool is_capturing(void* stream) override;
  std::string error_text(int error) override;
  bool prepare(const void* host_function, int device) override;
  std::optional<MemoryRange> global(void* fat_binary, const std::string& name, int device) override;

  bool is_stand_in();

  // Set once the application has begun to build a graph from a stream; asking is not free.
  std::atomic<bool> captures_streams{false};

 private:
  std::atomic<uint64_t> backed_devices_{0};  // a bit for each that has memory behind recorded addresses
};

HipRuntime& runtime();
inline void start() { record::start(runtime()); }

}  // namespace mneme::record::hip
