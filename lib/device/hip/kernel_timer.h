// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "device/gpu/kernel_timer.h"

namespace mneme::device::hip {

class Profiler;

// By rocprofiler-sdk, where that works, until it fails once: then, for good, by events.
class ProfiledTimer final : public gpu::KernelTimer {
 public:
  explicit ProfiledTimer(gpu::Gpu& gpu);

  std::string clock() const override;  // "rocprofiler-sdk", "events"
  void start() override;
  void stop(const char* doing) override { events_.stop(doing); }
  // Warns, where the launch lets it, if the profiler is there and not used.
  uint64_t taken(const Launch& launch) override;

 private:
  uint64_t by_profiler(const Launch& launch, uint64_t by_events) const;

  gpu::EventTimer events_;
  Profiler* profiler_;   // may be null
  std::string warning_;  // that nobody has got yet
};

}  // namespace mneme::device::hip
