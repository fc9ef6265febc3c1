// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/device/devices.h"

#include <cstdlib>

#include "hostgpu/errors.h"
#include "memory/arena.h"

namespace mneme::hostgpu {
namespace {

static_assert(kMostDevices == memory::kMostDevices);
thread_local int current = 0;

}  // namespace

int device_count() {
  static const int count = [] {
    const char* text = std::getenv("MNEME_HOST_DEVICES");
    long wanted = text && *text ? std::strtol(text, nullptr, 10) : 1;
    if (wanted >= 1 && wanted <= kMostDevices) return static_cast<int>(wanted);
    say(fmt::format("MNEME_HOST_DEVICES is {}: there can be 1 to {} host devices", text, kMostDevices));
    return 1;
  }();
  return count;
}

void check_device(int device) { require(device >= 0 && device < device_count(), hipErrorInvalidDevice); }

int current_device() { return current; }
void set_current_device(int device) { current = device; }

}  // namespace mneme::hostgpu
