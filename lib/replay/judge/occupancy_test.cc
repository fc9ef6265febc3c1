// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/occupancy.h"

#include <gtest/gtest.h>

namespace mneme::verify {
namespace {

std::optional<uint32_t> resident(const std::string& target, uint32_t threads, uint32_t registers, uint64_t fixed,
                                 uint32_t dynamic = 0) {
  bundle::VariantInfo variant;
  variant.configuration.target = target;
  variant.resources = bundle::Resources{.registers = registers, .shared = fixed, .constants = {}};
  bundle::InstanceInfo instance;
  instance.grid = {1000, 1, 1};
  instance.block = {threads, 1, 1};
  instance.shared_bytes = dynamic;
  return occupancy(variant, instance);
}

TEST(Occupancy, IsWhatCudasCalculatorSays) {
  EXPECT_EQ(resident("sm_90", 256, 32, 0), 64u);
  EXPECT_EQ(resident("sm_90", 256, 40, 0), 48u) << "registers: 6 blocks of 8 warps";
  EXPECT_EQ(resident("sm_90", 32, 16, 0), 32u) << "32 blocks of one warp";
  EXPECT_EQ(resident("sm_90", 1024, 64, 0), 32u);
  EXPECT_EQ(resident("sm_90", 1024, 65, 0), std::nullopt) << "too many registers for the block";
  EXPECT_EQ(resident("sm_90a", 128, 32, 48 << 10), 16u) << "four blocks of 49 KiB in 228";
  EXPECT_EQ(resident("cuda:sm_90", 128, 32, 16 << 10, 32 << 10), 16u);
  EXPECT_EQ(resident("sm_89", 128, 168, 0), 12u);
  EXPECT_EQ(resident("sm_75", 256, 32, 0), 32u);
  EXPECT_EQ(resident("sm_70", 100, 32, 0), 64u);
}

TEST(Occupancy, IsNotGuessed) {
  EXPECT_EQ(resident("sm_999", 256, 32, 0), std::nullopt);
  EXPECT_EQ(resident("host:x86-64-v3", 256, 32, 0), std::nullopt);
  bundle::VariantInfo variant;
  EXPECT_EQ(occupancy(variant, {}), std::nullopt) << "without resources";
  variant.resources = bundle::Resources{};
  variant.resources->amd = bundle::AmdResources{.occupancy = 8};
  EXPECT_EQ(occupancy(variant, {}), 8u) << "as the code object says";
}

}  // namespace
}  // namespace mneme::verify
