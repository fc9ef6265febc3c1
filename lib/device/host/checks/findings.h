// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the checks of one launch find (docs/checks.md).
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "bundle/format.h"

namespace mneme::device::host {

// Each pair of places once, with a count. Filled from several threads.
class Findings {
 public:
  static constexpr size_t kMost = 100;  // more are counted with the last

  // What makes findings one: the check and kind, and the places (codegen::host::Site) of one or two accesses. Texts
  // live as long as the program.
  struct Key {
    const char* check;
    const char* kind;
    const void* site;
    const void* other = nullptr;
    bool lesser = false;
    auto operator<=>(const Key&) const = default;
  };
  // `describe` fills in sentence, line and other line; it is called for the first of its kind.
  void note(const Key& key, const std::function<void(bundle::Finding&)>& describe);

  // In the order in which they were found, but lesser ones last.
  std::vector<bundle::Finding> list() const;

 private:
  mutable std::mutex mutex_;
  std::map<Key, size_t> known_;
  std::vector<bundle::Finding> list_;
};

}  // namespace mneme::device::host
