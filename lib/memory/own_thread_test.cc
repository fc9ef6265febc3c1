// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/own_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "memory/of_thread.h"
#include "memory/own_region.h"

namespace mneme::memory {
namespace {

// What is mapped where there is nothing of Mneme's.
std::string others_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::ostringstream others;
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = std::stoull(line, nullptr, 16);
    bool own = begin >= kOwnBase && begin < kOwnBase + kMostOwnRegions * kOwnRegionSize;
    if (!own && line.find("[stack]") == std::string::npos) others << line << '\n';
  }
  return others.str();
}

TEST(OwnThread, DoesItsWork) {
  std::atomic<int> done = 0;
  std::vector<OwnThread> threads;
  for (int i = 0; i < 20; ++i) threads.emplace_back([&] { ++done; });
  for (OwnThread& thread : threads) {
    EXPECT_TRUE(thread.joinable());
    thread.join();
    EXPECT_FALSE(thread.joinable());
  }
  EXPECT_EQ(done, 20);
}

TEST(OwnThread, KnowsItself) {
  std::atomic<const OwnThread*> self = nullptr;
  std::atomic<bool> itself = false;
  OwnThread thread([&] {
    self.wait(nullptr);
    itself = self.load()->is_this_thread();
  });
  EXPECT_FALSE(thread.is_this_thread());
  self = &thread;
  self.notify_one();
  thread.join();
  EXPECT_TRUE(itself);
}

// The same few: their stacks are used again.
TEST(OwnThread, ChangesNothingOfTheApplications) {
  OwnThread([] {}).join();
  others_mappings();  // the streams have what they allocate
  std::string before = others_mappings();
  std::atomic<int> done = 0;
  std::set<void*> stacks;
  for (int i = 0; i < 100; ++i) {
    void* stack = nullptr;
    OwnThread joined([&] { stack = __builtin_frame_address(0); });
    OwnThread detached([&] { ++done; });
    detached.detach();
    joined.join();
    stacks.insert(stack);
    while (done <= i) ::usleep(10);
  }
  EXPECT_EQ(others_mappings(), before);
  EXPECT_LT(stacks.size(), 5u);
}

TEST(OwnThread, GetsNoSignals) {
  sigset_t blocked;
  OwnThread([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked); }).join();
  EXPECT_TRUE(::sigismember(&blocked, SIGTERM) && ::sigismember(&blocked, SIGCHLD));
  EXPECT_FALSE(::sigismember(&blocked, SIGSEGV)) << "of what it does itself";
}

// What a child of this process does, which is to end with 0.
template <class Body>
void in_child(Body&& body) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    ::_exit(body());
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << (WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

TEST(OwnThread, ChildrenMayHaveSome) {
  OwnThread([] {}).join();
  in_child([] {
    std::atomic<int> done = 0;
    for (int i = 0; i < 10; ++i) OwnThread([&] { ++done; }).join();
    return done == 10 ? 0 : 1;
  });
}

// The application's own handlers may use what has threads, from the child on. In a child, which has the handler alone.
TEST(OwnThread, HandlersOfForksMayHaveSome) {
  in_child([] {
    static std::atomic<int> started = 0;
    ::pthread_atfork(nullptr, nullptr, [] {
      ::alarm(20);
      OwnThread([] { ++started; }).join();
    });
    OwnThread([] {}).join();
    in_child([] { return started == 1 ? 0 : 1; });
    return testing::Test::HasFailure() ? 2 : 0;
  });
}

// One that ends may still wait for who has another started meanwhile.
TEST(OwnThread, EndingOnesHoldUpNobody) {
  static std::mutex held;
  struct Waits {
    ~Waits() { std::lock_guard lock(held); }
  };
  for (int round = 0; round < 50; ++round) {
    std::unique_lock lock(held);
    OwnThread([] { of_this_thread<Waits>(); }).detach();
    OwnThread([] {}).join();
  }
}

TEST(OwnThread, RunsWhereWhoStartsItMay) {
  cpu_set_t all, one, its;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  OwnThread([] {}).join();
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &all)) continue;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    OwnThread([&] { ::sched_getaffinity(0, sizeof its, &its); }).join();
    EXPECT_TRUE(CPU_EQUAL(&its, &one));
  }
  EXPECT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
}

// Of address space that is in use.
uint64_t used_space() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

void limit_space(uint64_t more) {
  rlimit space;
  ::getrlimit(RLIMIT_AS, &space);
  space.rlim_cur = more == RLIM_INFINITY ? space.rlim_max : used_space() + more;
  ::setrlimit(RLIMIT_AS, &space);
}

bool has_thread() {
  try {
    OwnThread([] {}).join();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

// A child has no stacks yet that could be used again.
TEST(OwnThread, SaysThatNoneIsToBeHad) {
  in_child([] {
    limit_space(1 << 20);  // too little for one stack
    for (int i = 0; i < 5; ++i) {
      if (has_thread()) return 1;
    }
    limit_space(9 << 20);  // for that of the one that starts others, but not for theirs
    for (int i = 0; i < 5; ++i) {
      if (has_thread()) return 2;
    }
    limit_space(RLIM_INFINITY);
    for (int i = 0; i < 5; ++i) {
      if (!has_thread()) return 3;
    }
    return 0;
  });
}

struct Counted {
  Counted() { ++there; }
  ~Counted() { --there; }
  static inline std::atomic<int> there = 0;
};

TEST(OfThread, EachThreadHasItsOwn) {
  Counted* mine = &of_this_thread<Counted>();
  EXPECT_EQ(&of_this_thread<Counted>(), mine);
  Counted* its = nullptr;
  int there = 0;
  OwnThread([&] {
    its = &of_this_thread<Counted>();
    there = Counted::there;
  }).join();
  EXPECT_NE(its, mine);
  EXPECT_EQ(there, 2);
  EXPECT_EQ(Counted::there, 1) << "gone with its thread";
}

}  // namespace
}  // namespace mneme::memory
