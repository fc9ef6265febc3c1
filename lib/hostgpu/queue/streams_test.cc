// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order within and between streams. Nothing here depends on how long anything takes: what must not have happened yet is
// behind a gate that is closed.
#include "hostgpu/queue/streams.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "hostgpu/extensions.h"
#include "hostgpu/queue/gate.h"

namespace mneme::hostgpu {
namespace {

constexpr unsigned kNonBlocking = hipStreamNonBlocking;

TEST(Streams, DoThingsInOrderAndLater) {
  Stream stream;
  Words words;
  Gate gate(stream);
  words.set(0, 1, stream);
  ASSERT_EQ(hipMemcpyAsync(words.at(1), words.at(0), 4, hipMemcpyDefault, stream), hipSuccess);
  words.set(0, 2, stream);
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  EXPECT_EQ(hipGetLastError(), hipSuccess) << "an answer, not an error";
  EXPECT_EQ(words[0], 0u);
  gate.open();
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(hipStreamQuery(stream), hipSuccess);
  EXPECT_EQ(words[0], 2u);
  EXPECT_EQ(words[1], 1u);
}

TEST(Streams, DoNotWaitForEachOther) {
  Stream first, second;
  Words words;
  Gate gate(first);
  words.set(0, 1, first);
  words.set(1, 1, second);
  ASSERT_EQ(hipStreamSynchronize(second), hipSuccess);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 1u);
}

TEST(Streams, TheLegacyStreamWaitsForBlockingOnes) {
  Stream blocking, other(kNonBlocking);
  Words words;
  Gate gate(blocking);
  words.set(0, 1, nullptr);
  words.set(1, 1, other);
  ASSERT_EQ(hipStreamSynchronize(other), hipSuccess);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(hipStreamQuery(nullptr), hipErrorNotReady);
  gate.open();
  ASSERT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
  EXPECT_EQ(words[0], 1u);
}

TEST(Streams, BlockingOnesWaitForTheLegacyStream) {
  Stream blocking, other(kNonBlocking);
  Words words;
  Gate gate(nullptr);
  words.set(0, 1, blocking);
  words.set(1, 1, other);
  words.set(2, 1, hipStreamPerThread);
  ASSERT_EQ(hipStreamSynchronize(other), hipSuccess);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(words[2], 0u) << "a thread's own stream is a blocking one";
  gate.open();
  ASSERT_EQ(hipStreamSynchronize(blocking), hipSuccess);
  EXPECT_EQ(words[0], 1u);
  ASSERT_EQ(hipStreamSynchronize(hipStreamPerThread), hipSuccess);
  EXPECT_EQ(words[2], 1u);
}

TEST(Streams, TheLegacyStreamDoesNotWaitForNonBlockingOnes) {
  Stream other(kNonBlocking);
  Words words;
  Gate gate(other);
  words.set(0, 1, nullptr);
  ASSERT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
  EXPECT_EQ(words[0], 1u);
}

TEST(Streams, SynchronousCallsAreTheLegacyStreams) {
  Stream blocking;
  Words words;
  void* device = nullptr;
  ASSERT_EQ(hipMalloc(&device, 4), hipSuccess);
  ASSERT_EQ(hipMemset(device, 0, 4), hipSuccess);
  {
    Gate gate(blocking);
    ASSERT_EQ(hipMemsetD32Async(device, 7, 1, blocking), hipSuccess);
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate.open();
    });
    unsigned seen = 0;
    EXPECT_EQ(hipMemcpy(&seen, device, 4, hipMemcpyDeviceToHost), hipSuccess);
    EXPECT_EQ(seen, 7u);
    opener.join();
  }
  ASSERT_EQ(hipFree(device), hipSuccess);
}

