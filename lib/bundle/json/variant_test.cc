// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/format.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

TEST(Json, OnlyCheckedVariantsSaySo) {
  Configuration configuration{"host:x86-64-v3", "default<O3>", 2, "loop", true, kThree, false};
  EXPECT_EQ(write(configuration).find("check_memory"), std::string::npos);
  Digest unchecked = variant_id(kOne, configuration);
  configuration.check_memory = true;
  EXPECT_NE(variant_id(kOne, configuration), unchecked);
  EXPECT_TRUE(parse_configuration(write(configuration), "a line").check_memory);

  EXPECT_EQ(write(configuration).find("algebra"), std::string::npos);
  configuration.algebra = true;
  EXPECT_TRUE(parse_configuration(write(configuration), "a line").algebra);
  EXPECT_THROW(
      parse_configuration(R"({"target":"host","passes":"p","codegen_opt":1,"form":"auto","fuse":false,"ir":"",)"
                          R"("algebra":1})",
                          "a line"),
      Error);
  EXPECT_EQ(write(configuration).find("baseline"), std::string::npos);
  configuration.baseline = true;
  EXPECT_TRUE(parse_configuration(write(configuration), "a line").baseline);
}

TEST(Json, AssembledVariantsSayByWhat) {
  VariantInfo variant{kTwo, kOne, {"cuda:sm_90", "default<O3>", 3, "auto", false, {}}, "code.ptx", kThree, "", {}};
  std::string plain = write(variant);
  for (const char* key : {"assemble", "ptxas_level", "max_registers", "resources"}) {
    EXPECT_EQ(plain.find(key), std::string::npos) << key;
  }
  variant.configuration.assembler = "ptxas";
  variant.configuration.ptxas_level = 1;
  variant.configuration.max_registers = 32;
  variant.code = "code.cubin";
  variant.assembled_by = "ptxas 13.0.88";
  variant.resources = Resources{46, 440, 16, 24, 256, {{0, 548}, {3, 64}}};
  std::string text = write(variant);
  EXPECT_NE(text.find(R"("ir":"","assembler":"ptxas","ptxas_level":1,"max_registers":32})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("assembled_by":"ptxas 13.0.88","resources":{"registers":46,"stack":440,"spill_stores":16,)"
                      R"("spill_loads":24,"shared":256,"constants":[{"bank":0,"bytes":548},{"bank":3,"bytes":64}]})"),
            std::string::npos)
      << text;
  VariantInfo back = parse_variant(text, "variant.json");
  EXPECT_EQ(write(back), text);
  EXPECT_EQ(back.resources, variant.resources);
  VariantInfo wrong = variant;
  wrong.resources->registers = 256;
  EXPECT_THROW(parse_variant(write(wrong), "variant.json"), Error);
  wrong = variant;
  wrong.resources->constants = {{32, 8}};
  EXPECT_THROW(parse_variant(write(wrong), "variant.json"), Error);
  VariantInfo amd = variant;
  amd.resources = Resources{512, 64, 0, 0, 8192, {}, AmdResources{100, 256, 17, 3, 64, 1}};
  text = write(amd);
  EXPECT_NE(text.find(R"("registers":512,"stack":64,"spill_stores":0,"spill_loads":0,"shared":8192,"constants":[],)"
                      R"("amd":{"scalar_registers":100,"accumulation_registers":256,"spilled_registers":17,)"
                      R"("spilled_scalar_registers":3,"wave_size":64,"occupancy":1}})"),
            std::string::npos)
      << text;
  EXPECT_EQ(parse_variant(text, "variant.json").resources, amd.resources);
  amd.resources->registers = 513;
  EXPECT_THROW(parse_variant(write(amd), "variant.json"), Error);
  Configuration other = variant.configuration;
  other.ptxas_level = 3;
  EXPECT_NE(variant_id(kOne, other), variant_id(kOne, variant.configuration));
  other = variant.configuration;
  other.assembler = "nvjitlink";
  EXPECT_NE(variant_id(kOne, other), variant_id(kOne, variant.configuration));
}

TEST(Json, VariantsWithoutCodeSayWhy) {
  VariantInfo variant{kTwo,   kOne, {"host:x86-64-v3", "default<O3>", 3, "auto", false, {}}, "code.so", kThree,
                      "loop", {}};
  EXPECT_EQ(write(variant).find("same_as"), std::string::npos);
  EXPECT_EQ(write(variant).find("failed"), std::string::npos);
  EXPECT_TRUE(variant.has_code_member());
  variant.same_as = digest_of("another");
  VariantInfo back = parse_variant(write(variant), "variant.json");
  EXPECT_EQ(write(back), write(variant));
  EXPECT_EQ(back.same_as, variant.same_as);
  EXPECT_EQ(back.code_digest, kThree);
  EXPECT_FALSE(back.has_code_member());

  VariantInfo failed;
  failed.id = kTwo;
  failed.kernel = kOne;
  failed.configuration = variant.configuration;
  failed.failed = "it cannot be";
  std::string text = write(failed);
  EXPECT_TRUE(text.find(R"(,"failed":"it cannot be","digest":)") != std::string::npos) << text;
  for (const char* key : {"\"code\"", "\"form\":\"\"", "same_as"}) EXPECT_EQ(text.find(key), std::string::npos) << key;
  back = parse_variant(text, "variant.json");
  EXPECT_EQ(write(back), text);
  EXPECT_FALSE(back.has_code_member());
  std::string no_reason = text;
  no_reason.replace(no_reason.find("it cannot be"), 12, "");
  EXPECT_EQ(fault_of([&] { parse_variant(resealed(no_reason), "variant.json"); }),
            "variant.json: 'failed' gives no reason");
}

}  // namespace
}  // namespace mneme::bundle
