// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "recorder/link/rank.h"

namespace mneme::capture {
namespace {

std::vector<int> chosen(const std::string& text) {
  Ranks ranks = Ranks::parse(text);
  std::vector<int> list;
  for (int rank = 0; rank < 10; ++rank) {
    if (ranks.contains(rank)) list.push_back(rank);
  }
  return list;
}

TEST(Ranks, AreNamed) {
  EXPECT_EQ(chosen("0"), std::vector{0});
  EXPECT_EQ(chosen("7,2"), (std::vector{2, 7}));
  EXPECT_EQ(chosen("0,4-6,5"), (std::vector{0, 4, 5, 6}));
  EXPECT_EQ(chosen("all").size(), 10u);
  EXPECT_TRUE(Ranks::parse("2147483647").contains(INT32_MAX));
}

TEST(Ranks, AreOneOrSeveral) {
  EXPECT_FALSE(Ranks::only(3).several());
  EXPECT_FALSE(Ranks::parse("3,3-3").several());
  EXPECT_TRUE(Ranks::parse("3,4").several());
  EXPECT_TRUE(Ranks::parse("3-4").several());
  EXPECT_TRUE(Ranks::all().several());
}

TEST(Ranks, RefuseNonsense) {
  for (const char* bad :
       {"", ",", "0,", "-", "-1", "1-", "2-1", "x", "1 ,2", "ALL", "0,all", "1-2-3", "99999999999", "2147483648"}) {
    EXPECT_THROW(Ranks::parse(bad), Error) << bad;
  }
}

TEST(NameForProcess, TakesRankAndNumber) {
  EXPECT_EQ(name_for_process("rank-%r.tar", 3, 77), "rank-3.tar");
  EXPECT_EQ(name_for_process("%r/%p/%r", 0, 77), "0/77/0");
  EXPECT_EQ(name_for_process("100%%r%", 3, 77), "100%r%");
  EXPECT_EQ(name_for_process("50%d%", {}, 77), "50%d%");
  EXPECT_EQ(name_for_process("x-%p", {}, 77), "x-77");
  EXPECT_THROW(name_for_process("x-%r", {}, 77), Error);
}

TEST(NameForProcess, KnowsNamesThatDiffer) {
  for (const char* name : {"%r", "a%p", "%%%r"}) EXPECT_TRUE(names_each_rank(name)) << name;
  for (const char* name : {"", "x.tar", "%%r", "%d", "r%"}) EXPECT_FALSE(names_each_rank(name)) << name;
}

class RankInEnvironment : public ::testing::Test {
 protected:
  ~RankInEnvironment() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const char* value) {
    ::setenv(name.c_str(), value, 1);
    set_.push_back(name);
  }
  std::vector<std::string> set_;
};

TEST_F(RankInEnvironment, IsFoundUnderEveryLauncher) {
  EXPECT_EQ(record::rank_in_environment(), std::nullopt);
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID",
                           "ALPS_APP_PE", "JSM_NAMESPACE_RANK", "FLUX_TASK_RANK"}) {
    ::setenv(name, "5", 1);
    EXPECT_EQ(record::rank_in_environment(), 5) << name;
    ::setenv(name, "many", 1);
    EXPECT_EQ(record::rank_in_environment(), std::nullopt) << name;
    ::unsetenv(name);
  }
}

TEST_F(RankInEnvironment, IsSlurmsOnlyInAStep) {
  set("SLURM_PROCID", "2");
  EXPECT_EQ(record::rank_in_environment(), std::nullopt);
  set("SLURM_STEP_ID", "0");
  EXPECT_EQ(record::rank_in_environment(), 2);
  for (const char* name : {"4294967290", "4294967291"}) {  // salloc's shell; a batch script
    set("SLURM_STEP_ID", name);
    EXPECT_EQ(record::rank_in_environment(), std::nullopt) << name;
  }
  set("SLURM_STEP_ID", "0");
  set("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_EQ(record::rank_in_environment(), 2) << "srun -n 1";
  set("SLURM_PTY_PORT", "1234");
  EXPECT_EQ(record::rank_in_environment(), std::nullopt) << "srun --pty bash";
  // A launcher that was itself started by Slurm knows better.
  set("FLUX_TASK_RANK", "3");
  EXPECT_EQ(record::rank_in_environment(), 3);
  set("OMPI_COMM_WORLD_RANK", "4");
  EXPECT_EQ(record::rank_in_environment(), 4);
}

}  // namespace
}  // namespace mneme::capture
