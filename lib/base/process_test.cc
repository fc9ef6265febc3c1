// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/process.h"

#include <gtest/gtest.h>

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