TEST(Streams, EachThreadHasItsOwn) {
  Words words;
  Gate gate(hipStreamPerThread);
  words.set(0, 1, hipStreamPerThread);
  std::thread([&] {
    words.set(1, 1, hipStreamPerThread);
    EXPECT_EQ(hipStreamSynchronize(hipStreamPerThread), hipSuccess);
    EXPECT_EQ(hipStreamSynchronize_spt(nullptr), hipSuccess);
  }).join();
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 1u);
}

TEST(Streams, WaitForEvents) {
  Stream first, second;
  Words words;
  Event event;
  Gate gate(first);
  words.set(0, 1, first);
  ASSERT_EQ(hipEventRecord(event, first), hipSuccess);
  EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
  ASSERT_EQ(hipStreamWaitEvent(second, event, 0), hipSuccess);
  ASSERT_EQ(hipEventRecord(event, second), hipSuccess) << "the wait is for what was recorded when it was asked for";
  ASSERT_EQ(hipMemcpyAsync(words.at(1), words.at(0), 4, hipMemcpyDefault, second), hipSuccess);
  EXPECT_EQ(hipStreamQuery(second), hipErrorNotReady);
  gate.open();
  ASSERT_EQ(hipStreamSynchronize(second), hipSuccess);
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(hipEventQuery(event), hipSuccess);
}

TEST(Streams, LongChainsOfWaits) {
  Stream first, second;
  Words words;
  Event event;
  {
    Gate gate(first);
    for (int i = 0; i < 20000; ++i) {
      ASSERT_EQ(hipEventRecord(event, i % 2 ? second : first), hipSuccess);
      ASSERT_EQ(hipStreamWaitEvent(i % 2 ? first : second, event, 0), hipSuccess);
    }
    words.set(0, 1, second);
    EXPECT_EQ(words[0], 0u);
  }
  EXPECT_EQ(words[0], 1u);
}

TEST(Events, TellTheTimeOfWhatStreamsDid) {
  Stream stream;
  Event first, last;
  Gate gate(stream);
  ASSERT_EQ(hipEventRecord(first, stream), hipSuccess);
  ASSERT_EQ(hipLaunchHostFunc(stream, [](void*) { ::usleep(20'000); }, nullptr), hipSuccess);
  ASSERT_EQ(hipEventRecord(last, stream), hipSuccess);
  float milliseconds = 0;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, first, last), hipErrorNotReady);
  gate.open();
  ASSERT_EQ(hipEventSynchronize(last), hipSuccess);
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, first, last), hipSuccess);
  EXPECT_GE(milliseconds, 20);
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, last, first), hipSuccess);
  EXPECT_LE(milliseconds, -20);
}

TEST(Events, NeverRecordedOnesHaveHappened) {
  Stream stream;
  Event event;
  EXPECT_EQ(hipEventQuery(event), hipSuccess);
  EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
  EXPECT_EQ(hipStreamWaitEvent(stream, event, 0), hipSuccess);
  EXPECT_EQ(hipStreamQuery(stream), hipSuccess);
}

TEST(Streams, WaitForValuesTheHostWrites) {
  Stream stream;
  Words words;
  ASSERT_EQ(hipStreamWaitValue32(stream, words.at(0), 5, hipStreamWaitValueGte, ~0u), hipSuccess);
  words.set(1, 1, stream);
  ASSERT_EQ(hipStreamWaitValue32(stream, words.at(0), 0x100, hipStreamWaitValueAnd, 0xf00), hipSuccess);
  words.set(2, 1, stream);
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  words[0] = 6;
  while (words[1] == 0) std::this_thread::yield();
  EXPECT_EQ(words[2], 0u);
  words[0] = 0x106;
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(words[2], 1u);
}

TEST(Streams, WaitForValuesOtherStreamsWrite) {
  Stream first(kNonBlocking), second(kNonBlocking);
  Words words;
  ASSERT_EQ(hipStreamWaitValue64(first, words.at(0), 3, hipStreamWaitValueEq, ~uint64_t{0}), hipSuccess);
  words.set(4, 1, first);
  ASSERT_EQ(hipStreamWriteValue64(second, words.at(0), 3, 0), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(first), hipSuccess);
  EXPECT_EQ(words[4], 1u);
}

