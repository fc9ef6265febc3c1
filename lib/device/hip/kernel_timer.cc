// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/kernel_timer.h"

#include "base/error.h"
#include "device/hip/profiler.h"

namespace mneme::device::hip {

ProfiledTimer::ProfiledTimer(gpu::Gpu& gpu) : events_(gpu) {
  const ProfilerChoice& choice = choose_profiler(runtime());
  profiler_ = choice.profiler;
  warning_ = choice.why_not;
}

std::string ProfiledTimer::clock() const { return profiler_ ? "rocprofiler-sdk" : "events"; }

void ProfiledTimer::start() {
  if (profiler_) profiler_->begin();
  events_.start();
}

// A kernel cannot have taken longer than from before its launch until after it; clocks differ a little.
uint64_t ProfiledTimer::by_profiler(const Launch& launch, uint64_t by_events) const {
  constexpr uint64_t kClocks = 100'000;  // nanoseconds
  const uint64_t taken = profiler_->taken(&launch);
  if (taken > by_events + by_events / 16 + kClocks) throw Error("it reports a kernel time longer than the launch took");
  return taken;
}

uint64_t ProfiledTimer::taken(const Launch& launch) {
  uint64_t taken = events_.taken(launch);
  if (profiler_) {
    try {
      taken = by_profiler(launch, taken);
    } catch (const Error& error) {
      warning_ = fmt::format("times are those of events from now on, as rocprofiler-sdk fails: {}", error.what());
      profiler_->end();
      profiler_ = nullptr;
    }
  }
  if (launch.warn && !warning_.empty()) {
    launch.warn(warning_);
    warning_.clear();
  }
  return taken;
}

}  // namespace mneme::device::hip
