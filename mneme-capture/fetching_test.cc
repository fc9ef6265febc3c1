// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fetching.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "process_memory.h"

namespace mneme::capture {
namespace {

using record::Fetch;
using record::Fetched;
using record::Message;
using record::Type;

// A recorder: writes into each load's room the address of its first piece.
class FetchingTest : public ::testing::Test {
 protected:
  FetchingTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = Fd(ends[0]);
    theirs_ = Fd(ends[1]);
    fetching_.emplace(ours_.get());
  }
  ~FetchingTest() override {
    ours_ = Fd();
    if (recorder_.joinable()) recorder_.join();
  }

  static constexpr uint64_t kNothing = 0x600d;

  // It stops after so many.
  void serve(size_t most = SIZE_MAX) {
    recorder_ = std::thread([this, most] {
      std::byte* memory = nullptr;
      for (size_t served = 0; served < most; ++served) {
        std::optional<Message> message = record::receive_message(theirs_.get());
        if (!message) return;
        Fetch fetch = unpack<Fetch>(message->body);
        if (message->descriptor) {
          EXPECT_EQ(memory, nullptr) << "it is sent once";
          memory = static_cast<std::byte*>(
              ::mmap(nullptr, fetch.size, PROT_READ | PROT_WRITE, MAP_SHARED, message->descriptor.get(), 0));
        }
        const uint64_t first = fetch.pieces.empty() ? kNothing : fetch.pieces[0].address;
        std::memcpy(memory + fetch.at, &first, sizeof first);
        if (served == 2) record::send_message(theirs_.get(), record::Drop{77});
        ++fetched_;  // whoever gets the answer may look
        record::send_message(theirs_.get(), Fetched{fetch.at});
      }
      theirs_ = Fd();
    });
  }

  static Fetching::Next loads(uint64_t count) {
    return [i = uint64_t{0}, count]() mutable {
      return i < count ? Fetching::Load{{1000 + i++, 8, 0}} : Fetching::Load{};
    };
  }

  Fd ours_, theirs_;
  std::optional<Fetching> fetching_;
  std::thread recorder_;
  std::atomic<size_t> fetched_ = 0;
};

// While a process can open no more files.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

// As long as nothing was asked for, nothing comes.
TEST_F(FetchingTest, SaysThatThereIsNoMemory) {
  serve();
  auto ignore = [](const std::byte*) {};
  {
    NoMoreFiles none;
    fetching_->prepare();
    EXPECT_THROW(fetching_->fetch(loads(3), ignore), Error);
  }
  fetching_->fetch(loads(3), ignore);
  EXPECT_EQ(fetched_, 3u);
}

TEST_F(FetchingTest, GivesLoadAfterLoad) {
  serve();
  for (int round = 0; round < 2; ++round) {
    std::vector<uint64_t> seen;
    fetching_->fetch(loads(11), [&](const std::byte* bytes) { std::memcpy(&seen.emplace_back(), bytes, 8); });
    ASSERT_EQ(seen.size(), 11u);
    for (uint64_t i = 0; i < 11; ++i) EXPECT_EQ(seen[i], 1000 + i);
  }
  std::vector<Message> heard = fetching_->heard();
  ASSERT_EQ(heard.size(), 1u) << "what else is said is kept for later";
  EXPECT_EQ(unpack<record::Drop>(heard[0].body).address, 77u);
  EXPECT_TRUE(fetching_->heard().empty());
}

TEST_F(FetchingTest, HasEachSlotMadeReady) {
  serve();
  fetching_->prepare();
  fetching_->get_ready();
  EXPECT_EQ(fetched_, Fetching::kSlots);
  uint64_t seen = 0;
  fetching_->fetch(loads(1), [&](const std::byte* bytes) { std::memcpy(&seen, bytes, 8); });
  EXPECT_EQ(seen, 1000u);
}

TEST_F(FetchingTest, IsInStepAgainAfterAFailure) {
  serve();
  auto fails = [taken = 0](const std::byte*) mutable {
    if (taken++ == 1) throw Error("no memory is left");
  };
  EXPECT_THROW(fetching_->fetch(loads(11), fails), Error);
  uint64_t seen = 0;
  fetching_->fetch(loads(1), [&](const std::byte* bytes) { std::memcpy(&seen, bytes, 8); });
  EXPECT_EQ(seen, 1000u);
}

TEST_F(FetchingTest, SaysWhenTheProcessHasEnded) {
  serve(3);
  size_t taken = 0;
  EXPECT_THROW(fetching_->fetch(loads(11), [&](const std::byte*) { ++taken; }), ProcessGone);
  EXPECT_LE(taken, 3u);
}

TEST_F(FetchingTest, SaysWhenTheProcessRecordsNoMore) {
  record::send_message(theirs_.get(), record::Stopped{"why"});
  EXPECT_THROW(fetching_->fetch(loads(1), [](const std::byte*) {}), ProcessGone);
  std::vector<Message> heard = fetching_->heard();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].type, Type::kStopped);
}

}  // namespace
}  // namespace mneme::capture
