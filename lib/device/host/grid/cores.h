// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cores that blocks are run on in parallel: of oneTBB (cores_tbb.cc), or, in a program that is to need no library,
// of threads (cores_threads.cc). What a program has is decided where it is linked.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

namespace mneme::device::host {

// How many this process may use; 1 at least.
uint64_t core_count();

// Starts the threads, which otherwise start with the first numbers to be shared out.
void start_cores();

// Has the numbers [first, last) handled, in ranges, by at most `most` threads at once, of which the caller's is one;
// returns when all are. Once `stop` is set, those that have not begun are left out. What `handle` throws is thrown
// here, once, and ends it likewise.
void share_out(uint64_t first, uint64_t last, uint64_t most, const std::atomic<bool>& stop,
               const std::function<void(uint64_t, uint64_t)>& handle);

}  // namespace mneme::device::host
