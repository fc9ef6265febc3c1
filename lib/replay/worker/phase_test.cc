// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/phase.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mneme::run {
namespace {

TEST(Phase, TheOtherEndSeesWhatBegan) {
  Phase here;
  Phase there{Fd(::dup(here.file()))};
  EXPECT_FALSE(here.state().foreign) << "the worker's own work comes first";
  const auto before = Phase::Clock::now();
  there.begin(true);
  const Phase::State state = here.state();
  EXPECT_TRUE(state.foreign);
  EXPECT_GE(state.since, before);
  EXPECT_LE(state.since, Phase::Clock::now());
  EXPECT_EQ(here.state(), state);
  there.begin(false);
  EXPECT_FALSE(here.state().foreign);
  EXPECT_GE(here.state().since, state.since);
}

TEST(Phase, ItIsSharedWithChildren) {
  Phase phase;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    phase.begin(true);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(phase.state().foreign);
}

}  // namespace
}  // namespace mneme::run
