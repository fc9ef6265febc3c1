// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/frames.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/error.h"

namespace mneme {
namespace {

struct Frames : testing::Test {
  Fd here, there;
  FrameReader reader{{.peer = "the other", .limit = 100}};

  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here = Fd(ends[0]);
    there = Fd(ends[1]);
  }
  void send_numbers(const std::vector<uint64_t>& numbers) {
    const size_t size = numbers.size() * sizeof numbers[0];
    ASSERT_EQ(::send(here.get(), numbers.data(), size, 0), static_cast<ssize_t>(size));
  }
  static uint64_t type_and_fields(uint64_t type, uint64_t fields) { return type | fields << 32; }
};

TEST_F(Frames, PiecesAreFieldsOrOneField) {
  const std::string_view pieces[] = {"one", "", "three"};
  ASSERT_TRUE(send_frame(here.get(), 7, pieces));
  ASSERT_TRUE(send_frame(here.get(), 8, pieces, {.as_one = true}));
  ASSERT_TRUE(send_frame(here.get(), 9, {}));
  std::optional<Frame> frame = reader.receive(there.get());
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, 7u);
  EXPECT_EQ(frame->fields, (std::vector<std::string>{"one", "", "three"}));
  frame = reader.receive(there.get());
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, 8u);
  EXPECT_EQ(frame->fields, std::vector<std::string>{"onethree"});
  frame = reader.receive(there.get());
  ASSERT_TRUE(frame);
  EXPECT_TRUE(frame->fields.empty());
}

TEST_F(Frames, FieldsThatAreLargerThanTheirFrameAreRefused) {
  send_numbers({type_and_fields(1, 1), 4, 8, 0});
  EXPECT_THROW(reader.receive(there.get()), Error);
}

TEST_F(Frames, FieldsThatAreSmallerThanTheirFrameAreRefused) {
  send_numbers({type_and_fields(1, 1), 16, 8, 0});
  EXPECT_THROW(reader.receive(there.get()), Error);
}

TEST_F(Frames, LargeFramesAreRefusedBeforeTheyCome) {
  send_numbers({type_and_fields(1, 0), 101});
  EXPECT_THROW(reader.receive(there.get()), Error);
}

TEST_F(Frames, ADescriptorIsNotTakenFromAPeerThatIsNotTrusted) {
  Fd file = memory_file("passed", bytes_of("contents"));
  for (bool trusted : {false, true}) {
    ASSERT_TRUE(send_frame(here.get(), 1, {}, {.descriptor = file.get()}));
    FrameReader taking({.peer = "the other", .limit = 100, .takes_descriptors = trusted});
    ASSERT_TRUE(taking.receive(there.get()));
    EXPECT_EQ(static_cast<bool>(taking.take_descriptor()), trusted);
  }
}

}  // namespace
}  // namespace mneme
