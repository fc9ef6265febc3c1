// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice about ranges of memory. All of it is the host's: advice is kept to be told again, and changes nothing.
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"
#include "hostgpu/queue/streams.h"

namespace mneme::hostgpu {
namespace {

struct Advice {
  uint64_t size = 0;  // bytes
  bool read_mostly = false, accessed = false, coarse = false;
  int preferred = hipInvalidDeviceId;
  int prefetched = hipInvalidDeviceId;
};

struct Ranges {
  HeldOverForks<std::mutex> mutex;
  std::map<uint64_t, Advice> advised;  // by the address that the advice was given for
};

Ranges& ranges() {
  static auto* all = new Ranges;
  return *all;
}

void check_location(int device) {
  if (device != hipCpuDeviceId) check_device(device);
}

// With the lock held.
Advice& advice_for(const void* start, uint64_t size) {
  Advice& advice = ranges().advised[reinterpret_cast<uint64_t>(start)];
  advice.size = std::max(advice.size, size);
  return advice;
}

// What holds for all of a range.
Advice advice_about(const void* start, uint64_t size) {
  auto address = reinterpret_cast<uint64_t>(start);
  auto after = ranges().advised.upper_bound(address);
  if (after == ranges().advised.begin()) return {};
  auto [first, advice] = *std::prev(after);
  uint64_t offset = address - first;
  return offset < advice.size && size <= advice.size - offset ? advice : Advice{};
}

void advise(Advice& advice, hipMemoryAdvise what, int device) {
  switch (what) {
    case hipMemAdviseSetReadMostly:
    case hipMemAdviseUnsetReadMostly:
      advice.read_mostly = what == hipMemAdviseSetReadMostly;
      return;
    case hipMemAdviseSetPreferredLocation:
      advice.preferred = device;
      return;
    case hipMemAdviseUnsetPreferredLocation:
      advice.preferred = hipInvalidDeviceId;
      return;
    case hipMemAdviseSetAccessedBy:
    case hipMemAdviseUnsetAccessedBy:
      advice.accessed = what == hipMemAdviseSetAccessedBy;
      return;
    case hipMemAdviseSetCoarseGrain:
    case hipMemAdviseUnsetCoarseGrain:
      advice.coarse = what == hipMemAdviseSetCoarseGrain;
      return;
  }
  throw HipError(hipErrorInvalidValue);
}

void answer_attribute(void* data, size_t size, hipMemRangeAttribute which, const Advice& advice) {
  require(data && size && size % sizeof(int) == 0);
  std::vector<int> values(size / sizeof(int), hipInvalidDeviceId);
  require(which == hipMemRangeAttributeAccessedBy || values.size() == 1);
  switch (which) {
    case hipMemRangeAttributeReadMostly:
      values[0] = advice.read_mostly;
      break;
    case hipMemRangeAttributePreferredLocation:
      values[0] = advice.preferred;
      break;
    case hipMemRangeAttributeAccessedBy:
      if (advice.accessed) values[0] = 0;
      break;
    case hipMemRangeAttributeLastPrefetchLocation:
      values[0] = advice.prefetched;
      break;
    case hipMemRangeAttributeCoherencyMode:
      values[0] = advice.coarse ? hipMemRangeCoherencyModeCoarseGrain : hipMemRangeCoherencyModeFineGrain;
      break;
    default:
      throw HipError(hipErrorInvalidValue);
  }
  std::memcpy(data, values.data(), size);
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMemPrefetchAsync(const void* start, size_t size, int device, hipStream_t stream) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer([&] {
    require(start && size);
    check_location(device);
    std::lock_guard lock(ranges().mutex);
    advice_for(start, size).prefetched = device;
  });
}

hipError_t hipMemAdvise(const void* start, size_t size, hipMemoryAdvise what, int device) {
  return answer([&] {
    require(start && size);
    check_location(device);
    std::lock_guard lock(ranges().mutex);
    advise(advice_for(start, size), what, device);
  });
}

hipError_t hipMemRangeGetAttribute(void* data, size_t data_size, hipMemRangeAttribute which, const void* start,
                                   size_t size) {
  return answer([&] {
    require(start && size);
    std::lock_guard lock(ranges().mutex);
    answer_attribute(data, data_size, which, advice_about(start, size));
  });
}

hipError_t hipMemRangeGetAttributes(void** data, size_t* data_sizes, hipMemRangeAttribute* which, size_t count,
                                    const void* start, size_t size) {
  return answer([&] {
    require(data && data_sizes && which && count && start && size);
    std::lock_guard lock(ranges().mutex);
    for (size_t i = 0; i < count; ++i) answer_attribute(data[i], data_sizes[i], which[i], advice_about(start, size));
  });
}

}  // extern "C"
