// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel launched with each combination of some lists (README.md).
#pragma once

#include <initializer_list>
#include <vector>

#include "../../programs/check.h"

// Calls f with each combination, the last list's value varying fastest.
template <class F>
void for_each_of(const std::vector<std::vector<int>>& lists, F f) {
  std::vector<std::size_t> at(lists.size());
  std::vector<int> values(lists.size());
  while (true) {
    for (std::size_t i = 0; i < lists.size(); ++i) values[i] = lists[i][at[i]];
    f(values);
    std::size_t i = lists.size();
    while (i > 0 && ++at[i - 1] == lists[i - 1].size()) at[--i] = 0;
    if (i == 0) return;
  }
}

// A launch fails where a block has too many threads or too much shared memory. It has no recording then, which is a
// result, too.
inline void ignore_last_error() { (void)hipGetLastError(); }
