// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests of the queues: what happens is counted, and a test in which nothing happens any more is ended.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace mneme::hostgpu {

// Counts everything that happens.
inline std::atomic<uint64_t> clock_now{1};
inline uint64_t tick() { return clock_now.fetch_add(1); }

class Watchdog {
 public:
  ~Watchdog() {
    over_ = true;
    thread_.join();
  }

 private:
  static constexpr auto kStuck = std::chrono::seconds(8);

  void watch() const {
    uint64_t seen = 0;
    auto since = std::chrono::steady_clock::now();
    while (!over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      auto now = std::chrono::steady_clock::now();
      if (uint64_t at = clock_now.load(); at != seen) {
        seen = at;
        since = now;
      } else if (now - since > kStuck) {
        std::fprintf(stderr, "FAILED: nothing has happened for a long time: a wake-up is lost\n");
        std::_Exit(1);
      }
    }
  }
  std::atomic<bool> over_{false};
  std::thread thread_{[this] { watch(); }};
};

}  // namespace mneme::hostgpu
