// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long kernels take on an NVIDIA GPU: by its own clock at the kernel's start and end, where NVIDIA's CUPTI can be
// loaded, else by events around the launch, which takes some microseconds more.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace mneme::device::cuda {

class KernelTimer {
 public:
  virtual ~KernelTimer() = default;
  virtual std::string clock() const = 0;  // "cupti", "events"
  // Around the launch of one kernel into the default stream.
  virtual void start() = 0;
  virtual void stop() = 0;
  // Nanoseconds; once the kernel has ended.
  virtual uint64_t taken() = 0;
};

// To be called before the first context is made: CUPTI has to see it. Null: there is no CUPTI.
std::unique_ptr<KernelTimer> make_cupti_timer();
// Of the context that is current.
std::unique_ptr<KernelTimer> make_event_timer();

}  // namespace mneme::device::cuda
