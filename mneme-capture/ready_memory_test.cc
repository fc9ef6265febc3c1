// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ready_memory.h"

#include <gtest/gtest.h>

#include <chrono>

namespace mneme::capture {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class ReadyMemoryTest : public testing::Test {
 protected:
  // Until there is so much: what goes on in the background takes its time.
  void await(uint64_t bytes) {
    while (pool_->bytes() < bytes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::shared_ptr<bundle::BlockPool> pool_ = std::make_shared<bundle::BlockPool>(UINT64_MAX);
};

TEST_F(ReadyMemoryTest, IsThereBeforeItIsTaken) {
  ReadyMemory ready(pool_, UINT64_MAX);
  ready.want(48 * kMiB);
  ready.want(48 * kMiB);
  await((96 + 6) * kMiB);
  ready.want(32 * kMiB);
  await((128 + 8) * kMiB);
}

TEST_F(ReadyMemoryTest, IsLittleMoreThanTheMost) {
  {
    ReadyMemory ready(pool_, 64 * kMiB);
    ready.want(1 << 30);
    await(64 * kMiB);
  }
  EXPECT_LT(pool_->bytes(), 128 * kMiB) << "each thread may get a page that another one got as well";
}

TEST_F(ReadyMemoryTest, IsNotMadeForLittle) {
  {
    ReadyMemory ready(pool_, UINT64_MAX);
    ready.want(60 * kMiB);
    ready.want_less(50 * kMiB);
    ready.want(50 * kMiB);
  }
  EXPECT_EQ(pool_->bytes(), 0u);
}

TEST_F(ReadyMemoryTest, IsMadeNoMoreOnceThereIsEnough) {
  ReadyMemory ready(pool_, UINT64_MAX);
  ready.enough();
  ready.want(1 << 30);
  EXPECT_EQ(pool_->bytes(), 0u);
}

}  // namespace
}  // namespace mneme::capture
