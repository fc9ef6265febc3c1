// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/address_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace mneme::record {

// The first number of /proc/self/statm: pages that are taken (proc(5)). Where that cannot be read, none are.
uint64_t addresses_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const uint64_t taken = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

}  // namespace mneme::record
