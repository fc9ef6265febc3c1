// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/core/kernels.h"

namespace mneme::record {

// What a launch is told by, and the counters of those like it.
struct SettledLaunch {
  struct Slots {
    uint32_t launches = 0;  // counter of the kernel's launches
    uint32_t reason = 0;    // counter of those that are not recorded for this reason, or are like a recorded one
  };
  struct Value {
    uint32_t argument = 0;  // its place among the arguments
    uint32_t size = 0;      // bytes
  };
  const void* function = nullptr;
  int device = 0;
  bool all = false;
  bundle::Dim3 grid, block, cluster;
  uint32_t shared_bytes = 0;
  Slots slots;
  std::vector<Value> values;
  std::string bytes;  // of the values, one after the other, padding as the application left it
  std::vector<std::shared_ptr<const SettledLaunch>> before;  // what is like one of these is not like this
  // Where the last value of each of those lies, and its first 8 bytes: side by side, for the launch before this one may
  // have emptied the cache.
  Value last;
  std::vector<uint64_t> last_words;

  bool is_like(const LaunchRequest& request, int device) const;
  const Slots* slots_of(const LaunchRequest& request, int device) const;

 private:
  bool may_be_like_one_before(const LaunchRequest& request) const;
};

// The launch, without the values of its arguments if `only_config`. nullptr: it cannot be told from others so.
std::shared_ptr<SettledLaunch> settled_launch(const LaunchRequest& request, int device,
                                              const bundle::KernelInfo& kernel, bool only_config,
                                              SettledLaunch::Slots slots);

// Launches of which it is settled that they are only counted. The last one of each host function is remembered, so that
// one like it costs a comparison, without locks and allocations; and where all are settled, those that tell which.
// find() may be called by any thread at any time; the others by one at a time.
class Settled {
 public:
  using Slots = SettledLaunch::Slots;

  // nullptr: it has to be looked into. What is returned stays as it is for as long as this lives.
  const Slots* find(const LaunchRequest& request, int device) const {
    for (size_t i = 0, place = first_place(request.function); i < kWays; ++i) {
      const Entry* entry = places_[place + i].load(std::memory_order_acquire);
      if (!entry) return nullptr;
      if (entry->function == request.function) return entry->slots_of(request, device);
    }
    return nullptr;
  }
  // Whatever the launch's dimensions and arguments, but for those like one of `before`.
  void remember_all(const void* function, int device, Slots slots,
                    std::vector<std::shared_ptr<const SettledLaunch>> before = {});
  // Those with its dimensions, and the values of its arguments that are no pointers unless `only_config`.
  void remember_alike(const LaunchRequest& request, int device, const bundle::KernelInfo& kernel, bool only_config,
                      Slots slots);
  void forget();

 private:
  using Entry = SettledLaunch;

  // A function has one of these places from its first on; more functions than that take turns.
  static constexpr size_t kPlaces = 1024, kWays = 4;
  static size_t first_place(const void* function) {
    auto address = reinterpret_cast<uintptr_t>(function);
    return (address >> 4 ^ address >> 12) % kPlaces;
  }
  void publish(std::shared_ptr<const Entry> entry);

  std::array<std::atomic<const Entry*>, kPlaces + kWays> places_{};
  std::vector<std::shared_ptr<const Entry>> entries_;  // all there ever were: somebody may be looking at one
  std::unordered_map<const void*, uint32_t> times_;    // how often each function would have been remembered
};

}  // namespace mneme::record
