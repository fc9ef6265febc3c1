// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"

namespace mneme {
namespace {

TEST(Process, RunsToTheEnd) {
  CommandResult result = run_command({"sh", "-c", "cat; echo trouble >&2; exit 3"}, "some input");
  EXPECT_EQ(result.output, "some input");
  EXPECT_EQ(result.errors, "trouble\n");
  EXPECT_EQ(describe_wait_status(result.status), "exited with status 3");
}

TEST(Process, TakesAndGivesMuchAtOnce) {
  std::string much(8 << 20, 'x');
  EXPECT_EQ(run_command({"cat"}, much).output, much);
}

TEST(Process, TellsSignals) {
  EXPECT_EQ(describe_wait_status(run_command({"sh", "-c", "kill -SEGV $$"}).status),
            "was killed by SIGSEGV (Segmentation fault)");
}

TEST(Process, WaitsForAnEndThatIsNear) {
  pid_t child = ::fork();
  if (child == 0) {
    ::usleep(20'000);
    ::_exit(7);
  }
  std::optional<int> status = status_of_ending(child);
  ASSERT_TRUE(status);
  EXPECT_EQ(describe_wait_status(*status), "exited with status 7");

  child = ::fork();
  if (child == 0) ::pause();
  EXPECT_FALSE(status_of_ending(child));
  ::kill(child, SIGKILL);
  EXPECT_TRUE(status_of_ending(child));
}

TEST(Process, NamesWhatIsMissing) {
  try {
    run_command({"mneme-no-such-program"});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kMissing);
    EXPECT_EQ(std::string(error.what()), "cannot run 'mneme-no-such-program': No such file or directory");
  }
}

}  // namespace
}  // namespace mneme
