// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/configuration.h"

#include <gtest/gtest.h>

#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

TEST(Json, AssemblersAreOnesThatAreKnown) {
  std::string head = R"({"target":"cuda:sm_90","passes":"","codegen_opt":3,"form":"","fuse":false,"ir":"",)";
  auto refusal = [&](const std::string& rest) { return fault_of([&] { parse_configuration(head + rest, "a line"); }); };
  EXPECT_EQ(refusal(R"("assembler":"nvjitlink","ptxas_level":0})"), "none");
  EXPECT_NE(refusal(R"("assembler":"as","ptxas_level":0})").find("assembler"), std::string::npos);
  EXPECT_NE(refusal(R"("assembler":"ptxas"})").find("ptxas_level"), std::string::npos);
  EXPECT_NE(refusal(R"("assembler":"ptxas","ptxas_level":4})").find("ptxas_level"), std::string::npos);
  EXPECT_NE(refusal(R"("assembler":"ptxas","ptxas_level":3,"max_registers":256})").find("max_registers"),
            std::string::npos);
}

// What a line of --variants says; the rest stays.
TEST(Json, ConfigurationInPart) {
  Configuration defaults{"host:x86-64-v3", "default<O3>", 3, "auto", true, kThree};
  Configuration changed = defaults;
  std::set<std::string> given =
      override_configuration(R"({"passes":"default<O1>","codegen_opt":1, "fuse":false})", "a line", changed);
  EXPECT_EQ(given, (std::set<std::string>{"passes", "codegen_opt", "fuse"}));
  EXPECT_EQ(changed.passes, "default<O1>");
  EXPECT_EQ(changed.codegen_opt, 1);
  EXPECT_FALSE(changed.fuse);
  EXPECT_EQ(changed.target, "host:x86-64-v3");
  EXPECT_EQ(changed.ir, kThree);
  EXPECT_TRUE(override_configuration("{}", "a line", changed).empty());

  // All of a configuration is a part of one.
  Configuration whole{"cuda:sm_90", "default<Os>", 0, "auto", false, {}, true, false, "ptxas", 1, 32}, back;
  EXPECT_EQ(override_configuration(write(whole), "a line", back).size(), 10u);
  EXPECT_EQ(write(back), write(whole));
  override_configuration(R"({"assembler":"none"})", "a line", back);
  EXPECT_EQ(back.assembler, "none");
}

// What is not set is not there, so that variants are called what they were before there were these keys.
TEST(Json, ConfigurationWithAllThatMayBeSet) {
  Configuration plain{"host:x86-64-v3", "default<O3>", 3, "auto", false, {}};
  EXPECT_EQ(write(plain),
            R"({"target":"host:x86-64-v3","passes":"default<O3>","codegen_opt":3,"form":"auto","fuse":false,"ir":""})");
  EXPECT_EQ(variant_id(kOne, plain).hex(), "455c7a79adb1909528dec2087705e8fe");

  const std::string line =
      R"({"cpu":"znver4","features":"+avx2","code_object":4,"max_threads":64,"min_blocks":2,"unroll_threshold":0,)"
      R"("inline_threshold":7,"fast_math":"nsz","attributes":"cold","plugins":"a","grid":[4,2,1],"block":[32,1,1],)"
      R"("shared_mem":0,"specialize_args":"all","specialize_dims":true,"instance":")" +
      kTwo.hex() + R"(","warmup":0,"iterations":5,"opt_bisect":0})";
  Configuration all = plain;
  EXPECT_EQ(override_configuration(line, "a line", all).size(), 19u);
  EXPECT_EQ(all.grid, (Dim3{4, 2, 1}));
  EXPECT_EQ(all.shared_mem, 0u);
  std::string written = write(all);
  EXPECT_EQ(written, write(plain).substr(0, write(plain).size() - 1) + "," + line.substr(1));
  EXPECT_EQ(write(parse_configuration(written, "a line")), written);
  EXPECT_NE(variant_id(kOne, all), variant_id(kOne, plain));

  // As if nobody had said anything.
  std::string none = "{";
  for (const char* key :
       {"grid", "block", "shared_mem", "unroll_threshold", "inline_threshold", "warmup", "iterations", "code_object",
        "max_threads", "min_blocks", "specialize_dims", "instance", "cpu", "opt_bisect"}) {
    none += '"' + std::string(key) + "\":null,";
  }
  none += R"("features":"","fast_math":"","attributes":"","plugins":"","specialize_args":""})";
  override_configuration(none, "a line", all);
  EXPECT_EQ(write(all), write(plain));
}

