// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "application.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace mneme::capture {
namespace {

using ::testing::ElementsAre;

// An installation with the two parts that an application needs.
class EnvironmentTest : public ::testing::Test {
 protected:
  void install(const std::string& name) {
    root_ = folder_.path() + "/" + name;
    std::filesystem::create_directories(root_ + "/hostgpu");
    write_file(root_ + "/libmneme-record.so", "");
    write_file(root_ + "/hostgpu/libamdhip64.so.5", "");
    ::setenv("MNEME_LIBDIR", root_.c_str(), 1);
  }
  ~EnvironmentTest() override { ::unsetenv("MNEME_LIBDIR"); }

  TemporaryFolder folder_;
  std::string root_;
};

TEST_F(EnvironmentTest, PutsOurLibrariesFirst) {
  install("lib");
  EXPECT_THAT(environment_with({"LD_LIBRARY_PATH=/a:/b", "A=b", "LD_PRELOAD=x.so", "MNEME_CAPTURE_SOCKET=old"},
                               Surroundings{Device::kHost, "name", false, false}),
              ElementsAre("LD_LIBRARY_PATH=" + root_ + "/hostgpu:/a:/b", "A=b",
                          "LD_PRELOAD=" + root_ + "/libmneme-record.so:x.so", "MNEME_CAPTURE_SOCKET=name",
                          "ASAN_OPTIONS=verify_asan_link_order=0", "TSAN_OPTIONS=report_thread_leaks=0"));
  EXPECT_THAT(environment_with({"ASAN_OPTIONS=detect_leaks=0"}, Surroundings{Device::kHost, "name", false, false}),
              testing::Contains("ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"));
  EXPECT_THAT(
      environment_with({"TSAN_OPTIONS=report_thread_leaks=1"}, Surroundings{Device::kHost, "name", false, false}),
      testing::Contains("TSAN_OPTIONS=report_thread_leaks=0:report_thread_leaks=1"));
}

TEST(Environment, OfAnySizeIsPaddedToOne) {
  std::vector<std::string> variables, command = {"/bin/true"};
  auto bytes = [&] {
    size_t texts = command.front().size() + 1, pointers = 0;  // the program's path
    for (const auto& words : {padded(variables, command), command}) {
      for (const std::string& word : words) texts += word.size() + 1;
      pointers += 8 * words.size();
    }
    return std::pair(texts % 16, texts + pointers);
  };
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(bytes(), (std::pair<size_t, size_t>{0, 64 << 10})) << i;
    EXPECT_EQ(padded(padded(variables, command), command), padded(variables, command));
    variables.push_back("V" + std::to_string(i) + "=" + std::string(static_cast<size_t>(7 * i), 'x'));
    if (i % 3 == 0) command.push_back(std::string(static_cast<size_t>(i), 'a'));
  }
}

TEST_F(EnvironmentTest, UnrecordedApplicationsGetTheDeviceOnly) {
  install("lib");
  EXPECT_THAT(environment_with({"LD_LIBRARY_PATH="}, Surroundings{}),
              ElementsAre("LD_LIBRARY_PATH=" + root_ + "/hostgpu", "TSAN_OPTIONS=report_thread_leaks=0"));
}

TEST_F(EnvironmentTest, SaysThatAccessesAreToBeChecked) {
  install("lib");
  EXPECT_THAT(environment_with({"MNEME_CHECK_MEMORY=0"}, Surroundings{Device::kHost, "", true, false}),
              ElementsAre("MNEME_CHECK_MEMORY=1", "LD_LIBRARY_PATH=" + root_ + "/hostgpu",
                          "TSAN_OPTIONS=report_thread_leaks=0"));
}

TEST_F(EnvironmentTest, RefusesAPathThatTheLoaderWouldSplit) {
  install("two words");
  EXPECT_THROW(environment_with({}, Surroundings{Device::kHost, "name", false, false}), Error);
}

class ApplicationTest : public EnvironmentTest {
 protected:
  void SetUp() override { install("lib"); }
  int run(const std::string& script) {
    return Application({"sh", "-c", script}, Surroundings{}, signals_).wait(signals_);
  }
  Signals signals_;
};

TEST_F(ApplicationTest, TellsHowItEnded) {
  EXPECT_EQ(WEXITSTATUS(run("exit 3")), 3);
  EXPECT_EQ(WTERMSIG(run("kill -USR1 $$")), SIGUSR1);
  EXPECT_THROW(Application({"/no/such/program"}, Surroundings{}, signals_), Error);
}

TEST_F(ApplicationTest, PassesOnSignalsThatWereSentToUs) {
  EXPECT_EQ(WEXITSTATUS(run("trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.01; done")), 9);
}

TEST_F(ApplicationTest, RunsAtTheSameAddressesWhenAsked) {
  auto personality_of = [&](bool keep_aslr) {
    Surroundings surroundings;
    surroundings.keep_aslr = keep_aslr;
    std::string script = "test $((0x$(cat /proc/self/personality) & 0x40000)) = 0 || exit 4";
    return WEXITSTATUS(Application({"sh", "-c", script}, surroundings, signals_).wait(signals_));
  };
  int before = ::personality(0xffffffff);
  EXPECT_EQ(personality_of(true), before & ADDR_NO_RANDOMIZE ? 4 : 0);
  EXPECT_EQ(personality_of(false), 4);
  EXPECT_EQ(::personality(0xffffffff), before);
}

TEST_F(ApplicationTest, SignalsAreNotBlockedInTheApplication) {
  EXPECT_EQ(WTERMSIG(run("kill -TERM $$; exit 1")), SIGTERM);
}

TEST_F(ApplicationTest, WaitingEndsWithWhatIsWaitedForOrASignal) {
  Fd ready(::eventfd(1, EFD_CLOEXEC)), never(::eventfd(0, EFD_CLOEXEC));
  EXPECT_FALSE(interrupted_before(ready.get(), signals_));
  ::kill(::getpid(), SIGTERM);
  EXPECT_TRUE(interrupted_before(never.get(), signals_));
}

}  // namespace
}  // namespace mneme::capture
