// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an instance leaves does not reach another: bundles made by hand, through mneme-run as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "bundle/reader.h"
#include "replay/testing/recording.h"

namespace mneme::run {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// One run, and what its blocks held where they differed.
struct Replayed {
  bundle::RunInfo run;
  std::string bytes;
  uint32_t word(size_t index) const {
    uint32_t word = 0;
    bytes.copy(reinterpret_cast<char*>(&word), sizeof word, kWordsAddress % bundle::kBlockSize + index * sizeof word);
    return word;
  }
};

struct Instance {
  uint32_t words = 0, seed = 0;
  Words variants;  // of its kernel
  std::string kernel = "add_one";
  bool blank = false;
};

// By the instance's seed and by what the variant was made of.
using Results = std::map<std::pair<uint32_t, std::string>, Replayed>;
Results replay(const std::vector<Instance>& instances, const Words& options = {}) {
  Recording recording;
  std::map<Digest, uint32_t> seeds;
  std::map<Digest, std::string> names;
  std::set<std::pair<std::string, std::string>> added;
  for (const Instance& instance : instances) {
    for (const std::string& variant : instance.variants) {
      if (!added.emplace(instance.kernel, variant).second) continue;
      names[recording.add_variant(variant, instance.kernel)] = variant;
    }
    seeds[recording.add_instance(instance.words, instance.seed, {.blank = instance.blank}, instance.kernel)] =
        instance.seed;
  }
  Words words{MNEME_RUN, "--warmup", "0", "--iterations", "1"};
  words.insert(words.end(), options.begin(), options.end());
  Ended ended = run_program(words, recording.finish());
  EXPECT_EQ(ended.status, 0) << ended.errors;
  Fd file = memory_file("bundle", bytes_of(ended.output));
  bundle::Reader reader(file.get(), "the output", bundle::Memory::kDecode);
  Results results;
  while (auto item = reader.next()) {
    auto* run = std::get_if<bundle::RunMember>(&*item);
    if (!run) continue;
    Replayed& replayed = results[{seeds.at(run->info.instance), names.at(run->info.variant)}];
    replayed.run = run->info;
    replayed.run.nanoseconds.clear();
    for (const bundle::BlockDifference& block : run->info.blocks) {
      replayed.bytes += text_of(reader.block(block.actual));
    }
  }
  return results;
}

std::string json_of(const Replayed& replayed) { return bundle::write(replayed.run); }

void expect_alike(const Results& some, const Results& all) {
  for (const auto& [which, replayed] : some) {
    const Replayed& other = all.at(which);
    EXPECT_EQ(replayed.bytes == other.bytes, true) << which.first << " " << which.second;
    EXPECT_EQ(replayed.run.reason, other.run.reason);
    EXPECT_EQ(replayed.run.status, other.run.status);
    if (replayed.run.status == "completed") {
      EXPECT_EQ(json_of(replayed), json_of(other));
    }
  }
}

TEST(Isolation, AnInstanceFindsNothingOfThoseBefore) {
  std::vector<Instance> instances;
  for (uint32_t seed = 1; seed <= 6; seed++) {
    instances.push_back({3000 + 1000 * (seed % 3), seed, {"traces"}, seed % 2 ? "add_one" : "other"});
  }
  Results all = replay(instances);
  ASSERT_EQ(all.size(), 6u);
  for (const auto& [which, replayed] : all) {
    EXPECT_EQ(replayed.run.status, "completed");
    ASSERT_FALSE(replayed.bytes.empty());
    std::vector<uint32_t> found;
    for (size_t i = 0; i < 9; i++) found.push_back(replayed.word(i));
    EXPECT_EQ(found, (std::vector<uint32_t>{0, 0, 0, 0, 0, 0, 0, UINT32_MAX, 0})) << which.first;
  }
  std::ranges::reverse(instances);
  expect_alike(all, replay(instances));
  for (const Instance& instance : instances) expect_alike(replay({instance}), all);
}

TEST(Isolation, WhatAKernelLeavesRunningEndsWithItsInstance) {
  // A thread of the first's writes to memory that the others have, too.
  ::setenv("MNEME_TEST_SPOIL", "1", 1);
  Results results = replay({{3000, 1, {"traces"}, "other"}, {3000, 2, {"right"}}, {3000, 3, {"right"}}});
  ::unsetenv("MNEME_TEST_SPOIL");
  for (uint32_t seed : {2, 3}) EXPECT_THAT(results.at({seed, "right"}).run.differences, IsEmpty());
}

TEST(Isolation, NoMemoryOfAnInstanceBeforeIsThere) {
  for (bool large_first : {true, false}) {
    std::vector<Instance> instances{{200'000, 1, {"reaches"}}, {10'000, 2, {"reaches"}}, {200'000, 3, {"reaches"}}};
    if (!large_first) std::swap(instances[0], instances[1]);
    Results results = replay(instances);
    for (uint32_t seed : {1, 3}) {
      EXPECT_EQ(results.at({seed, "reaches"}).run.status, "completed");
      EXPECT_THAT(results.at({seed, "reaches"}).run.differences, IsEmpty());
    }
    EXPECT_EQ(results.at({2, "reaches"}).run.status, "failed");
    EXPECT_THAT(results.at({2, "reaches"}).run.reason, HasSubstr("where it has no memory"));
  }
}

TEST(Isolation, MemoryOfAllSizesIsRestored) {
  // Alike, apart, larger and smaller; with huge pages in it, and without.
  std::vector<Instance> instances;
  for (uint32_t words : {3000, 3000, 700'000, 3000, 1'100'000, 50'000, 9'000'000, 50'000, 3'000'000}) {
    instances.push_back({words, static_cast<uint32_t>(instances.size()), {"right", "wrong_byte"}});
  }
  Results results = replay(instances);
  for (uint32_t seed = 0; seed < instances.size(); seed++) {
    EXPECT_THAT(results.at({seed, "right"}).run.differences, IsEmpty()) << seed;
    ASSERT_EQ(results.at({seed, "wrong_byte"}).run.differences.size(), 1u) << seed;
    EXPECT_EQ(results.at({seed, "wrong_byte"}).run.differences[0].bytes, 1u) << seed;
  }
}

TEST(Isolation, ZerosAreRestoredToo) {
  std::vector<Instance> instances;
  for (uint32_t seed = 0; seed < 6; seed++)
    instances.push_back({50'000 + seed, seed, {"right"}, "add_one", seed % 2 == 1});
  for (const auto& [which, replayed] : replay(instances)) {
    EXPECT_THAT(replayed.run.differences, IsEmpty()) << which.first;
  }
}

TEST(Isolation, WhatMnemeRunSendsIsOutOfAKernelsReach) {
  // Their first blocks are the same.
  Results results = replay({{50'000, 1, {"overwrites"}, "other"}, {50'001, 1, {"right"}}});
  for (const char* variant : {"overwrites", "right"}) {
    EXPECT_EQ(results.at({1, variant}).run.status, "completed");
    EXPECT_THAT(results.at({1, variant}).run.differences, IsEmpty());
  }
}

TEST(Isolation, NoProcessOutlivesAnInstance) {
  for (const auto& [which, replayed] : replay({{3000, 1, {"forks"}}, {3000, 2, {"forks"}}})) {
    EXPECT_EQ(replayed.run.status, "completed");
    EXPECT_THAT(replayed.run.differences, IsEmpty());
  }
}

TEST(Isolation, OneProcessServesAllInstancesEachByAChild) {
  Results results = replay({{3000, 1, {"pids"}}, {3000, 2, {"pids"}}, {3000, 3, {"pids"}}});
  const uint32_t parent = results.at({1, "pids"}).word(1);
  EXPECT_EQ(results.at({2, "pids"}).word(1), parent);
  EXPECT_EQ(results.at({3, "pids"}).word(1), parent);
  EXPECT_NE(results.at({1, "pids"}).word(0), parent);
  EXPECT_NE(results.at({1, "pids"}).word(0), results.at({2, "pids"}).word(0));
}

TEST(Isolation, FaultsDoNotEndTheProcessThatServesTheOthers) {
  const Words variants{"pids", "killed", "wild", "exits", "endless", "liar", "right"};
  Results results = replay({{3000, 1, variants}, {3000, 2, variants}}, {"--timeout", "1"});
  EXPECT_EQ(results.at({1, "pids"}).word(1), results.at({2, "pids"}).word(1));
  for (uint32_t seed : {1, 2}) {
    EXPECT_THAT(results.at({seed, "right"}).run.differences, IsEmpty());
    EXPECT_EQ(results.at({seed, "right"}).run.status, "completed");
    EXPECT_THAT(results.at({seed, "killed"}).run.reason, HasSubstr("was killed by SIGKILL"));
    EXPECT_THAT(results.at({seed, "exits"}).run.reason, HasSubstr("exited with status 0"));
    EXPECT_THAT(results.at({seed, "endless"}).run.reason, HasSubstr("did not end within 1 seconds"));
    EXPECT_THAT(results.at({seed, "wild"}).run.reason, HasSubstr("where it has no memory"));
    EXPECT_EQ(results.at({seed, "liar"}).run.status, "failed");
  }
}

TEST(Isolation, ThatProcessIsOutOfAKernelsReach) {
  const Words variants{"kills_parent", "right"};
  for (const auto& [which, replayed] : replay({{3000, 1, variants}, {3000, 2, variants}}, {"--timeout", "5"})) {
    EXPECT_EQ(replayed.run.status, "completed");
    EXPECT_THAT(replayed.run.differences, IsEmpty()) << which.first << " " << which.second;
  }
}

}  // namespace
}  // namespace mneme::run
