// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/devices.h"

#include <algorithm>

namespace mneme::record {
bool Devices::succeeds(int status) const {
  if (status != 0) calls.get_last_error();
  return status == 0;
}

int Devices::count() const {
  if (int known = count_.load(std::memory_order_relaxed)) return known;
  int found = 0;
  if (!succeeds(calls.get_count(&found))) found = 0;
  count_.store(std::max(found, 1), std::memory_order_relaxed);
  return std::max(found, 1);
}

int Devices::current() const {
  int device = 0;
  if (several()) succeeds(calls.get(&device));
  return device;
}

Entered::Entered(const Devices& devices, int device) : devices_(devices) {
  if (!devices.several()) return;
  if (!devices.succeeds(devices.calls.get(&before_))) before_ = -1;
  if (before_ == device || !devices.succeeds(devices.calls.set(device))) before_ = -1;
}

Entered::~Entered() {
  if (before_ >= 0) devices_.succeeds(devices_.calls.set(before_));
}

}  // namespace mneme::record
