// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/driver.h"
#include "device/cuda/kernel_timer.h"

namespace mneme::device::cuda {
namespace {

class EventTimer final : public KernelTimer {
 public:
  EventTimer() {
    check(driver().cuEventCreate(&start_, 0), "making an event");
    check(driver().cuEventCreate(&end_, 0), "making an event");
  }
  std::string clock() const override { return "events"; }
  void start() override { check(driver().cuEventRecord(start_, nullptr), "recording an event"); }
  void stop() override { check(driver().cuEventRecord(end_, nullptr), "recording an event"); }
  uint64_t taken() override {
    float milliseconds = 0;
    check(driver().cuEventElapsedTime(&milliseconds, start_, end_), "asking for the time");
    return static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
  }

 private:
  Event *start_ = nullptr, *end_ = nullptr;  // the context's, to its end
};

}  // namespace

std::unique_ptr<KernelTimer> make_event_timer() { return std::make_unique<EventTimer>(); }

}  // namespace mneme::device::cuda
