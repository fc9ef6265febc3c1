// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long kernels take on a GPU: by its own clock at the kernel's start and end, where the vendor's profiling library
// works, else by events around the launch, which takes some microseconds more.
#pragma once
#include <cstdint>
#include <string>

#include "device/device.h"
#include "device/gpu/staging.h"

namespace mneme::device::gpu {

class KernelTimer {
 public:
  virtual ~KernelTimer() = default;
  virtual std::string clock() const = 0;  // "events", or the name of the library
  // Around the launch of one kernel, where nothing else is to be done.
  virtual void start() = 0;
  // An error may be of the kernel, which is what is being done.
  virtual void stop(const char* doing) = 0;
  // Nanoseconds of this launch, by clock() as it is afterwards; once the kernel has ended. May warn.
  virtual uint64_t taken(const Launch& launch) = 0;
};

class EventTimer final : public KernelTimer {
 public:
  explicit EventTimer(Gpu& gpu) : gpu_(gpu), start_(gpu, Gpu::Marking::kTimed), end_(gpu, Gpu::Marking::kTimed) {}

  std::string clock() const override { return "events"; }
  void start() override { gpu_.set(start_.mark(), "recording an event"); }
  void stop(const char* doing) override { gpu_.set(end_.mark(), doing); }
  uint64_t taken(const Launch&) override {
    return static_cast<uint64_t>(static_cast<double>(gpu_.milliseconds(start_.mark(), end_.mark())) * 1e6);
  }

 private:
  Gpu& gpu_;
  OneMark start_, end_;
};

}  // namespace mneme::device::gpu
