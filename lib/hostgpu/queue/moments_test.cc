// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The moments at which a queue could lose a wake-up, each met on purpose and often.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "hostgpu/queue/gate.h"
#include "hostgpu/queue/watchdog.h"

namespace mneme::hostgpu {
namespace {

// One waits while the other lets the last thing before it go: the moment at which wake-ups are lost.
TEST(QueueMoments, WaitsThatMeetTheEndOfWhatIsBeforeThem) {
  Watchdog watchdog;
  Stream first, second;
  Words words;
  Event event;
  std::mt19937 random(7);
  std::atomic<bool> called{false};
  for (int i = 0; i < 1500; ++i) {
    called = false;
    auto call = [](void* called) { *static_cast<std::atomic<bool>*>(called) = true; };
    auto rest = [](void*) { tick(); };
    ASSERT_EQ(hipLaunchHostFunc(first, rest, nullptr), hipSuccess);
    ASSERT_EQ(hipEventRecord(event, first), hipSuccess);
    ASSERT_EQ(hipStreamWaitEvent(second, event, 0), hipSuccess);
    words.set(0, i, second);
    ASSERT_EQ(hipEventRecord(event, second), hipSuccess);
    ASSERT_EQ(hipLaunchHostFunc(second, call, &called), hipSuccess);
    for (unsigned spin = random() % 2000; spin > 0; --spin) clock_now.load();
    ASSERT_EQ(hipEventSynchronize(event), hipSuccess);
    ASSERT_EQ(words[0], static_cast<unsigned>(i));
    while (!called) std::this_thread::yield();  // nobody waits for the stream
  }
}

// The threads of streams end while new work comes for them; each has a stream of its own, since a function on it has
// used that one, and takes leave of it as it ends.
TEST(QueueMoments, ThreadsThatEndWithStreamsOfTheirOwn) {
  Watchdog watchdog;
  std::array<Stream, 8> streams;
  std::mt19937 random(7);
  auto call = [](void*) {
    EXPECT_EQ(hipStreamQuery(hipStreamPerThread), hipSuccess);
    tick();
  };
  auto give_work = [&] {
    for (Stream& stream : streams) ASSERT_EQ(hipLaunchHostFunc(stream, call, nullptr), hipSuccess);
  };
  for (int round = 0; round < 15; ++round) {
    give_work();
    for (Stream& stream : streams) ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
    ::usleep(198'500 + random() % 1'500);  // about as long as a thread without work stays
    for (int i = 0; i < 40; ++i) {
      give_work();
      ::usleep(30);
    }
    for (Stream& stream : streams) ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  }
}

// What one thread does itself, on the spot, may end while the other gives the stream something.
TEST(QueueMoments, TwoThreadsGiveOneStreamWork) {
  Watchdog watchdog;
  Stream stream;
  Words words;
  std::atomic<bool> over{false};
  std::thread writer([&] {
    while (!over) {
      words.set(0, 1, stream);
      while (hipStreamQuery(stream) == hipErrorNotReady) std::this_thread::yield();
    }
  });
  std::atomic<int> calls{0};
  for (int i = 0; i < 5000; ++i) {
    auto call = [](void* calls) { ++*static_cast<std::atomic<int>*>(calls); };
    EXPECT_EQ(hipLaunchHostFunc(stream, call, &calls), hipSuccess);
    while (calls == i) std::this_thread::yield();
    tick();
  }
  over = true;
  writer.join();
}

TEST(QueueMoments, ManyWaitForTheSame) {
  Watchdog watchdog;
  Stream stream, other;
  Event event;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> waiting{0};
    std::vector<std::thread> threads;
    Gate gate(stream);
    ASSERT_EQ(hipEventRecord(event, stream), hipSuccess);
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        ++waiting;
        if (i % 3 == 0) EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
        if (i % 3 == 1) EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
        if (i % 3 == 2) EXPECT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
      });
    }
    while (waiting < 6) std::this_thread::yield();
    ::usleep(2'000);  // they are likely to sleep now
    gate.open();
    for (std::thread& thread : threads) thread.join();
    tick();
  }
}

bool streams_work() {
  std::atomic<int> calls{0};
  auto count = [](void* calls) { ++*static_cast<std::atomic<int>*>(calls); };
  hipStream_t stream = nullptr;
  return hipStreamCreate(&stream) == hipSuccess && hipLaunchHostFunc(stream, count, &calls) == hipSuccess &&
         hipLaunchHostFunc(nullptr, count, &calls) == hipSuccess && hipDeviceSynchronize() == hipSuccess && calls == 2;
}

TEST(QueueMoments, ForksInTheMiddleOfIt) {
  Watchdog watchdog;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&over] {
      Stream stream;
      auto count = [](void*) { tick(); };
      while (!over) {
        EXPECT_EQ(hipLaunchHostFunc(stream, count, nullptr), hipSuccess);
        EXPECT_EQ(hipLaunchHostFunc(nullptr, count, nullptr), hipSuccess);
        EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
      }
    });
  }
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      ::_exit(streams_work() ? 0 : 1);
    }
    int status = 1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}

// In a child, which has the handler alone: one that was there before the process used its GPU.
TEST(QueueMoments, HandlersOfForksMayUseStreams) {
  static std::atomic<bool> worked{false};
  pid_t child = ::fork();
  if (child == 0) {
    ::pthread_atfork(nullptr, nullptr, [] {
      ::alarm(10);
      worked = streams_work();
    });
    if (!streams_work()) ::_exit(1);
    pid_t its = ::fork();
    if (its == 0) ::_exit(worked ? 0 : 2);
    int status = -1;
    ::_exit(::waitpid(its, &status, 0) == its && status == 0 ? 0 : 3);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mneme::hostgpu
