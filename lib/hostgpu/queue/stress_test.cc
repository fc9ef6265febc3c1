// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many host threads give many streams small things to do, and wait for them in every way there is. Each thing notes
// when it began and ended; in the end all the orders that the API promises are checked. A wake-up that is lost stops
// everything: then a watchdog ends the test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "hostgpu/queue/gate.h"
#include "hostgpu/queue/watchdog.h"

namespace mneme::hostgpu {
namespace {

using Random = std::mt19937;

constexpr int kThreads = 6, kStreams = 4, kEvents = 8, kSteps = 3000;

// A function that a stream calls: when the application queued it, and when it ran.
struct Job {
  uint64_t queueing = 0, queued = 0;  // before and after the call
  std::atomic<uint64_t> begun{0}, ended{0};
  int microseconds = 0;
  unsigned* word = nullptr;  // of its stream, and what it must hold
  unsigned expected = 0;
  bool good = true;
  hipStream_t to = nullptr;  // it queues something there itself
  std::atomic<int>* others = nullptr;

  void run() {
    begun = tick();
    if (word) good = *word == expected;
    if (microseconds) ::usleep(static_cast<unsigned>(microseconds));
    if (to) {
      auto count = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
      good = hipLaunchHostFunc(to, count, others) == hipSuccess && good;
    }
    ended = tick();
  }
};

// One of the events that all threads share. Under its lock, so that whoever waits for it knows for what.
struct SharedEvent {
  std::mutex mutex;
  Event event;
  Job* covers = nullptr;  // done when it is
};

struct Order {
  const Job *first, *second;
};

// Streams of one host thread, which alone gives them work.
class Host {
 public:
  Host(int index, std::array<SharedEvent, kEvents>& events)
      : random_(1 + static_cast<unsigned>(index)), events_(events) {
    for (int i = 0; i < kStreams; ++i) create(i);
  }
  ~Host() {
    for (Lane& lane : lanes_) EXPECT_EQ(hipStreamDestroy(lane.stream), hipSuccess);
  }

  void work() {
    own().stream = hipStreamPerThread;
    for (int i = 0; i < kSteps; ++i) step();
    for (Lane& lane : lanes_) wait(lane);
    wait(own());
  }

  const std::deque<Job>& jobs(bool legacy) const { return legacy ? legacy_jobs_ : jobs_; }
  const std::vector<Order>& orders() const { return orders_; }
  // Jobs that have an order with those of the legacy stream.
  const std::vector<const Job*>& blocking() const { return blocking_; }
  int queued_by_jobs() const { return queued_by_jobs_; }
  int counted() const { return counted_; }

 private:
  struct Lane {
    hipStream_t stream = nullptr;
    bool blocking = true;
    Job* last = nullptr;
    std::vector<const Job*> events;  // its next job comes after these
    int word = 0;
    unsigned value = 0;
  };

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  Lane& own() { return own_; }
  Lane& any() {
    int i = below(kStreams + 1);
    return i == kStreams ? own_ : lanes_[static_cast<size_t>(i)];
  }

  void create(int i) {
    Lane& lane = lanes_[static_cast<size_t>(i)];
    lane = {};
    lane.blocking = i % 2 == 0;
    lane.word = i;
    words_[i] = 0;
    ASSERT_EQ(hipStreamCreateWithFlags(&lane.stream, lane.blocking ? hipStreamDefault : hipStreamNonBlocking),
              hipSuccess);
  }

  void queue(Job& job, hipStream_t stream) {
    if (below(6) == 0) job.microseconds = below(60);
    job.queueing = tick();
    if (below(2)) {
      EXPECT_EQ(hipLaunchHostFunc(stream, [](void* job) { static_cast<Job*>(job)->run(); }, &job), hipSuccess);
    } else {
      auto run = [](hipStream_t, hipError_t, void* job) { static_cast<Job*>(job)->run(); };
      EXPECT_EQ(hipStreamAddCallback(stream, run, &job, 0), hipSuccess);
    }
    job.queued = tick();
  }

  void add_job(Lane& lane) {
    Job& job = jobs_.emplace_back();
    if (lane.last) orders_.push_back({lane.last, &job});
    for (const Job* other : lane.events) orders_.push_back({other, &job});
    lane.events.clear();
    if (lane.blocking) blocking_.push_back(&job);
    if (&lane != &own_) {
      job.word = words_.at(lane.word);
      job.expected = lane.value;
      Lane& second = lanes_[1];
      if (&lane != &second && !lane.blocking && below(4) == 0) {
        job.to = second.stream;
        job.others = &counted_;
        ++queued_by_jobs_;
        targeted_ = true;
      }
    }
    queue(job, lane.stream);
    lane.last = &job;
  }

  void add_legacy_job() {
    Job& job = legacy_jobs_.emplace_back();
    queue(job, nullptr);
    if (below(3) == 0) {
      EXPECT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
      EXPECT_NE(job.ended, 0u);
    }
  }

  // Something that the thread that queues it does itself, if nothing is before it.
  void write(Lane& lane) {
    if (&lane == &own_) return;
    unsigned value = lane.value + 1;
    if (below(2)) {
      EXPECT_EQ(hipMemsetD32Async(words_.at(lane.word), static_cast<int>(value), 1, lane.stream), hipSuccess);
    } else {
      EXPECT_EQ(hipStreamWriteValue32(lane.stream, words_.at(lane.word), value, 0), hipSuccess);
    }
    lane.value = value;
  }

