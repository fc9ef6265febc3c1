// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <set>
#include <thread>

namespace mneme::device::host {
namespace {

// The numbers that were run, each on a thread of its own.
std::set<uint64_t> run(Team& team) {
  std::mutex mutex;
  std::set<uint64_t> numbers;
  std::set<std::thread::id> threads;
  team.run([&](uint64_t number) {
    std::lock_guard lock(mutex);
    numbers.insert(number);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), numbers.size());
  return numbers;
}

TEST(Team, AllWorkAtOnce) {
  Team team(4);
  ASSERT_EQ(team.size(), 4u);
  EXPECT_EQ(run(team), (std::set<uint64_t>{0, 1, 2, 3}));
}

TEST(Team, OfOneIsTheCaller) {
  Team team(1);
  auto caller = std::this_thread::get_id();
  team.run([&](uint64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(Team, MayHaveNothingToDo) { Team team(4); }

TEST(Team, IsSmallerWhereThereAreNoThreads) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit little;
    ::getrlimit(RLIMIT_AS, &little);
    little.rlim_cur = pages * 4096 + (1 << 20);  // too little for a stack
    ::setrlimit(RLIMIT_AS, &little);
    Team team(4);
    ::_exit(team.size() == 1 && run(team) == std::set<uint64_t>{0} ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mneme::device::host
