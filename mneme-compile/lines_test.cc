// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"

namespace mneme::compile {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe(ends) != 0) throw system_error("no pipe");
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
  void write(const std::string& text) { write_all(in.get(), bytes_of(text), "a pipe"); }
  Fd out, in;
};

std::vector<size_t> numbers(const std::vector<Line>& lines) {
  std::vector<size_t> all;
  for (const Line& line : lines) all.push_back(line.number);
  return all;
}

TEST(Lines, ComeWhenTheyAreWhole) {
  Pipe pipe;
  Lines lines(std::move(pipe.out), "a pipe");
  pipe.write("one\n\n two\nthr");
  EXPECT_EQ(numbers(lines.next()), (std::vector<size_t>{1, 3}));
  pipe.write("ee\n");
  std::vector<Line> next = lines.next();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].text, "three");
  EXPECT_EQ(next[0].number, 4u);
  pipe.write("last");
  pipe.in = Fd();
  next = lines.next();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].text, "last");
  EXPECT_TRUE(lines.next().empty());
}

TEST(Lines, OneWithoutEndIsRefused) {
  Fd file = memory_file("lines", bytes_of(std::string(2 << 20, 'x')));
  Lines lines(std::move(file), "'file'");
  EXPECT_THROW(lines.next(), Error);
}

}  // namespace
}  // namespace mneme::compile
