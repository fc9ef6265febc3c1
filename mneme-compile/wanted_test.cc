// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wanted.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "codegen/host/host.h"

namespace mneme::compile {
namespace {

using testing::HasSubstr;

// As the command line's options have them when none is given.
Asked no_options() {
  Asked asked;
  asked.configuration.passes = "default<O3>";
  asked.configuration.form = "auto";
  asked.configuration.assembler = "auto";
  return asked;
}

std::vector<Wanted> read(const std::string& text, const Asked& defaults = no_options()) {
  Normaliser normaliser;
  std::vector<Asked> asked = parse_variants(text, "'file'", defaults);
  return all_wanted_by(asked, "'file'", defaults.configuration.target, normaliser);
}

std::string fault(const std::string& text, const Asked& defaults = no_options()) {
  try {
    read(text, defaults);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kBadInput);
    return error.what();
  }
  return "none";
}

TEST(Variants, WhatIsLeftOutIsAsTheOptionsSay) {
  Asked options = no_options();
  options.configuration.passes = "default<O1>";
  options.configuration.codegen_opt = 1;
  options.configuration.fuse = true;
  std::vector<Wanted> wanted = read("{}\n{\"fuse\":false}\n{\"codegen_opt\":2,\"target\":\"host:x86-64-v2\"}", options);
  ASSERT_EQ(wanted.size(), 3u);
  std::string ours = codegen::host::default_target();
  EXPECT_EQ(bundle::write(wanted[0].configuration),
            R"({"target":")" + ours + R"(","passes":"default<O1>","codegen_opt":1,"form":"auto","fuse":true,"ir":""})");
  EXPECT_EQ(
      bundle::write(wanted[1].configuration),
      R"({"target":")" + ours + R"(","passes":"default<O1>","codegen_opt":1,"form":"auto","fuse":false,"ir":""})");
  EXPECT_EQ(bundle::write(wanted[2].configuration),
            R"({"target":"host:x86-64-v2","passes":"default<O1>","codegen_opt":2,"form":"auto","fuse":true,"ir":""})");
}

// As the GPU's code has them, unless somebody says otherwise.
TEST(Variants, MultiplyAddsOfAGpusRecordingAreFusedOnTheHost) {
  auto contracts = [](std::string_view text, bool on_gpu, bool fuse_given = false) {
    Normaliser normaliser;
    normaliser.set_recorded_on_gpu(on_gpu);
    Asked options = no_options();
    if (fuse_given) options.given.insert("fuse");
    std::vector<bool> all;
    for (const Wanted& one : all_wanted_by(parse_variants(text, "a file", options), "a file", "", normaliser)) {
      all.push_back(one.configuration.contract);
    }
    return all;
  };
  using All = std::vector<bool>;
  EXPECT_EQ(contracts("{}", true), All{true});
  EXPECT_EQ(contracts("{}", false), All{false});
  EXPECT_EQ(contracts("{\"target\":\"cuda:sm_90\"}", true), All{false});
  EXPECT_EQ(contracts("{}", true, true), All{false});
  EXPECT_EQ(contracts("{\"fuse\":false}\n{\"contract\":false,\"codegen_opt\":1}\n{\"fuse\":true}", true),
            (All{false, false, false}));
  EXPECT_EQ(contracts("{\"contract\":true}", false), All{true});
}

TEST(Variants, InTheOrderOfTheLinesEachOnce) {
  std::vector<Wanted> wanted = read(
      "\n{\"passes\":\"default<O2>\"}\n  \r\n{ \"codegen_opt\" : 0 "
      "}\n{\"passes\":\"default<O2>\",\"fuse\":false}\n{}\n");
  ASSERT_EQ(wanted.size(), 3u);
  EXPECT_EQ(wanted[0].line, 2u);
  EXPECT_EQ(wanted[0].configuration.passes, "default<O2>");
  EXPECT_EQ(wanted[1].line, 4u);
  EXPECT_EQ(wanted[1].configuration.codegen_opt, 0);
  EXPECT_EQ(wanted[2].line, 6u);
}

TEST(Variants, AConfigurationOfABundleIsALine) {
  Asked options = no_options();
  options.configuration.ir = digest_of("edited");
  bundle::Configuration whole = {"host:x86-64-v3", "default<Os>", 2, "fiber", true, digest_of("edited"), true};
  std::vector<Wanted> wanted = read(bundle::write(whole), options);
  EXPECT_EQ(bundle::write(wanted.at(0).configuration), bundle::write(whole));
  wanted = read("{\"ir\":\"\"}", options);
  EXPECT_TRUE(wanted.at(0).configuration.ir.empty()) << "the recorded IR";
}

TEST(Variants, TargetsByTheirShortNames) {
  std::vector<Wanted> wanted = read("{\"target\":\"sm_90\",\"assembler\":\"none\"}\n{\"target\":\"\"}");
  EXPECT_EQ(wanted.at(0).configuration.target, "cuda:sm_90");
  EXPECT_EQ(wanted.at(0).configuration.assembler, "");
  EXPECT_EQ(wanted.at(1).configuration.target, codegen::host::default_target());
}

// Options that are for the other lines' targets do not matter to a line.
TEST(Variants, OptionsForOtherTargetsArePassedOver) {
  Asked options = no_options();
  options.configuration.form = "fiber";
  options.configuration.check_memory = true;
  options.configuration.max_registers = 64;
  options.configuration.ptxas_level = 0;
  options.given = options.insisted = {"form", "check_memory", "max_registers", "ptxas_level"};
  std::vector<Wanted> wanted =
      read("{\"target\":\"host:x86-64-v2\"}\n{\"target\":\"sm_90\",\"assembler\":\"none\"}", options);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].configuration.form, "fiber");
  EXPECT_TRUE(wanted[0].configuration.check_memory);
  EXPECT_EQ(bundle::write(wanted[1].configuration),
            R"({"target":"cuda:sm_90","passes":"default<O3>","codegen_opt":3,"form":"auto","fuse":false,"ir":""})");
}

