// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "bundle/testing/bad_bundle.h"
#include "bundle/testing/reading.h"

namespace mneme::bundle {
namespace {

// Offsets in the archive at which an instance's json is there in full.
std::vector<size_t> instance_ends(const std::string& bytes) {
  std::vector<size_t> ends;
  size_t at = 0;
  for (const TarMember& member : members_of(bytes)) {
    if (member.name.starts_with("instances/")) ends.push_back(at + 512 + member.contents.size());
    at += 512 + (member.contents.size() + 511) / 512 * 512;
  }
  return ends;
}

size_t count_until(const std::vector<size_t>& ends, size_t cut) {
  return static_cast<size_t>(std::count_if(ends.begin(), ends.end(), [&](size_t end) { return end <= cut; }));
}

class Truncation : public testing::TestWithParam<std::string> {};

TEST_P(Truncation, AtEveryByteLeavesTheInstancesBefore) {
  std::string bytes = sample_bundle({1, 2, 3000, false, GetParam()});
  std::vector<size_t> ends = instance_ends(bytes);
  ASSERT_EQ(ends.size(), 2u);
  size_t first_member = members_of(bytes)[0].contents.size() + 512;
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    // Headers, index and json are tried everywhere, long runs of contents only now and then.
    if (GetParam() == "raw" && cut % 512 > 2 && cut % 512 < 510 && cut % 31 != 0) continue;
    std::string part = bytes.substr(0, cut);
    if (cut < first_member) {
      EXPECT_THROW(read_bundle(part, Memory::kDecode), Error) << cut;
      continue;
    }
    Contents contents = read_bundle(part, cut % 2 ? Memory::kDecode : Memory::kPass);
    ASSERT_TRUE(contents.truncated) << cut;
    ASSERT_FALSE(contents.truncation.empty()) << cut;
    ASSERT_EQ(contents.instances.size(), count_until(ends, cut)) << cut;
  }
  EXPECT_FALSE(read_bundle(bytes, Memory::kDecode).truncated);
}

TEST_P(Truncation, CopiesOfAPartAreSound) {
  std::string bytes = sample_bundle({2, 2, 3 * kBlockSize, true, GetParam()});
  std::vector<size_t> ends = instance_ends(bytes);
  for (size_t cut = 4096; cut < bytes.size(); cut += 4099) {
    for (Memory memory : {Memory::kPass, Memory::kDecode}) {
      Contents contents = read_bundle(copy_of(bytes.substr(0, cut), memory), Memory::kDecode);
      ASSERT_FALSE(contents.truncated) << cut;
      ASSERT_EQ(contents.instances.size(), count_until(ends, cut)) << cut;
    }
  }
}

TEST(TruncationOfCode, AtEveryByteLeavesASoundArchive) {
  std::string bytes = sample_bundle({2, 1, 500, false, "packs", 0, false, false});
  std::vector<size_t> ends = instance_ends(bytes);
  for (size_t cut = members_of(bytes)[0].contents.size() + 512; cut < bytes.size(); ++cut) {
    Contents contents = read_bundle(copy_of(bytes.substr(0, cut), Memory::kPass), Memory::kDecode);
    ASSERT_FALSE(contents.truncated) << cut;
    ASSERT_EQ(contents.instances.size(), count_until(ends, cut)) << cut;
  }
}

TEST(TruncationOfChoices, AtEveryByteLeavesThoseBefore) {
  std::string bytes = sample_bundle({1, 2, 500, true, "packs", 0, false, true, true});
  const size_t all = read_bundle(bytes, Memory::kPass).choices.size();
  ASSERT_EQ(all, 2u);
  for (size_t cut = members_of(bytes)[0].contents.size() + 512; cut < bytes.size(); ++cut) {
    Contents contents = read_bundle(copy_of(bytes.substr(0, cut), Memory::kPass), Memory::kDecode);
    ASSERT_FALSE(contents.truncated) << cut;
    ASSERT_LE(contents.choices.size(), contents.runs.size()) << cut;
  }
}

// Too large to be held back: what was cut is filled up, and no instance cites it.
TEST(TruncationOfLargeMembers, LeavesASoundArchive) {
  std::string bytes = sample_bundle({1, 2, 80 << 20, false, "raw"});
  std::vector<size_t> ends = instance_ends(bytes);
  size_t cut = bytes.size() - (60 << 20);
  std::string copy = copy_of(bytes.substr(0, cut), Memory::kPass);
  Contents contents = read_bundle(copy, Memory::kDecode);
  EXPECT_FALSE(contents.truncated);
  EXPECT_EQ(contents.instances.size(), count_until(ends, cut));
}

INSTANTIATE_TEST_SUITE_P(Memory, Truncation, testing::Values("packs", "raw"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mneme::bundle