TEST(Json, ConfigurationThatCannotBe) {
  auto fault = [](const std::string& text) {
    Configuration configuration;
    return fault_of([&] { override_configuration(text, "line 3", configuration); });
  };
  EXPECT_EQ(fault(R"({"passes":"de\u0000fault<O3>"})"), "line 3: 'passes' has a null character in it");
  EXPECT_EQ(fault(R"({"pases":"default<O3>"})"),
            "line 3: no configuration has the key 'pases'; there are target, passes, codegen_opt, form, fuse, ir, "
            "check_memory, baseline, assembler, ptxas_level, max_registers, cpu, features, code_object, max_threads, "
            "min_blocks, unroll_threshold, inline_threshold, fast_math, attributes, plugins, grid, block, shared_mem, "
            "specialize_args, specialize_dims, instance, warmup, iterations, contract, code, checks, opt_bisect, "
            "llvm, algebra");
  EXPECT_EQ(fault(R"({"fuse":true,"fuse":true})"), "line 3: 'fuse' is there twice");
  EXPECT_EQ(fault(R"({"fuse":1})"), "line 3: 'fuse' is not true or false");
  EXPECT_EQ(fault(R"({"codegen_opt":4})"), "line 3: 'codegen_opt' is 4, more than 3");
  EXPECT_EQ(fault(R"({"opt_bisect":2147483648})"), "line 3: 'opt_bisect' is 2147483648, more than 2147483647");
  EXPECT_EQ(fault(R"({"codegen_opt":-1})"), "line 3: 'codegen_opt' is not a whole number of 0 or more");
  EXPECT_EQ(fault(R"({"passes":["default<O3>"]})"), "line 3: 'passes' is not a text");
  EXPECT_EQ(fault(R"({"form":"lop"})"),
            "line 3: 'form' is 'lop', which this version does not know: it may be auto, loop, fiber");
  EXPECT_EQ(fault(R"({"assembler":"as"})"),
            "line 3: 'assembler' is 'as', which this version does not know: it may be auto, ptxas, nvjitlink, none");
  EXPECT_EQ(fault(R"({"grid":[1,2]})"), "line 3: 'grid' does not have three dimensions, such as [16,16,1]");
  EXPECT_EQ(fault(R"({"grid":[1,0,1]})"), "line 3: 'grid' has a dimension of 0");
  EXPECT_EQ(fault(R"({"block":[32,32,2]})"), "line 3: 'block' is more than any device can launch");
  EXPECT_EQ(fault(R"({"max_threads":1025})"), "line 3: 'max_threads' is 1025, more than 1024");
  EXPECT_EQ(fault(R"({"code_object":7})"), "line 3: 'code_object' is 7, more than 6");
  EXPECT_EQ(fault(R"({"target":null})"), "line 3: 'target' is not a text");
  EXPECT_EQ(fault(R"({"max_registers":256})"), "line 3: 'max_registers' is 256, more than 255");
  EXPECT_EQ(fault("[]"), "line 3 is not a json object");
  EXPECT_NE(fault("{").find("line 3 is not valid json"), std::string::npos);
}

TEST(Json, KeysThatAreNotKnownAreIgnored) {
  EXPECT_EQ(parse_configuration(R"({"new":[1,{"a":null}],"target":"host","passes":"default<O1>","codegen_opt":1,)"
                                R"("form":"auto","fuse":false,"ir":"","more":-1.5})",
                                "a line")
                .passes,
            "default<O1>");
}

}  // namespace
}  // namespace mneme::bundle