TEST(Variants, WhatCannotBeIsSaidWithItsLine) {
  const std::string gpu = R"({"target":"sm_90","assembler":"none",)", host = R"({"target":"host:x86-64-v2",)";
  EXPECT_EQ(fault("{}\n\n{\"passes\":\"\"}"), "line 3 of 'file': 'passes' is empty");
  EXPECT_THAT(fault("{}\n{\"nonsense\":1}"), HasSubstr("line 2 of 'file': no configuration has the key 'nonsense'"));
  EXPECT_THAT(fault("{}\n{\"codegen_opt\":\"3\"}"), HasSubstr("line 2 of 'file': 'codegen_opt' is not a whole number"));
  EXPECT_THAT(fault("{\"target\":\"gfx1\"}"), HasSubstr("line 1 of 'file': 'gfx1' is no target: of AMD's GPUs"));
  EXPECT_EQ(fault(R"({"target":"gfx90a","code_object":3})"),
            "line 1 of 'file': 'code_object' takes a version from 4 to 6, not 3");
  EXPECT_EQ(fault(R"({"target":"gfx90a","min_blocks":2})"),
            "line 1 of 'file': 'min_blocks' is for NVIDIA's GPUs, not for 'target' hip:gfx90a");
  EXPECT_EQ(fault(R"({"target":"gfx90a","inline_threshold":2,"code_object":4})"), "none");
  EXPECT_EQ(fault(gpu + "\"code_object\":5}"),
            "line 1 of 'file': 'code_object' is for AMD's GPUs, not for 'target' cuda:sm_90");
  EXPECT_THAT(fault("{\"target\":\"sm_1\"}"), HasSubstr("line 1 of 'file': 'sm_1' is no target"));
  EXPECT_THAT(fault("passes=O3"), HasSubstr("line 1 of 'file' is not valid json"));
  EXPECT_THAT(fault("{\"baseline\":true}"), HasSubstr("line 1 of 'file': 'baseline' is for 'mneme-run --baseline'"));
  EXPECT_THAT(fault("{\"ir\":\"" + digest_of("x").hex() + "\"}"),
              HasSubstr("line 1 of 'file': 'ir' is empty, for the recorded IR, or the digest of the file of --ir, "
                        "which is not there"));
  EXPECT_EQ(fault(gpu + "\"form\":\"loop\"}"),
            "line 1 of 'file': 'form' is for the host device, not for 'target' cuda:sm_90");
  EXPECT_EQ(fault(gpu + "\"form\":\"auto\"}"), "none");
  EXPECT_EQ(fault(gpu + "\"check_memory\":true}"),
            "line 1 of 'file': 'check_memory' is for the host device, not for 'target' cuda:sm_90");
  EXPECT_EQ(fault(host + "\"assembler\":\"ptxas\"}"),
            "line 1 of 'file': 'assembler' ptxas is for NVIDIA's GPUs, not for 'target' host:x86-64-v2");
  EXPECT_EQ(fault(host + "\"max_registers\":64}"),
            "line 1 of 'file': 'max_registers' is for NVIDIA's GPUs, not for 'target' host:x86-64-v2");
  EXPECT_THAT(fault(gpu + "\"ptxas_level\":1}"),
              HasSubstr("'ptxas_level' is for an assembler, ptxas or nvJitLink, and 'assembler' none asks for none"));
  EXPECT_EQ(fault(gpu + "\"cpu\":\"znver4\"}"),
            "line 1 of 'file': 'cpu' is for the host device, not for 'target' cuda:sm_90");
  EXPECT_EQ(fault(host + "\"min_blocks\":2}"),
            "line 1 of 'file': 'min_blocks' is for NVIDIA's GPUs, not for 'target' host:x86-64-v2");
  EXPECT_EQ(fault(host + "\"inline_threshold\":2}"),
            "line 1 of 'file': 'inline_threshold' is for GPUs, not for 'target' host:x86-64-v2");
  EXPECT_THAT(fault(host + "\"features\":\"+ptx83\"}"), HasSubstr("line 1 of 'file': 'features' takes features that"));
  EXPECT_THAT(fault(host + "\"cpu\":\"z\"}"), HasSubstr("'cpu' takes a processor that LLVM knows"));
  EXPECT_EQ(fault(host + "\"block\":[16,16,1],\"max_threads\":128}"),
            "line 1 of 'file': 'max_threads' allows 128 threads in a block, and 'block' (16, 16, 1) has 256");
  EXPECT_EQ(fault(host + "\"shared_mem\":262145}"),
            "line 1 of 'file': 'shared_mem' 262145 is more than a block may have on host:x86-64-v2: 262144 bytes");
  EXPECT_THAT(fault(gpu + "\"shared_mem\":232449}"), HasSubstr("on cuda:sm_90: 232448 bytes"));
  EXPECT_EQ(fault(gpu + "\"shared_mem\":232448}"), "none");
  EXPECT_THAT(fault(gpu + "\"block\":[1,1,128]}"), HasSubstr("'block' (1, 1, 128) is deeper than the 64 threads"));
  EXPECT_THAT(fault(gpu + "\"grid\":[1,65536,1]}"), HasSubstr("'grid' (1, 65536, 1) is more than cuda:sm_90 has"));
  EXPECT_EQ(fault("{\"iterations\":0}"), "line 1 of 'file': 'iterations' takes a number from 1 on");
  EXPECT_THAT(fault("{\"fast_math\":\"slow\"}"), HasSubstr("'fast_math' takes fast, or some of reassoc"));
  EXPECT_THAT(fault("{\"attributes\":\"slow\"}"), HasSubstr("'attributes' takes attributes of functions that"));
  EXPECT_THAT(fault("{\"specialize_args\":\"2nd\"}"), HasSubstr("'specialize_args' takes all, or arguments"));
  EXPECT_THAT(fault("{\"instance\":\"" + digest_of("x").hex() + "\"}"), HasSubstr("'instance' says whose values"));
  EXPECT_THAT(fault("{\"plugins\":\"x\"}"), HasSubstr("no plugin with the digest 'x' is loaded"));
  EXPECT_EQ(fault("\n \n"), "'file' holds no configuration: one JSON object a line is expected");
  EXPECT_EQ(fault(""), "'file' holds no configuration: one JSON object a line is expected");
}

