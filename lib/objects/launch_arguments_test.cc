// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/launch_arguments.h"

#include <gtest/gtest.h>

namespace mneme::objects {
namespace {

constexpr uintptr_t kEnd = 3;

struct Arguments : testing::Test {
  bundle::KernelInfo kernel;
  std::string packed = "abcd----ABCDEFGH";
  std::string out = std::string(16, '?');

  void SetUp() override {
    kernel.argument_bytes = 16;
    kernel.arguments = {{0, 4, "scalar", "i32", {}}, {8, 8, "struct", "pair", {{2, 3}}}};
  }
  Gathered gather(const LaunchArguments& arguments) {
    return gather_arguments(kernel, arguments, std::as_writable_bytes(std::span(out)));
  }
  static void* key(uintptr_t number) { return reinterpret_cast<void*>(number); }
};

TEST_F(Arguments, OfAList) {
  std::string first = "1234", second = "12345678";
  void* list[] = {first.data(), second.data()};
  EXPECT_EQ(gather(arguments_of(list, nullptr, kEnd)), Gathered::kAll);
  EXPECT_EQ(out, std::string("1234????12\0\0\0", 13) + "678") << "padding is zeros";
  EXPECT_EQ(argument_list(kernel.arguments, {list, {}}), (std::vector<void*>{list[0], list[1]}));
  list[1] = nullptr;
  EXPECT_EQ(gather({list, {}}), Gathered::kWithoutValues);
}

TEST_F(Arguments, OfABuffer) {
  size_t size = packed.size();
  void* extra[] = {key(kParameterSize), &size, key(kParameterBuffer), packed.data(), key(kEnd)};
  EXPECT_EQ(gather(arguments_of(nullptr, extra, kEnd)), Gathered::kAll);
  EXPECT_EQ(out, std::string("abcd????AB\0\0\0FGH", 16));
  EXPECT_EQ(argument_list(kernel.arguments, arguments_of(nullptr, extra, kEnd)),
            (std::vector<void*>{packed.data(), packed.data() + 8}));
  size = 15;
  EXPECT_EQ(gather(arguments_of(nullptr, extra, kEnd)), Gathered::kWithoutValues);
  EXPECT_FALSE(argument_list(kernel.arguments, arguments_of(nullptr, extra, kEnd)));
  extra[0] = key(77);
  size = packed.size();
  EXPECT_EQ(gather(arguments_of(nullptr, extra, kEnd)), Gathered::kWithoutValues) << "a key that there is not";
}

TEST_F(Arguments, OfALayoutThatIsBroken) {
  kernel.arguments[1].size = 9;
  EXPECT_EQ(gather({nullptr, bytes_of(packed)}), Gathered::kBrokenLayout);
  SetUp();
  kernel.arguments[1].padding = {{2, 7}};
  EXPECT_EQ(gather({nullptr, bytes_of(packed)}), Gathered::kBrokenLayout);
}

}  // namespace
}  // namespace mneme::objects
