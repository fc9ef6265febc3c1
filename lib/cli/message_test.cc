// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "base/file.h"
#include "base/long_names.h"
#include "cli/options.h"
#include "cli/progress.h"

namespace mneme::cli {
namespace {

TEST(RunTool, GivesTheBodysStatus) {
  EXPECT_EQ(run_tool("mneme-test", [] { return Exit::kSuccess; }), 0);
  EXPECT_EQ(run_tool("mneme-test", [] { return Exit::kNotVerified; }), 1);
}

TEST(RunTool, TurnsErrorsIntoMessages) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tool("mneme-test", []() -> Exit { throw Error("no device", Exit::kMissing); }), 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mneme-test: error: no device\n");

  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tool("mneme-test", []() -> Exit { throw std::bad_alloc(); }), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mneme-test: error: out of memory\n");

  testing::internal::CaptureStderr();
  EXPECT_EQ(run_tool("mneme-test", []() -> Exit { throw std::runtime_error("odd"); }), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mneme-test: error: odd\n");
}

TEST(Messages, CutLongNamesUnlessTheyAreWanted) {
  const std::string name = "run<" + std::string(1000, 'x') + ">(int)";
  note_name(name);
  auto said = [&](bool whole) {
    testing::internal::CaptureStderr();
    run_tool("mneme-test", [&]() -> Exit {
      say_whole_names(whole);
      warn("of " + name);
      throw Error("with " + name);
    });
    return testing::internal::GetCapturedStderr();
  };
  const std::string cut = cut_in_the_middle(name);
  EXPECT_EQ(said(true), "mneme-test: warning: of " + name + "\nmneme-test: error: with " + name + "\n");
  EXPECT_EQ(said(false), "mneme-test: warning: of " + cut + "\nmneme-test: error: with " + cut + "\n");
}

TEST(Messages, OfManyThatAreAlikeTheFirstFewAreSaid) {
  auto said = [](const std::vector<std::string>& messages) {
    testing::internal::CaptureStderr();
    run_tool("mneme-test", [&] {
      warn_of_each(messages, "kernels");
      return Exit::kSuccess;
    });
    return testing::internal::GetCapturedStderr();
  };
  const std::string three = "mneme-test: warning: a\nmneme-test: warning: b\nmneme-test: warning: c\n";
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({"a", "b", "c"}), three);
  EXPECT_EQ(said({"a", "b", "c", "d", "e"}), three + "mneme-test: warning: and 2 more kernels\n");
}

TEST(RunTool, MakesAClosedPipeAnError) {
  testing::internal::CaptureStderr();
  int status = run_tool("mneme-test", [] {
    int ends[2];
    if (::pipe(ends) != 0) throw system_error("pipe");
    ::close(ends[0]);
    Fd writing(ends[1]);
    write_all(writing.get(), bytes_of("x"), "a pipe");
    return Exit::kSuccess;
  });
  EXPECT_EQ(status, 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mneme-test: error: cannot write a pipe: Broken pipe\n");
}

TEST(RunTool, AFileThatMayGrowNoFurtherIsAnError) {
  testing::internal::CaptureStderr();
  int status = run_tool("mneme-test", [] {
    struct sigaction action{};
    ::sigaction(SIGXFSZ, nullptr, &action);
    EXPECT_NE(action.sa_handler, SIG_IGN);
    ::raise(SIGXFSZ);
    return Exit::kSuccess;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(RunTool, LeavesSigpipeToThePrograms) {
  run_tool("mneme-test", [] {
    struct sigaction action{};
    ::sigaction(SIGPIPE, nullptr, &action);
    // A caught signal is back to its default in a program that is started; an ignored one is not.
    EXPECT_NE(action.sa_handler, SIG_IGN);
    EXPECT_NE(action.sa_handler, SIG_DFL);
    return Exit::kSuccess;
  });
}

TEST(Messages, NameTheTool) {
  testing::internal::CaptureStderr();
  run_tool("mneme-test", [] {
    warn("careful");
    note("well");
    return Exit::kSuccess;
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mneme-test: warning: careful\nmneme-test: well\n");
}

TEST(Progress, IsSilentWhereThereIsNoTerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress;
    progress.show("half");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace mneme::cli
