// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernel_times.cu does, and kernel_times_cupti.cc makes sense of.
#pragma once

constexpr int kLaunches = 41;  // of a kernel at one place in memory, one after the other
constexpr int kPlaces = 10;    // of a kernel that is at home in the cache
