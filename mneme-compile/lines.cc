// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lines.h"

#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace mneme::compile {
namespace {

constexpr size_t kLongestLine = 1 << 20;  // bytes

}  // namespace

// What is there, of a pipe at once. False at the end.
bool Lines::read_more() {
  char buffer[1 << 16];
  ssize_t size = 0;
  do {
    size = ::read(fd_.get(), buffer, sizeof buffer);
  } while (size < 0 && errno == EINTR);
  if (size < 0) throw system_error("cannot read " + name_);
  rest_.append(buffer, static_cast<size_t>(size));
  return size > 0;
}

void Lines::split(std::vector<Line>& lines) {
  size_t begin = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    std::string text = rest_.substr(begin, end - begin);
    begin = end + 1;
    ++number_;
    if (text.find_first_not_of(" \t\r") != std::string::npos) lines.push_back({number_, std::move(text)});
  }
  rest_.erase(0, begin);
  if (rest_.size() > kLongestLine) {
    throw Error::of("line {} of {} is longer than {} bytes", number_ + 1, name_, kLongestLine);
  }
}

std::vector<Line> Lines::next() {
  std::vector<Line> lines;
  while (lines.empty() && !ended_) {
    ended_ = !read_more();
    if (ended_ && !rest_.empty()) rest_ += '\n';
    split(lines);
  }
  return lines;
}

}  // namespace mneme::compile
