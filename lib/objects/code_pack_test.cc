// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/code_pack.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "objects/embedded.h"

namespace mneme::objects {
namespace {

TEST(CodePack, HasCodeByName) {
  const std::string pack = pack_code({{"one", "first code"}, {"other", ""}, {"third", "the third's"}});
  EXPECT_EQ(text_of(packed_code(bytes_of(pack), "one")), "first code");
  EXPECT_EQ(text_of(packed_code(bytes_of(pack), "other")), "");
  EXPECT_EQ(text_of(packed_code(bytes_of(pack), "third")), "the third's");
  EXPECT_THROW(packed_code(bytes_of(pack), "th"), Error);
}

TEST(CodePack, BundlesProcessors) {
  const std::string older = pack_code({{"one", "gfx900's"}, {"other", std::string(5000, 'o')}});
  const std::string newer = pack_code({{"one", "gfx1100's"}, {"other", std::string(4096, 'n')}});
  const std::string pack = unpacked(bytes_of(bundle_packs({{"gfx900", older}, {"gfx1100", newer}})));
  for (auto [kernel, first, second] : {std::tuple("one", std::string("gfx1100's"), std::string("gfx900's")),
                                       std::tuple("other", std::string(4096, 'n'), std::string(5000, 'o'))}) {
    const Bytes bundle = packed_code(bytes_of(pack), kernel);
    const std::vector<DeviceCode> code = device_code_of_fatbin(bundle.data(), bundle.size(), "test");
    ASSERT_EQ(code.size(), 2u) << kernel;
    EXPECT_EQ(code[0].target, "hipv4-amdgcn-amd-amdhsa--gfx1100");
    EXPECT_EQ(text_of(code[0].image), first);
    EXPECT_EQ(code[1].target, "hipv4-amdgcn-amd-amdhsa--gfx900");
    EXPECT_EQ(text_of(code[1].image), second);
    for (const DeviceCode& one : code) EXPECT_EQ((one.image.data() - bundle.data()) % 4096, 0);
  }
}

TEST(CodePack, BundlesTheSameKernels) {
  EXPECT_THROW(bundle_packs({{"gfx900", pack_code({{"one", "a"}})}, {"gfx906", pack_code({{"other", "b"}})}}), Error);
}

}  // namespace
}  // namespace mneme::objects
