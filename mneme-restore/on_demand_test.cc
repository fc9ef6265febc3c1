// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "on_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::restore {
namespace {

bundle::VariantMember variant(const std::string& code, bool baseline) {
  bundle::VariantMember variant;
  variant.info.kernel = digest_of("a kernel");
  variant.info.configuration.passes = "default<O3>";
  variant.info.configuration.target = "host:x86-64";
  variant.info.configuration.baseline = baseline;
  variant.info.id = bundle::variant_id(variant.info.kernel, variant.info.configuration);
  variant.info.code = "code.so";
  variant.info.code_digest = digest_of(code);
  variant.code = code;
  return variant;
}

TEST(OnDemand, ComesBackAsItWas) {
  std::string packed = pack({variant(std::string(100'000, 'x'), true), variant("other", false)});
  EXPECT_LT(packed.size(), 5'000u);
  std::vector<bundle::VariantMember> back = unpack(packed, "it");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].code, std::string(100'000, 'x'));
  EXPECT_TRUE(back[0].info.configuration.baseline);
  EXPECT_EQ(back[1].code, "other");
  EXPECT_EQ(bundle::write(back[1].info), bundle::write(variant("other", false).info));
}

TEST(OnDemand, OfNothingIsNothing) {
  EXPECT_EQ(pack({}), "");
  EXPECT_TRUE(unpack("", "it").empty());
}

TEST(OnDemand, DamageIsNoticed) {
  EXPECT_THROW(unpack("no frame at all", "it"), Error);
  std::string packed = pack({variant("code", true)});
  EXPECT_THROW(unpack(packed.substr(0, packed.size() - 1), "it"), Error);
  bundle::VariantMember lying = variant("code", true);
  lying.code = "other code";
  try {
    unpack(pack({lying}), "it");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("lacks its code"));
  }
}

}  // namespace
}  // namespace mneme::restore
