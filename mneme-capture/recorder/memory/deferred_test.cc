// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/deferred.h"

#include <gmock/gmock.h>

namespace mneme::record {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void* stream(uintptr_t number) { return reinterpret_cast<void*>(number); }

TEST(Deferred, GivesAPieceAgainToItsStreamOnly) {
  Deferred deferred;
  deferred.add(0x1000, 64, 0, stream(10));
  EXPECT_TRUE(deferred.contains(0x1000));
  EXPECT_FALSE(deferred.reuse(64, 0, stream(11)));
  EXPECT_FALSE(deferred.reuse(32, 0, stream(10)));
  EXPECT_FALSE(deferred.reuse(64, 1, stream(10)));
  EXPECT_EQ(deferred.reuse(64, 0, stream(10)), 0x1000u);
  EXPECT_FALSE(deferred.contains(0x1000));
  EXPECT_EQ(deferred.bytes(), 0u);
}

TEST(Deferred, FreesWhatAStreamIsDoneWith) {
  Deferred deferred;
  deferred.add(0x1000, 64, 0, stream(10));
  deferred.add(0x2000, 64, 0, stream(11));
  deferred.add(0x3000, 64, 0, stream(10));
  EXPECT_THAT(deferred.take(deferred.mark(), stream(10)), ElementsAre(0x1000, 0x3000));
  EXPECT_EQ(deferred.bytes(), 64u);
  EXPECT_THAT(deferred.take(deferred.mark()), ElementsAre(0x2000));
  EXPECT_THAT(deferred.take(deferred.mark()), IsEmpty());
}

TEST(Deferred, KeepsWhatWasReleasedWhileSomebodyWaited) {
  Deferred deferred;
  deferred.add(0x1000, 64, 0, stream(10));
  uint64_t mark = deferred.mark();
  deferred.add(0x2000, 64, 0, stream(10));
  EXPECT_THAT(deferred.take(mark, stream(10)), ElementsAre(0x1000));
  EXPECT_THAT(deferred.take(mark), IsEmpty());
  EXPECT_TRUE(deferred.contains(0x2000));
}

// A new stream may have the handle of one that is no more, and whose work goes on.
TEST(Deferred, KnowsThatAHandleMayStandForAnotherStream) {
  Deferred deferred;
  deferred.add(0x1000, 64, 0, stream(10));
  deferred.forget_stream(stream(10));
  EXPECT_FALSE(deferred.reuse(64, 0, stream(10)));
  EXPECT_THAT(deferred.take(deferred.mark(), stream(10)), IsEmpty());
  EXPECT_THAT(deferred.take(deferred.mark()), ElementsAre(0x1000));
  constexpr uintptr_t kPerThread = 2;
  deferred.add(0x2000, 64, 0, stream(kPerThread));
  EXPECT_FALSE(deferred.reuse(64, 0, stream(kPerThread)));
}

}  // namespace
}  // namespace mneme::record
