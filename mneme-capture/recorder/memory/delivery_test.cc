// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/delivery.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "recorder/runtime/fake_runtime.h"

namespace mneme::record {
namespace {

class DeliveryTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kRoom = 4096;

  Piece piece(const char* text) { return {reinterpret_cast<uint64_t>(text), std::strlen(text), 0}; }
  // A duplicate of the parent's memory, as it comes with a message.
  Fd sent() const { return Fd(::dup(memory_.get())); }
  std::string seen(uint64_t at, size_t size) {
    std::string text(size, 0);
    EXPECT_EQ(::pread(memory_.get(), text.data(), size, static_cast<off_t>(at)), static_cast<ssize_t>(size));
    return text;
  }

  FakeRuntime runtime_;
  Delivery delivery_{runtime_};
  Fd memory_ = zeroed_memory_file("test", 2 * kRoom);
};

TEST_F(DeliveryTest, PutsPiecesOneBehindTheOther) {
  delivery_.begin({0, kRoom, 2 * kRoom, {piece("one"), piece("two")}}, sent());
  EXPECT_EQ(seen(0, 6), "onetwo");
  delivery_.begin({kRoom, kRoom, 2 * kRoom, {piece("three")}}, Fd());
  EXPECT_EQ(seen(kRoom, 5), "three");
  EXPECT_EQ(seen(0, 6), "onetwo");
  EXPECT_TRUE(runtime_.adopted.empty()) << "for so little";
}

TEST_F(DeliveryTest, PinsWhatIsUsedInFull) {
  std::string much(kRoom, 'x');
  for (int i = 0; i < 2; ++i) delivery_.begin({kRoom, kRoom, 2 * kRoom, {piece(much.c_str())}}, i ? Fd() : sent());
  EXPECT_EQ(seen(kRoom, kRoom), much);
  EXPECT_EQ(runtime_.adopted, std::vector<uint64_t>{kRoom}) << "once";
  EXPECT_TRUE(runtime_.fetched_to_adopted);
  delivery_.begin({0, kRoom, 2 * kRoom, {piece("one")}}, sent());
  EXPECT_TRUE(runtime_.adopted.empty()) << "other memory has taken its place";
  EXPECT_FALSE(runtime_.fetched_to_adopted) << "kernels cannot reach that";
}

TEST_F(DeliveryTest, PinsAheadWhereNothingIsWantedYet) {
  delivery_.begin({kRoom, kRoom, 2 * kRoom, {}}, sent());
  EXPECT_EQ(runtime_.adopted, std::vector<uint64_t>{kRoom});
  delivery_.finish();
  std::string much(kRoom, 'x');
  delivery_.begin({kRoom, kRoom, 2 * kRoom, {piece(much.c_str())}}, Fd());
  EXPECT_EQ(seen(kRoom, kRoom), much);
  EXPECT_EQ(runtime_.adopted, std::vector<uint64_t>{kRoom}) << "once";
}

TEST_F(DeliveryTest, CopiesToMemoryThatKernelsCouldNotUse) {
  runtime_.sees_host_elsewhere = true;
  std::string much(kRoom, 'x');
  delivery_.begin({kRoom, kRoom, 2 * kRoom, {piece(much.c_str())}}, sent());
  EXPECT_EQ(seen(kRoom, kRoom), much);
  EXPECT_FALSE(runtime_.fetched_to_adopted);
}

TEST_F(DeliveryTest, WaitsForWhatHasBegun) {
  delivery_.begin({0, kRoom, 2 * kRoom, {piece("one")}}, sent());
  delivery_.begin({kRoom, kRoom, 2 * kRoom, {piece("two")}}, Fd());
  EXPECT_EQ(runtime_.awaited, 0u) << "one may be on its way while the next begins";
  delivery_.finish();
  EXPECT_EQ(runtime_.awaited, 1u);
  delivery_.begin({0, kRoom, 2 * kRoom, {piece("three")}}, sent());
  EXPECT_EQ(runtime_.awaited, 2u) << "before the memory goes that it was on its way to";
}

TEST_F(DeliveryTest, RefusesToWriteElsewhere) {
  EXPECT_THROW(delivery_.begin({0, kRoom, 2 * kRoom, {piece("one")}}, Fd()), Error) << "no memory yet";
  EXPECT_THROW(delivery_.begin({2 * kRoom, kRoom, 2 * kRoom, {piece("one")}}, sent()), Error);
  EXPECT_THROW(delivery_.begin({0, 3 * kRoom, 2 * kRoom, {piece("one")}}, Fd()), Error);
  EXPECT_THROW(delivery_.begin({0, 4, 2 * kRoom, {piece("three")}}, Fd()), Error);
  delivery_.leave_to_parent();
  EXPECT_THROW(delivery_.begin({0, kRoom, 2 * kRoom, {piece("one")}}, Fd()), Error);
}

}  // namespace
}  // namespace mneme::record