// What says the same has one id, and what says nothing that of the time when nobody could say it.
TEST(Variants, HaveOneForm) {
  std::string ours = codegen::host::default_target();
  std::vector<Wanted> wanted =
      read(std::string("{}\n") + R"({"fast_math":"","attributes":" ","max_threads":0,"block":null,)" +
           R"("shared_mem":null,"specialize_dims":false,"plugins":"","cpu":")" + ours.substr(5) + "\"}\n" +
           R"({"fast_math":"nsz,afn","attributes":"norecurse a=1","specialize_args":"1,0"})" + "\n" +
           R"({"fast_math":"afn, nsz","attributes":"a=1  norecurse","specialize_args":"0,1"})");
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(
      bundle::write(wanted[0].configuration),
      R"({"target":")" + ours + R"(","passes":"default<O3>","codegen_opt":3,"form":"auto","fuse":false,"ir":""})");
  EXPECT_THAT(bundle::write(wanted[1].configuration),
              HasSubstr(R"("ir":"","fast_math":"afn,nsz","attributes":"a=1 norecurse","specialize_args":"0,1"})"));
}

// A word that merely reads like a key of it does not count.
TEST(Variants, SayWhetherTheyLaunchOtherwise) {
  auto otherwise = [](const std::string& line) {
    return launches_otherwise(parse_variant(line, 1, "'file'", no_options()).configuration);
  };
  EXPECT_TRUE(otherwise(R"({"block":[64,1,1]})"));
  EXPECT_TRUE(otherwise(R"({"specialize_dims":true})"));
  EXPECT_FALSE(otherwise(R"({"attributes":"x=\"grid\"","specialize_dims":false,"block":null})"));
}

TEST(CommandLine, NamesItsOptions) {
  Normaliser normaliser;
  Asked asked = no_options();
  asked.configuration.target = "sm_90";
  asked.configuration.form = "fiber";
  asked.given = asked.insisted = {"form"};
  try {
    normaliser.normalise(asked);
    FAIL() << "a GPU has no fibers";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--form is for the host device, not for --target cuda:sm_90");
  }
}

}  // namespace
}  // namespace mneme::compile
