// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/own_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
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

TEST(OwnThread, ChildrenMayHaveSome) {
  OwnThread([] {}).join();
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    std::atomic<int> done = 0;
    for (int i = 0; i < 10; ++i) OwnThread([&] { ++done; }).join();
    ::_exit(done == 10 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
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