TEST(Streams, CallBack) {
  Stream stream;
  Words words;
  static std::atomic<int> calls;
  calls = 0;
  auto callback = [](hipStream_t, hipError_t status, void* word) {
    EXPECT_EQ(status, hipSuccess);
    EXPECT_EQ(*static_cast<unsigned*>(word), 1u) << "after what was queued before";
    ++calls;
  };
  Gate gate(stream);
  words.set(0, 1, stream);
  ASSERT_EQ(hipStreamAddCallback(stream, callback, words.at(0), 0), hipSuccess);
  words.set(0, 2, stream);
  EXPECT_EQ(calls, 0);
  gate.open();
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(hipStreamAddCallback(stream, callback, nullptr, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamAddCallback(stream, nullptr, nullptr, 0), hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST(Streams, ACallbackCannotWaitForItsOwnStream) {
  Stream stream;
  hipError_t status = hipSuccess;
  auto callback = [](hipStream_t own, hipError_t, void* status) {
    *static_cast<hipError_t*>(status) = hipStreamSynchronize(own);
  };
  testing::internal::CaptureStderr();
  ASSERT_EQ(hipStreamAddCallback(stream, callback, &status, 0), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(status, hipErrorNotSupported);
  testing::internal::GetCapturedStderr();
}

// Over the legacy stream, which waits for the callback's; and over another's wait for an event.
TEST(Streams, ACallbackCannotWaitForWhatWaitsForIt) {
  Stream stream, second(kNonBlocking), third(kNonBlocking);
  struct Seen {
    hipStream_t second, third;
    Event event;
    std::array<hipError_t, 4> status;
    unsigned to = 0, from = 5;
  } seen{second, third, Event(), {}};
  auto callback = [](hipStream_t, hipError_t, void* data) {
    auto* seen = static_cast<Seen*>(data);
    seen->status[0] = hipMemcpy(&seen->to, &seen->from, sizeof seen->to, hipMemcpyHostToHost);
    seen->status[1] = hipStreamSynchronize(nullptr);
    seen->status[2] = hipStreamSynchronize(seen->second);
    seen->status[3] = hipStreamSynchronize(seen->third);
  };
  testing::internal::CaptureStderr();
  {
    Gate gate(stream);
    ASSERT_EQ(hipStreamAddCallback(stream, callback, &seen, 0), hipSuccess);
    ASSERT_EQ(hipEventRecord(seen.event, stream), hipSuccess);
    ASSERT_EQ(hipStreamWaitEvent(second, seen.event, 0), hipSuccess);
    ASSERT_EQ(hipLaunchHostFunc(third, [](void*) { ::usleep(1'000); }, nullptr), hipSuccess);
  }
  EXPECT_EQ(seen.status, (std::array{hipErrorNotSupported, hipErrorNotSupported, hipErrorNotSupported, hipSuccess}));
  EXPECT_EQ(seen.to, 0u) << "what was refused is not done later either";
  testing::internal::GetCapturedStderr();
}

// Waiting for the legacy stream is not an operation of it.
TEST(Streams, WaitingForTheLegacyStreamHoldsNobodyUp) {
  Stream busy, other;
  Words words;
  Gate gate(busy);
  std::atomic<bool> waits{false};
  std::thread waiter([&] {
    waits = true;
    EXPECT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
  });
  while (!waits) std::this_thread::yield();
  ::usleep(5'000);  // it is likely to wait now
  words.set(0, 1, other);
  EXPECT_EQ(hipStreamSynchronize(other), hipSuccess);
  EXPECT_EQ(words[0], 1u);
  gate.open();
  waiter.join();
}

TEST(Streams, MemoryIsFreedInOrder) {
  Stream stream;
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(hipMallocAsync(&first, 1024, stream), hipSuccess);
  Gate gate(stream);
  ASSERT_EQ(hipMemsetAsync(first, 1, 1024, stream), hipSuccess);
  ASSERT_EQ(hipFreeAsync(first, stream), hipSuccess);
  ASSERT_EQ(hipMalloc(&second, 1024), hipSuccess);
  EXPECT_NE(first, second) << "it is still in use";
  gate.open();
  ASSERT_EQ(hipFree(second), hipSuccess);
}

TEST(Streams, DestroyingOneWaitsForIt) {
  Words words;
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(hipLaunchHostFunc(stream, [](void*) { ::usleep(5'000); }, nullptr), hipSuccess);
  words.set(0, 1, stream);
  ASSERT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(hipMemsetAsync(words.at(0), 0, 4, stream), hipErrorInvalidHandle);
  (void)hipGetLastError();
}

TEST(Streams, ManyAtATime) {
  constexpr int kStreams = 40;
  Words words;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(std::make_unique<Stream>());
  {
    Gate gate(*streams[0]);
    for (int i = 1; i < kStreams; ++i) {
      Event event;
      ASSERT_EQ(hipEventRecord(event, *streams[i - 1]), hipSuccess);
      ASSERT_EQ(hipStreamWaitEvent(*streams[i], event, 0), hipSuccess);
      ASSERT_EQ(hipMemcpyAsync(words.at(i), words.at(i - 1), 4, hipMemcpyDefault, *streams[i]), hipSuccess);
    }
    words[0] = 9;
  }
  EXPECT_EQ(words[kStreams - 1], 9u);
}

TEST(Processes, EndWhenWhatWasLaunchedHas) {
  auto queue_and_exit = [] {
    Stream stream;
    hipStream_t other = nullptr;
    (void)hipStreamCreate(&other);
    (void)hipLaunchHostFunc(other, [](void*) { ::usleep(50'000); }, nullptr);
    (void)hipLaunchHostFunc(other, [](void*) { std::fprintf(stderr, "all done\n"); }, nullptr);
    std::exit(0);
  };
  EXPECT_EXIT(queue_and_exit(), testing::ExitedWithCode(0), "all done");
}

TEST(Processes, EndThoughAStreamWaitsForEver) {
  auto queue_and_exit = [] {
    static unsigned word = 0;
    (void)hipStreamWaitValue32(nullptr, &word, 1, hipStreamWaitValueEq, ~0u);
    std::exit(0);
  };
  EXPECT_EXIT(queue_and_exit(), testing::ExitedWithCode(0), "");
}

// Wherever in the runtime it may be when the signal comes.
TEST(Processes, EndInHandlersOfSignals) {
  auto queue_until_alarm = [](int microseconds) {
    std::signal(SIGALRM, [](int) { std::exit(7); });
    itimerval alarm{{0, 0}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &alarm, nullptr);
    for (;;) {
      (void)hipLaunchHostFunc(nullptr, [](void*) {}, nullptr);
      (void)hipStreamSynchronize(nullptr);
    }
  };
  for (int i = 1; i <= 20; ++i) EXPECT_EXIT(queue_until_alarm(500 + 97 * i), testing::ExitedWithCode(7), "");
}

TEST(Processes, UseStreamsInExitHandlers) {
  auto queue_and_exit = [] {
    static unsigned* word = nullptr;
    (void)hipHostMalloc(reinterpret_cast<void**>(&word), 4, 0);
    std::atexit([] {
      // Registered before the first thing that is queued: it runs after the streams have stopped.
      (void)hipMemsetD32Async(word, 5, 1, nullptr);
      (void)hipLaunchHostFunc(nullptr, [](void*) { *word += 1; }, nullptr);
      (void)hipDeviceSynchronize();
      if (*word == 6) std::fprintf(stderr, "six\n");
    });
    (void)hipLaunchHostFunc(nullptr, [](void*) {}, nullptr);
    std::exit(0);
  };
  EXPECT_EXIT(queue_and_exit(), testing::ExitedWithCode(0), "six");
}

TEST(Processes, ForkWhileStreamsAreBusy) {
  Stream stream;
  Words words;
  Gate gate(stream);
  words.set(0, 1, stream);
  pid_t child = ::fork();
  if (child == 0) {
    // What the parent queued is the parent's.
    bool good = hipStreamSynchronize(stream) == hipSuccess && words[0] == 0;
    auto set = [](void* word) { *static_cast<unsigned*>(word) = 3; };
    good = good && hipLaunchHostFunc(stream, set, words.at(0)) == hipSuccess;
    good = good && hipDeviceSynchronize() == hipSuccess && words[0] == 3;
    ::_exit(good ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  gate.open();
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(words[0], 1u);
}

// The tests below end, which is what they are about: nobody opens the gates meanwhile.
constexpr unsigned kTenMinutes = 600'000;

TEST(Settling, GivesUpOnWhatWaitsForTheApplication) {
  Stream waiting(kNonBlocking), other(kNonBlocking);
  Words words;
  ASSERT_EQ(hipStreamWaitValue32(waiting, words.at(0), 1, hipStreamWaitValueEq, ~0u), hipSuccess);
  words.set(1, 1, waiting);
  words.set(2, 1, other);
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipErrorNotReady);
  EXPECT_EQ(words[2], 1u) << "what can be done is";
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipErrorNotReady);
  words[0] = 1;
  ASSERT_EQ(hipStreamSynchronize(waiting), hipSuccess);
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipSuccess);
  EXPECT_EQ(words[1], 1u);
}

TEST(Settling, GivesUpOnTheApplicationsFunctions) {
  Stream stream;
  Gate gate(stream);
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipErrorNotReady);
  gate.open();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipSuccess);
}

TEST(Settling, WaitsForAStreamThatAnotherStreamLetsGoOn) {
  Stream first(kNonBlocking), second(kNonBlocking);
  Words words;
  ASSERT_EQ(hipStreamWaitValue32(first, words.at(0), 1, hipStreamWaitValueEq, ~0u), hipSuccess);
  words.set(1, 1, first);
  words.set(0, 1, second);
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipSuccess);
  EXPECT_EQ(words[1], 1u);
}

TEST(Holding, MakesOtherThreadsWaitAndNotOnesOwn) {
  Stream stream(kNonBlocking);
  Words words;
  std::atomic<bool> done{false};
  mneme_hostgpu_hold();
  std::thread other([&] {
    mneme_hostgpu_let_go();  // is not its to say
    words.set(0, 1, stream);
    EXPECT_EQ(hipMemset(words.at(1), 1, 4), hipSuccess);
    done = true;
  });
  words.set(2, 1, stream);
  EXPECT_EQ(hipMemset(words.at(3), 1, 1), hipSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipSuccess);
  EXPECT_EQ(words[2], 1u);
  EXPECT_EQ(words[3], 1u);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0u);
  EXPECT_FALSE(done);
  mneme_hostgpu_let_go();
  other.join();
  EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0x01010101u);
}

TEST(Holding, LetsCallbacksOfStreamsGoOn) {
  Stream stream;
  Words words;
  mneme_hostgpu_hold();
  static Words* the_words = &words;
  auto callback = [](hipStream_t, hipError_t, void* other) { the_words->set(0, 1, *static_cast<Stream*>(other)); };
  Stream other(kNonBlocking);
  EXPECT_EQ(hipStreamAddCallback(stream, callback, &other, 0), hipSuccess);
  EXPECT_EQ(mneme_hostgpu_settle(kTenMinutes), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(other), hipSuccess);
  EXPECT_EQ(words[0], 1u);
  mneme_hostgpu_let_go();
}

}  // namespace
}  // namespace mneme::hostgpu
