// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/file.h"

namespace mneme::run {

// Memory of mneme-run and its worker both, where the worker says whether it runs the kernel's own code, and since when.
// mneme-run looks there only when it has waited as long as either may take: a message for each change would wake it
// twice an execution, which is most of what a short kernel costs. A kernel may spoil what it says, as it could send
// messages.
class Phase {
 public:
  using Clock = std::chrono::steady_clock;
  struct State {
    bool foreign = false;  // the kernel's own code runs: its time is limited
    Clock::time_point since;
    bool operator==(const State&) const = default;
  };

  Phase();                  // mneme-run's; throws Error
  explicit Phase(Fd file);  // the worker's, of what mneme-run's file() is; throws Error
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  int file() const { return file_.get(); }
  void begin(bool foreign);
  State state() const;

 private:
  void map(int file);

  Fd file_;
  std::atomic<uint64_t>* word_ = nullptr;  // nanoseconds of the clock, twice, and whether it is foreign
};

}  // namespace mneme::run
