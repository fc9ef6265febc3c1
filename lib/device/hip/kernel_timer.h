// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long kernels take on an AMD GPU: by its own clock at the kernel's start and end, as rocprofiler-sdk tells it,
// where that works; else by events around the launch, which takes some microseconds more.
#pragma once
#include <cstdint>
#include <string>

#include "device/device.h"
#include "device/hip/runtime.h"

namespace mneme::device::hip {

class Profiler;

// By events around the launch.
class EventTimer {
 public:
  EventTimer();
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  void start();
  // What it says may be of the kernel.
  Result stop();
  // Nanoseconds; once the kernel has ended.
  uint64_t taken() const;

 private:
  Event *start_ = nullptr, *end_ = nullptr;
};

// By the profiler, until it fails once: then, for good, by events.
class KernelTimer {
 public:
  KernelTimer();

  std::string clock() const;  // "rocprofiler-sdk", "events"
  // Around the launch of one kernel into the default stream, where nothing else is to be done.
  void start();
  Result stop();
  // Nanoseconds of this launch, by clock() as it is afterwards; once the kernel has ended. Warns, where the launch lets
  // it, if the profiler is there and not used.
  uint64_t taken(const Launch& launch);

 private:
  uint64_t by_profiler(const Launch& launch, uint64_t by_events) const;

  EventTimer events_;
  Profiler* profiler_;   // may be null
  std::string warning_;  // that nobody has got yet
};

}  // namespace mneme::device::hip
