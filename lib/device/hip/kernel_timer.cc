// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/kernel_timer.h"

#include "base/error.h"
#include "device/hip/profiler.h"

namespace mneme::device::hip {

EventTimer::EventTimer() {
  check(runtime().hipEventCreate(&start_), "making an event");
  const Result result = runtime().hipEventCreate(&end_);
  if (result != 0) runtime().hipEventDestroy(start_);
  check(result, "making an event");
}

EventTimer::~EventTimer() {
  runtime().hipEventDestroy(start_);
  runtime().hipEventDestroy(end_);
}

void EventTimer::start() { check(runtime().hipEventRecord(start_, nullptr), "recording an event"); }
Result EventTimer::stop() { return runtime().hipEventRecord(end_, nullptr); }

uint64_t EventTimer::taken() const {
  float milliseconds = 0;
  check(runtime().hipEventElapsedTime(&milliseconds, start_, end_), "asking for the time");
  return static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

KernelTimer::KernelTimer() {
  const ProfilerChoice& choice = choose_profiler(runtime());
  profiler_ = choice.profiler;
  warning_ = choice.why_not;
}

std::string KernelTimer::clock() const { return profiler_ ? "rocprofiler-sdk" : "events"; }

void KernelTimer::start() {
  if (profiler_) profiler_->begin();
  events_.start();
}

Result KernelTimer::stop() { return events_.stop(); }

// A kernel cannot have taken longer than from before its launch until after it; clocks differ a little.
uint64_t KernelTimer::by_profiler(const Launch& launch, uint64_t by_events) const {
  constexpr uint64_t kClocks = 100'000;  // nanoseconds
  const uint64_t taken = profiler_->taken(&launch);
  if (taken > by_events + by_events / 16 + kClocks) throw Error("it reports a kernel time longer than the launch took");
  return taken;
}

uint64_t KernelTimer::taken(const Launch& launch) {
  uint64_t taken = events_.taken();
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
