// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace test {

// What a library has given and not got back: modules, memory, … by their addresses.
class Held {
 public:
  // `what` is a word; hands on the result of the call, and does nothing if that failed.
  int give(const char* what, void* const* where, int result) {
    std::lock_guard lock(mutex_);
    if (result == 0) ++held_[{what, *where}].times;
    return result;
  }

  // Whoever was told that it cannot be taken back has done what can be done, also by trying again.
  int take(const char* what, void* where, int result) {
    std::lock_guard lock(mutex_);
    auto found = held_.find({what, where});
    if (!where) return result;
    if (found == held_.end()) {
      wrong_ += std::string(what) + " that was not there; ";
    } else if (result == 0 && --found->second.times == 0) {
      held_.erase(found);
    } else if (result != 0) {
      found->second.tried = true;
    }
    return result;
  }

  // Empty, if all is well.
  std::string left() {
    std::lock_guard lock(mutex_);
    std::string left = wrong_;
    for (const auto& [one, state] : held_) {
      if (!state.tried) left += one.first + " left; ";
    }
    return left;
  }

 private:
  struct State {
    int times = 0;
    bool tried = false;
  };
  std::mutex mutex_;
  std::map<std::pair<std::string, void*>, State> held_;
  std::string wrong_;
};

}  // namespace test
