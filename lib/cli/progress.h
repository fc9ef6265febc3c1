// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>
#include <string>

namespace mneme::cli {

// One line on standard error that tells how far long work has come; only where that is a terminal. Gone when this
// object dies. Of one thread.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: shown at most ten times a second.
  void show(const std::string& text);

  // Makes room for a message.
  static void clear_line();

 private:
  bool terminal_;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace mneme::cli
