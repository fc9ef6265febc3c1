// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines from somebody who writes the next one when they have seen what became of this one.
#pragma once
#include <string>
#include <vector>

#include "base/file.h"

namespace mneme::compile {

struct Line {
  size_t number = 0;  // from 1
  std::string text;   // without its end
};

class Lines {
 public:
  // `name` is what messages call it.
  Lines(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  // Those that are there by now, without blank ones; waits for one. None: it has ended. Throws Error on a line that
  // does not end.
  std::vector<Line> next();

 private:
  bool read_more();
  void split(std::vector<Line>& lines);

  Fd fd_;
  std::string name_, rest_;
  size_t number_ = 0;
  bool ended_ = false;
};

}  // namespace mneme::compile
