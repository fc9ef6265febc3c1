// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/error.h"

namespace mneme::run {
namespace {

using namespace std::chrono_literals;

struct Connected : testing::Test {
  Channel here, there;
  int raw_end = -1;

  void connect(uint64_t limit) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here = Channel(Fd(ends[0]), limit);
    there = Channel(Fd(ends[1]), limit);
    raw_end = ends[1];
  }
};

TEST_F(Connected, MessagesArriveWhole) {
  connect(1 << 30);
  std::string large(20 << 20, 'x');
  std::thread sender([&] {
    EXPECT_TRUE(here.send(MessageType::kVariant, {"", "small", large}));
    EXPECT_TRUE(here.send(MessageType::kReady, {}));
  });
  std::optional<Message> message = there.receive();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, MessageType::kVariant);
  EXPECT_EQ(message->fields, (std::vector<std::string>{"", "small", large}));
  message = there.receive();
  ASSERT_TRUE(message);
  EXPECT_TRUE(message->fields.empty());
  sender.join();
}

TEST_F(Connected, DescriptorsComeWithTheirMessages) {
  connect(1000);
  Channel taking = Channel(Fd(::dup(raw_end)), 1000, Channel::Takes::kDescriptors);
  Fd file = memory_file("passed", bytes_of("contents"));
  here.send(MessageType::kEnd, {});
  const std::string_view fields[] = {"some"};
  here.send(MessageType::kFork, fields, std::nullopt, file.get());
  here.send(MessageType::kEnd, {});
  EXPECT_EQ(taking.receive()->type, MessageType::kEnd);
  EXPECT_EQ(taking.receive()->fields, std::vector<std::string>{"some"});
  Fd passed = taking.take_descriptor();
  ASSERT_TRUE(passed);
  EXPECT_EQ(read_all(passed.get(), "it"), "contents");
  EXPECT_EQ(taking.receive()->type, MessageType::kEnd);
  EXPECT_FALSE(taking.take_descriptor());

  here.send(MessageType::kFork, fields, std::nullopt, file.get());
  ASSERT_TRUE(there.receive());
  EXPECT_FALSE(there.take_descriptor()) << "where none are taken";
}

TEST_F(Connected, APeerThatIsGoneIsNoError) {
  connect(1000);
  there = Channel();
  EXPECT_FALSE(here.receive());
  EXPECT_FALSE(here.send(MessageType::kReady, {}));
}

TEST_F(Connected, APeerThatGoesInTheMiddleIsNoError) {
  connect(1000);
  ASSERT_EQ(::send(raw_end, "abc", 3, 0), 3);
  there = Channel();
  EXPECT_FALSE(here.receive());
}

TEST_F(Connected, SilenceTimesOut) {
  connect(1000);
  EXPECT_THROW(here.receive(Channel::Clock::now() + 20ms), TimedOut);
}

TEST_F(Connected, APeerThatDoesNotListenTimesOut) {
  connect(1000);
  std::string large(20 << 20, 'x');
  EXPECT_THROW(here.send(MessageType::kBlocks, {large}, Channel::Clock::now() + 20ms), TimedOut);
}

TEST_F(Connected, LyingSizesAreRefused) {
  connect(1000);
  std::string too_large(1001, 'x');
  std::thread sender([&] { there.send(MessageType::kResult, {too_large}); });
  EXPECT_THROW(here.receive(), Error);
  sender.join();

  connect(1000);
  there.send(MessageType::kResult, {std::string(600, 'x'), std::string(600, 'x')});
  EXPECT_THROW(here.receive(), Error);

  connect(1000);
  uint32_t header[] = {1, 0xFFFFFFFF, 0, 0};
  ASSERT_EQ(::send(raw_end, header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  EXPECT_THROW(here.receive(), Error);
}

}  // namespace
}  // namespace mneme::run
