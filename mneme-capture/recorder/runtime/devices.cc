// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/devices.h"

#include <algorithm>

namespace mneme::record {
bool Devices::succeeds(int status) const {
  if (status != 0) forget_error();
  return status == 0;
}

int Devices::count() const {
  if (int known = count_.load(std::memory_order_relaxed)) return known;
  int found = 0;
  if (!succeeds(get_count(&found))) found = 0;
  count_.store(std::max(found, 1), std::memory_order_relaxed);
  return std::max(found, 1);
}

int Devices::current() const {
  int device = 0;
  if (several()) succeeds(get(&device));
  return device;
}

}  // namespace mneme::record
