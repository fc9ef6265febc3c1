// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/embedded.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"

namespace mneme::objects {
namespace {

std::string record(const std::string& name, const std::string& bitcode) {
  bundle::KernelInfo info;
  info.name = name;
  info.demangled = name + "(float*)";
  info.target = "amdgcn-amd-amdhsa--gfx90a";
  info.argument_bytes = 8;
  info.arguments = {{.offset = 0, .size = 8, .kind = "pointer", .type = "ptr", .padding = {}}};
  info.bitcode = info.id = digest_of(bitcode);
  return write_embedded(bundle::write(info), bytes_of(bitcode));
}

std::vector<EmbeddedKernel> parse(const std::string& section) { return parse_embedded(bytes_of(section), "test"); }

void set_word(std::string& text, size_t offset, uint64_t value) { std::memcpy(text.data() + offset, &value, 8); }

TEST(Embedded, round_trip) {
  std::string section = record("one", "BC\xC0\xDE first") + record("two", "BC\xC0\xDE the second");
  EXPECT_EQ(section.size() % kEmbeddedAlign, 0u);
  auto kernels = parse(section);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].info.name, "one");
  EXPECT_EQ(kernels[1].info.demangled, "two(float*)");
  EXPECT_EQ(text_of(kernels[1].bitcode), "BC\xC0\xDE the second");
  EXPECT_EQ(bundle::write(kernels[0].info), kernels[0].json);
  ASSERT_EQ(kernels[0].info.arguments.size(), 1u);
  EXPECT_EQ(kernels[0].info.arguments[0].kind, "pointer");
}

TEST(Embedded, skips_padding_of_the_linker) {
  EXPECT_TRUE(parse("").empty());
  EXPECT_TRUE(parse(std::string(64, '\0')).empty());
  std::string pad(4096, '\0');
  EXPECT_EQ(parse(pad + record("one", "x") + pad + record("two", "y") + pad).size(), 2u);
}

TEST(Embedded, refuses_what_is_malformed) {
  EXPECT_THROW(parse("garbage"), Error);
  const std::string good = record("one", "bitcode");
  EXPECT_THROW(parse(std::string(1, '\0') + good), Error) << "misaligned";
  std::string other = good;
  other[7] = '2';
  EXPECT_THROW(parse(other), Error) << "another version";
  for (size_t size = 1; size < 24; ++size) EXPECT_THROW(parse(good.substr(0, size)), Error) << size;
  EXPECT_THROW(parse(good.substr(0, good.size() - 16)), Error) << "cut short";
}

TEST(Embedded, refuses_lying_sizes) {
  const std::string good = record("one", "bitcode");
  for (uint64_t lie : {UINT64_MAX, UINT64_MAX - 23, uint64_t{1} << 63, uint64_t{good.size()}}) {
    std::string bad = good;
    set_word(bad, 8, lie);
    EXPECT_THROW(parse(bad), Error) << lie;
    bad = good;
    set_word(bad, 16, lie);
    EXPECT_THROW(parse(bad), Error) << lie;
    set_word(bad, 8, ~lie + 1);  // a sum that wraps around
    EXPECT_THROW(parse(bad), Error) << lie;
  }
}

TEST(Embedded, refuses_damage) {
  std::string bad = record("one", "bitcode");
  bad[bad.rfind("bitcode")] ^= 1;
  EXPECT_THROW(parse(bad), Error) << "a flipped bit in the bitcode";
  bad = record("one", "bitcode");
  bad[24] = '[';
  EXPECT_THROW(parse(bad), Error) << "broken json";
}

}  // namespace
}  // namespace mneme::objects
