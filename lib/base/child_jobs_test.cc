// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/child_jobs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace mneme {
namespace {

using Results = std::vector<ChildJobs::Result>;

Results run(size_t count, const std::function<std::string(size_t)>& body, size_t at_once = 4, double seconds = 60) {
  Results results;
  ChildJobs jobs;
  jobs.name = "a test";
  jobs.count = count;
  jobs.at_once = at_once;
  jobs.seconds = seconds;
  jobs.most_bytes = 4 << 20;
  jobs.body = body;
  jobs.take = [&](size_t number, ChildJobs::Result result) {
    EXPECT_EQ(number, results.size()) << "in order";
    results.push_back(std::move(result));
  };
  jobs.run();
  return results;
}

bool no_child_is_left() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

TEST(ChildJobs, ResultsComeInOrderWhateverEndsFirst) {
  // Each waits for the one behind it to be done, as far as those begin together.
  TemporaryFolder folder;
  Results results = run(8, [&](size_t number) {
    std::string next = folder.path() + "/" + std::to_string(number + 1);
    while (number % 4 != 3 && !file_exists(next)) ::usleep(100);
    write_file(folder.path() + "/" + std::to_string(number), "");
    return std::string(number * 100'000, static_cast<char>('a' + number));
  });
  ASSERT_EQ(results.size(), 8u);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i].done);
    EXPECT_EQ(results[i].text, std::string(i * 100'000, static_cast<char>('a' + i)));
  }
  EXPECT_TRUE(no_child_is_left());
}

TEST(ChildJobs, NoneIsNoWork) {
  EXPECT_TRUE(run(0, [](size_t) { return ""; }).empty());
}

TEST(ChildJobs, AFailureCostsNoOther) {
  Results results = run(5, [](size_t number) -> std::string {
    if (number == 1) throw Error("it is the second");
    if (number == 2) ::raise(SIGSEGV);
    if (number == 3) ::_exit(7);
    return "fine";
  });
  ASSERT_EQ(results.size(), 5u);
  EXPECT_TRUE(results[0].done && results[4].done);
  EXPECT_FALSE(results[1].done || results[1].child_failed);
  EXPECT_EQ(results[1].text, "it is the second");
  EXPECT_TRUE(results[2].child_failed);
  EXPECT_NE(results[2].text.find("was killed by SIGSEGV"), std::string::npos) << results[2].text;
  EXPECT_EQ(results[3].text, "exited with status 7");
}

// Whatever it has started ends with it.
TEST(ChildJobs, WhatDoesNotEndIsKilled) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd from(ends[0]), to(ends[1]);
  Results results = run(
      3,
      [](size_t number) -> std::string {
        if (number == 0) ::fork();
        if (number == 1) ::close_range(3, ~0U, 0);
        while (number < 2) ::pause();
        return "fine";
      },
      2, 1.5);
  ASSERT_EQ(results.size(), 3u);
  for (int number : {0, 1}) {
    EXPECT_FALSE(results[number].done);
    EXPECT_EQ(results[number].text, "took longer than 1.5 s");
  }
  EXPECT_TRUE(results[2].done);
  to = Fd();
  char byte = 0;
  EXPECT_EQ(::read(from.get(), &byte, 1), 0) << "somebody still has the other end";
}

TEST(ChildJobs, AResultThatIsTooLargeIsNone) {
  Results results = run(1, [](size_t) { return std::string((4 << 20) + 1, 'x'); });
  EXPECT_EQ(results.at(0).text, "gave 4194305 bytes, where at most 4194304 may be");
  EXPECT_TRUE(results[0].child_failed);
}

TEST(ChildJobs, WhenWhatIsDoneCannotBeTakenAllEnds) {
  ChildJobs jobs;
  jobs.name = "a test";
  jobs.count = 10;
  jobs.at_once = 3;
  jobs.seconds = 60;
  jobs.most_bytes = 10;
  jobs.body = [](size_t number) -> std::string {
    while (number > 0) ::pause();
    return "";
  };
  jobs.take = [](size_t, ChildJobs::Result) { throw Error("the disk is full"); };
  EXPECT_THROW(jobs.run(), Error);
  EXPECT_TRUE(no_child_is_left());
}

}  // namespace
}  // namespace mneme
