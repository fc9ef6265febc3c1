// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "recorder/link/protocol.h"
#include "recorder/runtime/devices.h"

namespace mneme::record {

// Copies of device memory to the host's that go on while the caller does something else. Not thread-safe.
class Fetches {
 public:
  explicit Fetches(const Devices& devices) : devices_(devices) {}  // borrowed

  // Begins to bring the pieces, one behind the other, by copies, unless `gather` says that it has begun to bring some
  // (all of one device's, which is the thread's) in the order of the default stream. Throws Error, and then none is
  // waited for.
  using Gather = std::function<bool(std::span<const Piece> some, std::byte* to)>;
  void begin(const std::vector<Piece>& pieces, std::byte* to, const Gather& gather = {});
  // Waits for the oldest that has begun, if there is one; throws Error.
  void await();

 private:
  struct Destroy {
    void operator()(void* event) const { devices->destroy_event(event); }
    const Devices* devices;
  };
  using Event = std::unique_ptr<void, Destroy>;
  // Behind the copies of one begin(): a device, and an event of it.
  struct Mark {
    int device;
    Event event;
  };
  using Marks = std::vector<Mark>;

  void check(int status) const;
  void copy(std::span<const Piece> pieces, std::byte* to) const;

  const Devices& devices_;
  std::deque<Marks> under_way_;  // in order
};

}  // namespace mneme::record
