// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/pool_use.h"

#include <gtest/gtest.h>

namespace mneme::record {
namespace {

int first_pool, second_pool;

TEST(PoolUse, SumsUpByPool) {
  PoolUse use;
  use.add(&first_pool, 0x1000, 100);
  use.add(&first_pool, 0x2000, 20);
  use.add(&second_pool, 0x3000, 3);
  use.remove(0x1000);
  use.remove(0x1000);
  use.remove(0x9000);
  EXPECT_EQ(use.of(&first_pool).now, 20u);
  EXPECT_EQ(use.of(&first_pool).most, 120u);
  EXPECT_EQ(use.of(&second_pool).now, 3u);
  use.forget_most(&first_pool);
  EXPECT_EQ(use.of(&first_pool).most, 20u);
}

TEST(PoolUse, APoolThatIsDestroyedLeavesNothing) {
  PoolUse use;
  use.set_device(&first_pool, 2);
  use.add(&first_pool, 0x1000, 100);
  EXPECT_EQ(use.device_of(&first_pool), 2);
  use.destroyed(&first_pool);
  EXPECT_EQ(use.device_of(&first_pool), std::nullopt);
  use.add(&first_pool, 0x2000, 5);  // another one, at the same place
  use.remove(0x1000);
  EXPECT_EQ(use.of(&first_pool).now, 5u);
}

}  // namespace
}  // namespace mneme::record