  // In its place in the legacy stream, and waited for.
  void read(const Lane& lane) {
    if (&lane == &own_ || !lane.blocking) return;
    unsigned seen = 0;
    EXPECT_EQ(hipMemcpy(&seen, words_.at(lane.word), sizeof seen, hipMemcpyDefault), hipSuccess);
    EXPECT_EQ(seen, lane.value);
  }

  void record(Lane& lane) {
    SharedEvent& shared = events_[static_cast<size_t>(below(kEvents))];
    std::lock_guard lock(shared.mutex);
    EXPECT_EQ(hipEventRecord(shared.event, lane.stream), hipSuccess);
    shared.covers = lane.last;
  }

  void wait_for_event(Lane& lane) {
    SharedEvent& shared = events_[static_cast<size_t>(below(kEvents))];
    std::lock_guard lock(shared.mutex);
    EXPECT_EQ(hipStreamWaitEvent(lane.stream, shared.event, 0), hipSuccess);
    if (shared.covers) lane.events.push_back(shared.covers);
  }

  // Two of them wait for the same one, which may be recorded again meanwhile.
  void synchronize_event() {
    SharedEvent& shared = events_[static_cast<size_t>(below(kEvents))];
    Event mine;
    Job* covered = nullptr;
    Lane& lane = any();
    {
      std::lock_guard lock(shared.mutex);
      EXPECT_EQ(hipStreamWaitEvent(lane.stream, shared.event, 0), hipSuccess);
      covered = shared.covers;
    }
    EXPECT_EQ(hipEventRecord(mine, lane.stream), hipSuccess);
    if (below(2)) {
      EXPECT_EQ(hipEventSynchronize(mine), hipSuccess);
    } else {
      while (hipEventQuery(mine) == hipErrorNotReady) std::this_thread::yield();
    }
    EXPECT_TRUE(!covered || covered->ended != 0);
  }

  void wait(Lane& lane) {
    switch (below(4)) {
      case 0:
        while (hipStreamQuery(lane.stream) == hipErrorNotReady) std::this_thread::yield();
        break;
      case 1:  // nobody helps and nobody asks
        while (lane.last && lane.last->ended == 0) std::this_thread::yield();
        break;
      case 2:
        EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
        break;
      default:
        EXPECT_EQ(hipStreamSynchronize(lane.stream), hipSuccess);
    }
    EXPECT_TRUE(!lane.last || lane.last->ended != 0);
  }

  // With work in it. (Jobs queue things in the second stream.)
  void replace(int i) {
    Lane& lane = lanes_[static_cast<size_t>(i)];
    if (i == 1 && targeted_) return;
    EXPECT_EQ(hipStreamDestroy(lane.stream), hipSuccess);
    EXPECT_TRUE(!lane.last || lane.last->ended != 0);
    create(i);
  }

  void step() {
    int what = below(1000);
    if (what < 400) return add_job(any());
    if (what < 550) return write(any());
    if (what < 650) return record(any());
    if (what < 800) return wait_for_event(any());
    if (what < 850) return add_legacy_job();
    if (what < 880) return synchronize_event();
    if (what < 910) return read(any());
    if (what < 980) return wait(any());
    if (what < 998) return replace(below(kStreams));
    // About as long as a stream's idle thread stays.
    ::usleep(198'000 + static_cast<unsigned>(below(4'000)));
  }

  Random random_;
  std::array<SharedEvent, kEvents>& events_;
  Words words_;
  std::array<Lane, kStreams> lanes_;
  Lane own_;
  std::deque<Job> jobs_, legacy_jobs_;
  std::vector<Order> orders_;
  std::vector<const Job*> blocking_;
  std::atomic<int> counted_{0};
  int queued_by_jobs_ = 0;
  bool targeted_ = false;
};

void check_legacy_order(const std::vector<std::unique_ptr<Host>>& hosts) {
  for (auto& host : hosts) {
    for (const Job& legacy : host->jobs(true)) {
      for (auto& other : hosts) {
        for (const Job* job : other->blocking()) {
          if (job->queued < legacy.queueing) ASSERT_LT(job->ended, legacy.begun);
          if (legacy.queued < job->queueing) ASSERT_LT(legacy.ended, job->begun);
        }
      }
    }
  }
}

TEST(QueueStress, KeepsEveryOrderAndLosesNothing) {
  Watchdog watchdog;
  std::array<SharedEvent, kEvents> events;
  std::vector<std::unique_ptr<Host>> hosts;
  for (int i = 0; i < kThreads; ++i) hosts.push_back(std::make_unique<Host>(i, events));
  std::vector<std::thread> threads;
  for (auto& host : hosts) threads.emplace_back([&host] { host->work(); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);

  for (auto& host : hosts) {
    for (bool legacy : {false, true}) {
      for (const Job& job : host->jobs(legacy)) {
        ASSERT_NE(job.ended, 0u) << "it was never done";
        ASSERT_TRUE(job.good) << "what was queued before it was not done before";
      }
    }
    for (const Order& order : host->orders()) ASSERT_LT(order.first->ended, order.second->begun);
    EXPECT_EQ(host->counted(), host->queued_by_jobs());
  }
  check_legacy_order(hosts);
}

}  // namespace
}  // namespace mneme::hostgpu
