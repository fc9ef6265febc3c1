// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/detached_command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace mneme::hostgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

CommandResult shell(const std::string& script, const std::string& input = {}) {
  return run_detached({"/bin/sh", "-c", script}, bytes_of(input));
}

TEST(DetachedCommand, PassesInputAndOutput) {
  std::string large(3 << 20, 'x');
  CommandResult result = shell("cat; echo oh >&2; exit 3", large);
  EXPECT_EQ(result.output, large);
  EXPECT_EQ(result.errors, "oh\n");
  ASSERT_TRUE(WIFEXITED(result.status));
  EXPECT_EQ(WEXITSTATUS(result.status), 3);
  result = shell("kill -SEGV $$");
  EXPECT_TRUE(WIFSIGNALED(result.status));
}

TEST(DetachedCommand, SaysWhyItCannotStart) {
  try {
    run_detached({"/nowhere/compiler"}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kMissing);
    EXPECT_STREQ(error.what(), "cannot run '/nowhere/compiler': No such file or directory");
  }
}

std::atomic<int> signals{0};

TEST(DetachedCommand, IsNoChildOfOurs) {
  struct sigaction count{}, before{};
  count.sa_handler = [](int) { ++signals; };
  ASSERT_EQ(::sigaction(SIGCHLD, &count, &before), 0);
  EXPECT_EQ(shell("exit 0").status, 0);
  EXPECT_EQ(signals, 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);

  // Nor does it matter what the application does with its own.
  ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(shell("exit 5").status, W_EXITCODE(5, 0));
  ::sigaction(SIGCHLD, &before, nullptr);
}

TEST(DetachedCommand, InheritsNoDescriptorHandlerMaskOrEnvironment) {
  Fd open(::open("/dev/null", O_RDONLY));
  ASSERT_TRUE(static_cast<bool>(open));
  ::setenv("LD_PRELOAD", "", 1);
  ::setenv("MNEME_TEST_SECRET", "secret", 1);
  ::setenv("MNEME_LIBDIR", "/some/where", 1);
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t mask, before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &mask, &before);
  CommandResult result = shell("ls /proc/self/fd; echo -; env; grep -E 'SigBlk|SigIgn' /proc/self/status");
  ::pthread_sigmask(SIG_SETMASK, &before, &mask);
  EXPECT_TRUE(sigismember(&mask, SIGUSR2)) << "our own mask is as it was";
  ::signal(SIGUSR1, SIG_DFL);
  ::unsetenv("MNEME_LIBDIR");
  // ls itself opens the folder: descriptor 3.
  EXPECT_THAT(result.output, testing::StartsWith("0\n1\n2\n3\n-"));
  EXPECT_THAT(result.output, HasSubstr("MNEME_LIBDIR=/some/where"));
  EXPECT_THAT(result.output, Not(HasSubstr("secret")));
  EXPECT_THAT(result.output, Not(HasSubstr("LD_PRELOAD")));
  EXPECT_THAT(result.output, HasSubstr("SigBlk:\t0000000000000000"));
  // Signals 32 and 33 are the C library's own; what make starts has them ignored.
  EXPECT_THAT(result.output, testing::ContainsRegex("SigIgn:\t0000000[01][08]0000000"));
}

TEST(DetachedCommand, HoldsNoPipeOpen) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  std::thread command([] { shell("sleep 2"); });
  ::usleep(500000);
  ::close(pipe[1]);
  char byte = 0;
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(::read(pipe[0], &byte, 1), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  ::close(pipe[0]);
  command.join();
}

TEST(DetachedCommand, WorksWithStandardDescriptorsClosed) {
  pid_t child = ::fork();
  if (child == 0) {
    ::close(0);
    ::close(1);
    ::close(2);
    CommandResult result = shell("cat; echo no >&2", "yes");
    ::_exit(result.output == "yes" && result.errors == "no\n" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(DetachedCommand, FromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] { EXPECT_EQ(shell("cat", std::to_string(t)).output, std::to_string(t)); });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace mneme::hostgpu
