// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/protocol.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "recorder/link/counters.h"

namespace mneme::record {
namespace {

struct Pair {
  Pair() {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    here = Fd(sockets[0]);
    there = Fd(sockets[1]);
  }
  Fd here, there;
};

TEST(Protocol, CarriesEveryField) {
  Pair pair;
  Prologue sent;
  sent.kernel = digest_of("kernel");
  sent.index = 7;
  sent.grid = {1, 2, 3};
  sent.block = {4, 5, 6};
  sent.shared_bytes = 8;
  sent.stack_bytes = 10;
  sent.slot = 9;
  sent.arguments = std::string("a\0b", 3);
  sent.segments = {{0x400000000000, 10, 0, "", "{}"}, {0x400000010000, 20, 1, "table", ""}};
  send_message(pair.here.get(), sent);
  std::optional<Message> message = receive_message(pair.there.get());
  ASSERT_TRUE(message);
  ASSERT_EQ(message->type, Type::kPrologue);
  Prologue got = unpack<Prologue>(message->body);
  EXPECT_EQ(got.kernel, sent.kernel);
  EXPECT_EQ(got.index, 7u);
  EXPECT_EQ(got.grid, sent.grid);
  EXPECT_EQ(got.block, sent.block);
  EXPECT_EQ(got.shared_bytes, 8u);
  EXPECT_EQ(got.stack_bytes, 10u);
  EXPECT_EQ(got.slot, 9u);
  EXPECT_EQ(got.arguments, sent.arguments);
  ASSERT_EQ(got.segments.size(), 2u);
  EXPECT_EQ(got.segments[1].address, 0x400000010000u);
  EXPECT_EQ(got.segments[1].symbol, "table");
  EXPECT_EQ(got.segments[0].annotation, "{}");
}

TEST(Protocol, CarriesDigests) {
  Digests digests{0x4000'00000000, {digest_of(bytes_of("one")), digest_of(bytes_of("two"))}};
  std::string packed = pack(digests);
  Digests same = unpack<Digests>(packed);
  EXPECT_EQ(same.address, digests.address);
  EXPECT_EQ(same.blocks, digests.blocks);
  EXPECT_TRUE(unpack<Digests>(pack(Digests{})).blocks.empty());
  packed.pop_back();
  EXPECT_THROW(unpack<Digests>(packed), Error);
  const uint64_t most = UINT64_MAX;
  packed.replace(sizeof digests.address, sizeof most, reinterpret_cast<const char*>(&most), sizeof most);
  EXPECT_THROW(unpack<Digests>(packed), Error) << "it says that there are more than any memory holds";
}

TEST(Protocol, SendsDigestsAsTheyAre) {
  Pair pair;
  Digests digests{0x4000'00000000, {digest_of(bytes_of("one")), digest_of(bytes_of("two"))}};
  send_message(pair.here.get(), digests);
  send_message(pair.here.get(), Drop{1});
  std::optional<Message> message = receive_message(pair.there.get());
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, Type::kDigests);
  EXPECT_EQ(message->body, pack(digests));
  ASSERT_TRUE(message = receive_message(pair.there.get()));
  EXPECT_EQ(message->type, Type::kDrop);
}

TEST(Protocol, CarriesDescriptorsWithTheirMessage) {
  Pair pair;
  send_message(pair.here.get(), Drop{1});
  send_message(pair.here.get(), Chunk{2, 3}, memory_file("test", bytes_of("abc")).get());
  send_message(pair.here.get(), Drop{4});
  EXPECT_FALSE(receive_message(pair.there.get())->descriptor);
  std::optional<Message> chunk = receive_message(pair.there.get());
  ASSERT_TRUE(chunk->descriptor);
  EXPECT_EQ(read_all(chunk->descriptor.get(), "test"), "abc");
  EXPECT_FALSE(receive_message(pair.there.get())->descriptor);
}

TEST(Protocol, CarriesMoreThanASocketHolds) {
  Pair pair;
  std::string bitcode(5 << 20, 'x');
  std::thread sender([&] { send_message(pair.here.get(), Kernel{"{}", bitcode}); });
  std::optional<Message> message = receive_message(pair.there.get());
  sender.join();
  EXPECT_EQ(unpack<Kernel>(message->body).bitcode, bitcode);
}

TEST(Protocol, EndOfTheOtherSideIsNoMessage) {
  Pair pair;
  ::send(pair.here.get(), "half", 4, 0);
  pair.here = Fd();
  EXPECT_FALSE(receive_message(pair.there.get()));
  EXPECT_THROW(send_message(pair.there.get(), Drop{}), Error);  // and no SIGPIPE
}

TEST(Protocol, RefusesNonsense) {
  EXPECT_THROW(unpack<Drop>("short"), Error);
  EXPECT_THROW(unpack<Drop>(std::string(9, 'x')), Error);
  std::string lying(8, '\xff');  // a string of 2^64 - 1 bytes
  EXPECT_THROW(unpack<Query>(lying), Error);
  EXPECT_THROW(unpack<Prologue>(std::string(200, '\xff')), Error);
  Pair pair;
  uint64_t header[2] = {1, kMaxMessage + 1};
  ::send(pair.here.get(), header, sizeof header, 0);
  EXPECT_THROW(receive_message(pair.there.get()), Error);
}

TEST(Counters, AreShared) {
  Fd memory = Counters::make();
  Counters here(memory), there(memory);
  EXPECT_EQ(here.add(3), 0u);
  EXPECT_EQ(here.add(3), 1u);
  EXPECT_EQ(there.value(3), 2u);
  here.add(Counters::kSlots);
  EXPECT_EQ(there.value(Counters::kSlots), 0u);
}

}  // namespace
}  // namespace mneme::record
