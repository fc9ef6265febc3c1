// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/format.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

#include "base/error.h"
#include "bundle/configuration.h"
#include "bundle/json/json.h"
#include "bundle/names.h"

namespace mneme::bundle {
namespace {

// What a failing call says.
template <typename Function>
std::string fault_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

const Digest kOne = digest_of("one"), kTwo = digest_of("two"), kThree = digest_of("three");

TEST(Json, BundleRoundTrip) {
  BundleInfo info{
      1, "host", {{"device", 0x400000000000, 1ull << 40}}, "raw", {{"mneme-capture", "0.1.0", {"-o", "a \"b\"\n"}, 0}}};
  std::string text = write(info);
  EXPECT_TRUE(text.starts_with(R"({"version":1,"device":"host","ranges":[{"name":"device","base":"0x400000000000",)"
                               R"("size":1099511627776}],"memory":"raw","provenance":[{"tool":"mneme-capture",)"));
  BundleInfo back = parse_bundle(text, "bundle.json");
  EXPECT_EQ(write(back), text);
  EXPECT_EQ(back.provenance[0].arguments[1], "a \"b\"\n");
}

TEST(Json, KernelAndVariantRoundTrip) {
  KernelInfo kernel{kOne,
                    "_Z1fv",
                    "f()",
                    "amdgcn-amd-amdhsa--gfx90a",
                    64,
                    24,
                    {{0, 8, "pointer", "float", {}}, {8, 16, "struct", "%struct.S", {{4, 4}}}},
                    {{"table", 1024, 16, true}},
                    {"callback"},
                    {{{{-1, {}, 8, 16, {}}}, true},
                     {{{0, {}, -24, 0, {}}, {1, {}, 32, 40, {{8, 4}, {16, 2}}}, {-1, "table", 4, 0, {}}}},
                     {{{0, {}, 8, 0, {}}}, false, true}},
                    "a.hip",
                    kTwo};
  KernelInfo kernel_back = parse_kernel(write(kernel), "kernel.json");
  EXPECT_EQ(write(kernel_back), write(kernel));
  EXPECT_EQ(kernel_back.pointers, kernel.pointers);
  EXPECT_EQ(write(kernel).find("function_addresses"), std::string::npos);
  kernel.function_addresses = {0x7f0012345678};
  EXPECT_EQ(parse_kernel(write(kernel), "kernel.json").function_addresses, kernel.function_addresses);
  EXPECT_NE(kernel_id(kOne, {8}), kernel_id(kOne, {16}));
  kernel.function_addresses = {8, 16};
  EXPECT_THROW(parse_kernel(write(kernel), "kernel.json"), Error) << "there is one function";
  VariantInfo variant{
      kTwo, kOne, {"host:x86-64-v3", "default<O3>", 2, "loop", true, kThree, false}, "code.so", kThree, "loop", {}};
  VariantInfo back = parse_variant(write(variant), "variant.json");
  EXPECT_EQ(write(back), write(variant));
  variant.stores = {{8, "", "f64", true}, {-1, "table", "i32"}, {-1, "", "mixed"}};
  variant.replaced = {"exp_f32", "pow_f32"};
  back = parse_variant(write(variant), "variant.json");
  EXPECT_EQ(write(back), write(variant));
  EXPECT_EQ(back.stores.at(1).symbol, "table");
  EXPECT_EQ(back.replaced, variant.replaced);
  EXPECT_EQ(back.stores.at(2).argument, -1);
  EXPECT_EQ(variant_id(kOne, back.configuration), variant_id(kOne, variant.configuration));
  EXPECT_NE(variant_id(kTwo, back.configuration), variant_id(kOne, variant.configuration));
  EXPECT_EQ(write(parse_configuration(write(variant.configuration), "a line")), write(variant.configuration));
}

// What variants were called before there was such a thing is not to change.
TEST(Json, KernelsSayWhatTheyStoreWhereThatIsKnown) {
  KernelInfo kernel;
  kernel.id = kernel.bitcode = kOne;
  EXPECT_EQ(write(kernel).find("stores"), std::string::npos);
  EXPECT_FALSE(parse_kernel(write(kernel), "it").stores);
  kernel.stores.emplace();
  EXPECT_TRUE(parse_kernel(write(kernel), "it").stores) << "it stores nothing";
  kernel.stores = {{-1, "", "mixed"}, {-1, "table", "i32"}, {8, "", "f32", true}};
  const KernelInfo same = parse_kernel(write(kernel), "it");
  ASSERT_TRUE(same.stores);
  ASSERT_EQ(same.stores->size(), 3u);
  EXPECT_EQ((*same.stores)[1].symbol, "table");
  EXPECT_EQ((*same.stores)[2].argument, 8);
  EXPECT_TRUE((*same.stores)[2].restrict);
  EXPECT_EQ(write(same), write(kernel));
  kernel.stores = {{int64_t{1} << 40, "", "f32"}};
  EXPECT_THROW(parse_kernel(write(kernel), "it"), Error);
}

TEST(Json, KernelsWithoutIrNameTheCodeThatRan) {
  KernelInfo kernel;
  kernel.id = kernel.bitcode = kOne;
  EXPECT_EQ(write(kernel).find("\"code"), std::string::npos);
  EXPECT_TRUE(has_ir(parse_kernel(write(kernel), "it")));
  kernel.bitcode = {};
  kernel.code = kCubinFile;
  kernel.code_digest = kOne;
  EXPECT_EQ(write(kernel).find("bitcode"), std::string::npos);
  EXPECT_EQ(files_of(parse_kernel(write(kernel), "it")).size(), 1u);
  kernel.ptx = kTwo;
  const KernelInfo same = parse_kernel(write(kernel), "it");
  EXPECT_FALSE(has_ir(same));
  EXPECT_EQ(write(same), write(kernel));
  ASSERT_EQ(files_of(same).size(), 2u);
  EXPECT_EQ(files_of(same)[0].name, "kernel.cubin");
  EXPECT_EQ(files_of(same)[0].digest, kOne);
  EXPECT_EQ(files_of(same)[1].name, "kernel.ptx");
  EXPECT_EQ(files_of(same)[1].digest, kTwo);
  kernel.code = kPtxFile;
  EXPECT_THROW(parse_kernel(write(kernel), "it"), Error) << "PTX twice";
  kernel.ptx = {};
  EXPECT_EQ(parse_kernel(write(kernel), "it").code, kPtxFile);
  kernel.code = "../kernel.cubin";
  EXPECT_THROW(parse_kernel(write(kernel), "it"), Error);
  kernel.code = kCubinFile;
  kernel.code_digest = {};
  EXPECT_THROW(parse_kernel(write(kernel), "it"), Error);
}

TEST(Json, OnlyCheckedVariantsSaySo) {
  Configuration configuration{"host:x86-64-v3", "default<O3>", 2, "loop", true, kThree, false};
  EXPECT_EQ(write(configuration).find("check_memory"), std::string::npos);
  Digest unchecked = variant_id(kOne, configuration);
  configuration.check_memory = true;
  EXPECT_NE(variant_id(kOne, configuration), unchecked);
  EXPECT_TRUE(parse_configuration(write(configuration), "a line").check_memory);
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

TEST(Json, AssemblersAreOnesThatAreKnown) {
  std::string head = R"({"target":"cuda:sm_90","passes":"","codegen_opt":3,"form":"","fuse":false,"ir":"",)";
  auto refusal = [&](const std::string& rest) -> std::string {
    try {
      parse_configuration(head + rest, "a line");
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(refusal(R"("assembler":"nvjitlink","ptxas_level":0})"), "nothing");
  EXPECT_NE(refusal(R"("assembler":"as","ptxas_level":0})").find("assembler"), std::string::npos);
  EXPECT_NE(refusal(R"("assembler":"ptxas"})").find("ptxas_level"), std::string::npos);
  EXPECT_NE(refusal(R"("assembler":"ptxas","ptxas_level":4})").find("ptxas_level"), std::string::npos);
  EXPECT_NE(refusal(R"("assembler":"ptxas","ptxas_level":3,"max_registers":256})").find("max_registers"),
            std::string::npos);
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
  std::string no_reason = text.substr(0, text.rfind(",\"digest\""));
  no_reason.replace(no_reason.find("it cannot be"), 12, "");
  no_reason += ",\"digest\":\"" + digest_of(no_reason).hex() + "\"}";
  EXPECT_EQ(fault_of([&] { parse_variant(no_reason, "variant.json"); }), "variant.json: 'failed' gives no reason");
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
      kTwo.hex() + R"(","warmup":0,"iterations":5})";
  Configuration all = plain;
  EXPECT_EQ(override_configuration(line, "a line", all).size(), 18u);
  EXPECT_EQ(all.grid, (Dim3{4, 2, 1}));
  EXPECT_EQ(all.shared_mem, 0u);
  std::string written = write(all);
  EXPECT_EQ(written, write(plain).substr(0, write(plain).size() - 1) + "," + line.substr(1));
  EXPECT_EQ(write(parse_configuration(written, "a line")), written);
  EXPECT_NE(variant_id(kOne, all), variant_id(kOne, plain));

  // As if nobody had said anything.
  std::string none = "{";
  for (const char* key : {"grid", "block", "shared_mem", "unroll_threshold", "inline_threshold", "warmup", "iterations",
                          "code_object", "max_threads", "min_blocks", "specialize_dims", "instance", "cpu"}) {
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
            "specialize_args, specialize_dims, instance, warmup, iterations, contract, code");
  EXPECT_EQ(fault(R"({"fuse":true,"fuse":true})"), "line 3: 'fuse' is there twice");
  EXPECT_EQ(fault(R"({"fuse":1})"), "line 3: 'fuse' is not true or false");
  EXPECT_EQ(fault(R"({"codegen_opt":4})"), "line 3: 'codegen_opt' is 4, more than 3");
  EXPECT_EQ(fault(R"({"codegen_opt":-1})"), "line 3: 'codegen_opt' is not a whole number of 0 or more");
  EXPECT_EQ(fault(R"({"passes":["default<O3>"]})"), "line 3: 'passes' is not a text");
  EXPECT_EQ(fault(R"({"form":"lop"})"),
            "line 3: 'form' is 'lop', which this version does not know: it may be auto, loop, fiber");
  EXPECT_EQ(fault(R"({"assembler":"as"})"),
            "line 3: 'assembler' is 'as', which this version does not know: it may be auto, ptxas, nvjitlink, none");
  EXPECT_EQ(fault(R"({"grid":[1,2]})"), "line 3: 'grid' does not have three dimensions");
  EXPECT_EQ(fault(R"({"grid":[1,0,1]})"), "line 3: 'grid' has a dimension of 0");
  EXPECT_EQ(fault(R"({"block":[32,32,2]})"), "line 3: 'block' is more than any device can launch");
  EXPECT_EQ(fault(R"({"max_threads":1025})"), "line 3: 'max_threads' is 1025, more than 1024");
  EXPECT_EQ(fault(R"({"code_object":7})"), "line 3: 'code_object' is 7, more than 6");
  EXPECT_EQ(fault(R"({"target":null})"), "line 3: 'target' is not a text");
  EXPECT_EQ(fault(R"({"max_registers":256})"), "line 3: 'max_registers' is 256, more than 255");
  EXPECT_EQ(fault("[]"), "line 3 is not a json object");
  EXPECT_NE(fault("{").find("line 3 is not valid json"), std::string::npos);
}

InstanceInfo instance() {
  InstanceInfo info;
  info.kernel = kOne;
  info.index = 7;
  info.grid = {4294967295, 2, 1};
  info.block = {256, 1, 1};
  info.arguments = std::string("\0\x80\xff", 3);
  info.segments = {{0x400000000100, 1 << 20, SegmentKind::kHeap, "", R"({"dtype":"f32","threshold":1e-3})"},
                   {0x400000200000, 8, SegmentKind::kGlobal, "counter", ""},
                   {0x600000000000, 64, SegmentKind::kHost, "", ""}};
  info.prologue = kTwo;
  info.epilogue = kThree;
  info.id = instance_id(info);
  return info;
}

TEST(Json, InstanceRoundTrip) {
  InstanceInfo back = parse_instance(write(instance()), "an instance");
  EXPECT_EQ(write(back), write(instance()));
  EXPECT_EQ(back.arguments, instance().arguments);
  EXPECT_EQ(back.grid, instance().grid);
  EXPECT_EQ(back.segments[2].kind, SegmentKind::kHost);
  EXPECT_EQ(instance_id(back), back.id) << "however the annotation was spelt";
}

TEST(Json, OnlyIncompleteInstancesSaySo) {
  InstanceInfo info = instance();
  EXPECT_EQ(write(info).find("complete"), std::string::npos);
  info.missing = {"argument 0 points to 0x1000", "a second reason"};
  std::string text = write(info);
  EXPECT_NE(text.find(R"("complete":false,"missing":["argument 0 points to 0x1000","a second reason"])"),
            std::string::npos);
  InstanceInfo back = parse_instance(text, "an instance");
  EXPECT_EQ(back.missing, info.missing);
  EXPECT_EQ(write(back), text);
  EXPECT_EQ(instance_id(back), instance().id) << "it is the same launch";

  // One key without the other is nobody's: an instance must not pass for complete by the loss of one of them.
  auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text.substr(0, text.rfind(",\"digest\""));
    other.replace(other.find(from), from.size(), to);
    other += ",\"digest\":\"" + digest_of(other).hex() + "\"}";
    return fault_of([&] { parse_instance(other, "an instance"); });
  };
  EXPECT_EQ(changed("\"complete\":false", "\"complete\":false"), "none");
  EXPECT_NE(changed("\"complete\":false,", "").find("missing"), std::string::npos);
  EXPECT_NE(changed("\"complete\":false", "\"complete\":true").find("missing"), std::string::npos);
  EXPECT_NE(changed("\"complete\":false", "\"complete\":0").find("complete"), std::string::npos);
  EXPECT_NE(changed("[\"argument 0 points to 0x1000\",\"a second reason\"]", "[]").find("missing"), std::string::npos);
  EXPECT_NE(changed("[\"argument 0 points to 0x1000\",\"a second reason\"]", "7").find("missing"), std::string::npos);
}

TEST(Json, OnlyBlocksThatGoTogetherSaySo) {
  EXPECT_EQ(write(instance()).find("cooperative"), std::string::npos);
  EXPECT_EQ(write(instance()).find("cluster"), std::string::npos);
  EXPECT_EQ(write(instance()).find("attributes"), std::string::npos);
  EXPECT_EQ(write(instance()).find("stack_bytes"), std::string::npos);
  InstanceInfo info = instance();
  info.cooperative = true;
  info.cluster = {2, 1, 4};
  info.attributes = {"priority -5", "programmatic event"};
  info.stack_bytes = 16384;
  std::string text = write(info);
  EXPECT_NE(
      text.find(
          R"("cooperative":true,"cluster":[2,1,4],"stack_bytes":16384,"attributes":["priority -5","programmatic event"])"),
      std::string::npos);
  InstanceInfo back = parse_instance(text, "an instance");
  EXPECT_TRUE(back.cooperative);
  EXPECT_EQ(back.cluster, info.cluster);
  EXPECT_EQ(back.attributes, info.attributes);
  EXPECT_EQ(back.stack_bytes, 16384u);
  EXPECT_EQ(write(back), text);
}

TEST(Json, TheDynamicHashCoversTheLaunch) {
  auto differs = [](auto change) {
    InstanceInfo info = instance();
    change(info);
    return instance_id(info) != info.id;
  };
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.kernel = kTwo; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.grid.y = 3; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.block.x = 128; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.shared_bytes = 1; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.cooperative = true; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.cluster.z = 2; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.attributes = {"priority 1"}; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.stack_bytes = 16384; })) << "it changes no result";
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.arguments[0] = 1; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.segments[0].annotation = "{}"; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.prologue = kThree; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.index = 8; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.epilogue = kOne; }));
}

TEST(Json, RunAndSummaryRoundTrip) {
  RunInfo run{kOne,
              kTwo,
              kThree,
              "host",
              "failed",
              "it trapped",
              "steady",
              2,
              {5, 6},
              10,
              20,
              {{0x400000000000, 3, 17, 255, 0}},
              {{0x400000010000, kOne, kTwo}},
              false,
              {}};
  EXPECT_EQ(write(parse_run(write(run), "a run")), write(run));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  run.differences[0].observation = Observation{"f32",
                                               100,
                                               2,
                                               1,
                                               {0.1, 1.0 / 3, 5e-324, 17, "abcd", "abce"},
                                               {kInfinite, kInfinite, 1e308, 3, {"\0\1\2\3", 4}, "abce"}};
  RunInfo back = parse_run(write(run), "a run");
  EXPECT_EQ(back.differences, run.differences) << "to the last bit";
  EXPECT_TRUE(back.others.empty());
  run.others = {run.differences, {}};
  back = parse_run(write(run), "a run");
  EXPECT_EQ(back.others, run.others);
  EXPECT_FALSE(back.baseline);
  EXPECT_EQ(write(run).find("\"steady\":"), std::string::npos);
  run.differences[0].steady = 2;
  run.baseline = Baseline{5, "", {{0x400000000000, 9, 1, 2, 3}}, {{0x400000010000, kThree}}, false, 7};
  back = parse_run(write(run), "a run");
  EXPECT_EQ(back.differences, run.differences);
  EXPECT_EQ(back.baseline->spread, run.baseline->spread);
  EXPECT_EQ(back.baseline->blocks.at(0).bytes, kThree);
  EXPECT_EQ(write(back), write(run));
  EXPECT_EQ(write(Summary{}).find("failed"), std::string::npos);
  Summary failed;
  failed.failed = true;
  EXPECT_TRUE(parse_summary(write(failed), "s").failed);
  Summary summary{{{kOne, 12}}, {{"f()", 3, "it has no IR"}}, "was killed", true, {}};
  EXPECT_EQ(write(parse_summary(write(summary), "summary.json")), write(summary));
  EXPECT_EQ(write(summary).find("totals"), std::string::npos);
  summary.totals = Totals{{{"f()", 3, 0}, {"g()", 7, 2}}, 4096, 100};
  EXPECT_EQ(write(parse_summary(write(summary), "summary.json")), write(summary));
  EXPECT_EQ(parse_summary(write(summary), "summary.json").totals->kernels.at(1).recorded, 2u);
}

TEST(Json, ObservationsAreChecked) {
  auto fault_with = [](const std::string& norms) {
    std::string text =
        write(RunInfo{kOne, kTwo, kThree, "host", "completed", "", "steady", 0, {1}, 0, 0, {}, {}, true, {}});
    std::string observation = R"({"address":"0x1000","bytes":1,"first":0,"expected":1,"actual":2,"observation":)"
                              R"({"type":"f32","elements":1,"differ":1,"tail":0,"absolute":)" +
                              norms + R"(,"relative":)" + norms + "}}";
    text.replace(text.find("\"differences\":[]"), 16, "\"differences\":[" + observation + "]");
    text.resize(text.rfind(",\"digest\""));
    text += ",\"digest\":\"" + digest_of(text).hex() + "\"}";
    return fault_of([&] { parse_run(text, "a run"); });
  };
  EXPECT_EQ(fault_with(R"({"linf":1,"l1":1.5,"l2":"inf","worst":0,"expected":"","actual":""})"), "none");
  EXPECT_NE(fault_with(R"({"linf":-1,"l1":1,"l2":1,"worst":0,"expected":"","actual":""})").find("negative"),
            std::string::npos);
  EXPECT_NE(fault_with(R"({"linf":"nan","l1":1,"l2":1,"worst":0,"expected":"","actual":""})").find("neither a number"),
            std::string::npos);
  EXPECT_NE(fault_with(R"({"linf":1,"l1":1,"l2":1,"worst":0,"expected":"zz","actual":""})").find("hexadecimal"),
            std::string::npos);
  EXPECT_NE(
      fault_with(R"({"linf":1,"l1":1,"l2":1,"worst":0,"expected":"","actual":"000102030405060708090a0b0c0d0e0f10"})")
          .find("more than 16 bytes"),
      std::string::npos);
}

TEST(Json, OnlyColdRunsSaySo) {
  RunInfo run{kOne, kTwo, kThree, "cuda", "completed", "", "events", 1, {5}, 0, 0, {}, {}, true, {}};
  EXPECT_EQ(write(run).find("cache"), std::string::npos);
  EXPECT_FALSE(parse_run(write(run), "a run").cold);
  run.cold = true;
  std::string text = write(run);
  EXPECT_NE(text.find(R"("nanoseconds":[5],"cache":"cold")"), std::string::npos);
  EXPECT_TRUE(parse_run(text, "a run").cold);
  text.replace(text.find("cold"), 4, "iced");
  text.resize(text.rfind(",\"digest\""));
  text += ",\"digest\":\"" + digest_of(text).hex() + "\"}";
  EXPECT_NE(fault_of([&] { parse_run(text, "a run"); }).find("cache"), std::string::npos);
}

TEST(Json, RoundsAreWhatTheTimesComeFrom) {
  RunInfo run{kOne, kTwo, kThree, "host", "completed", "", "steady", 1, {5, 6, 7, 8, 9, 4}, 0, 0, {}, {}, true, {}};
  EXPECT_EQ(write(run).find("rounds"), std::string::npos);
  EXPECT_EQ(parse_run(write(run), "a run").rounds, 1u);
  run.rounds = 3;
  EXPECT_EQ(parse_run(write(run), "a run").rounds, 3u);
  for (const char* wrong : {"0", "4", "-1", "4294967296", "\"3\""}) {
    std::string text = write(run);
    text.replace(text.find("\"rounds\":3") + 9, 1, wrong);
    text.resize(text.rfind(",\"digest\""));
    text += ",\"digest\":\"" + digest_of(text).hex() + "\"}";
    EXPECT_NE(fault_of([&] { parse_run(text, "a run"); }).find("rounds"), std::string::npos) << wrong;
  }
}

TEST(Json, StrayBytesAreToldOfOnlyIfThereAreAny) {
  RunInfo run{kOne, kTwo, kThree, "host", "completed", "", "steady", 0, {1}, 0, 0, {}, {}, true, {}};
  EXPECT_EQ(write(run).find("stray_bytes"), std::string::npos);
  EXPECT_EQ(parse_run(write(run), "a run").stray_bytes, 0u);
  run.stray_bytes = 7;
  EXPECT_EQ(parse_run(write(run), "a run").stray_bytes, 7u);
}

TEST(Json, BaselinesAreChecked) {
  auto fault_with = [](const std::string& from, const std::string& to) {
    RunInfo run{kOne, kTwo, kThree, "host", "completed", "", "steady", 0, {1}, 0, 0, {}, {}, true, {}};
    run.baseline = Baseline{5, "none", {}, {{0x10000, kThree}}, true, 0};
    std::string text = write(run);
    size_t at = text.find(from, text.find("\"baseline\""));
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    text.resize(text.rfind(",\"digest\""));
    text += ",\"digest\":\"" + digest_of(text).hex() + "\"}";
    return fault_of([&] { parse_run(text, "a run"); });
  };
  EXPECT_EQ(fault_with("5", "2"), "none");
  EXPECT_EQ(fault_with("5", "0"), "none");
  EXPECT_NE(fault_with("5", "1").find("one execution shows nothing"), std::string::npos);
  EXPECT_NE(fault_with("5", "-5").find("executions"), std::string::npos);
  EXPECT_NE(fault_with("5", "5000000000").find("executions"), std::string::npos);
  EXPECT_NE(fault_with("\"none\"", "7").find("reason"), std::string::npos);
  EXPECT_NE(fault_with("\"reason\":\"none\",", "").find("reason"), std::string::npos);
  EXPECT_NE(fault_with("\"spread\":[]", "\"spread\":[1]").find("spread"), std::string::npos);
  EXPECT_NE(fault_with("0x10000", "0x10001").find("not the start of a block"), std::string::npos);
  EXPECT_NE(fault_with(kThree.hex(), "abc").find("bytes"), std::string::npos);
  EXPECT_NE(fault_with("true", "1").find("blocks_complete"), std::string::npos);
  EXPECT_NE(fault_with(",\"unlike\":0", "").find("unlike"), std::string::npos);
}

TEST(Json, TotalsAreWholeOrNotThere) {
  auto fault_with = [](const std::string& totals) {
    std::string text = R"({"occurrences":[],"skipped":[],"application":"","truncated":false,"totals":)" + totals;
    text += ",\"digest\":\"" + digest_of(text).hex() + "\"}";
    return fault_of([&] { parse_summary(text, "summary.json"); });
  };
  EXPECT_EQ(fault_with(R"({"kernels":[],"seen_bytes":1,"stored_bytes":1})"), "none");
  EXPECT_NE(fault_with(R"({"kernels":[],"seen_bytes":1})").find("stored_bytes"), std::string::npos);
  EXPECT_NE(fault_with(R"({"kernels":[],"stored_bytes":1})").find("seen_bytes"), std::string::npos);
  EXPECT_NE(fault_with(R"({"seen_bytes":1,"stored_bytes":1})").find("kernels"), std::string::npos);
  EXPECT_NE(fault_with("[]").find("totals"), std::string::npos);
  EXPECT_NE(fault_with(R"({"kernels":[{"kernel":"f","launches":-1,"recorded":0}],"seen_bytes":1,"stored_bytes":1})")
                .find("launches"),
            std::string::npos);
}

Choice some_choice() {
  Choice choice;
  choice.kernel = kOne;
  choice.device = "cuda";
  choice.target = "cuda:sm_90";
  choice.grid = {4, 2, 1};
  choice.block = {256, 1, 1};
  choice.shared_bytes = 64;
  choice.variant = kTwo;
  choice.baseline_ns = 300;
  choice.median_ns = 200;
  choice.ratio = 1.5;
  choice.instances = 2;
  choice.id = choice_id(choice);
  return choice;
}

TEST(Json, ChoiceRoundTrip) {
  Choice choice = some_choice();
  const std::string key = R"("kernel":")" + kOne.hex() +
                          R"(","device":"cuda","target":"cuda:sm_90","grid":[4,2,1],"block":[256,1,1],)"
                          R"("shared_bytes":64)";
  EXPECT_EQ(choice.id, digest_of("{" + key + "}"));
  EXPECT_TRUE(write(choice).starts_with(R"({"id":")" + choice.id.hex() + "\"," + key + R"(,"variant":")" + kTwo.hex() +
                                        R"(","baseline_ns":300,"median_ns":200,"ratio":1.5,"instances":2,"digest":)"))
      << write(choice);
  EXPECT_EQ(write(parse_choice(write(choice), "it")), write(choice));

  choice.cooperative = true;
  choice.cluster = {2, 1, 1};
  choice.guards = {{4, "\x01\x02"}, {8, std::string(8, '\0')}};
  choice.launch = LaunchSize{{8, 2, 1}, {128, 1, 1}, 32};
  choice.low = 1.25;
  choice.high = 1.75;
  choice.id = choice_id(choice);
  const Choice back = parse_choice(write(choice), "it");
  EXPECT_EQ(write(back), write(choice));
  EXPECT_EQ(back.id, choice_id(back));
  EXPECT_EQ(back.guards, choice.guards);
  EXPECT_EQ(back.launch, choice.launch);
  EXPECT_NE(write(choice).find(R"("guards":[{"offset":4,"bytes":"0102"},)"), std::string::npos);
}

// So that equal keys have equal names, and others have not.
TEST(Json, ChoicesAreNamedByTheirKeys) {
  const Choice choice = some_choice();
  auto id_of = [&](const std::function<void(Choice&)>& change) {
    Choice changed = choice;
    change(changed);
    return choice_id(changed);
  };
  EXPECT_EQ(id_of([](Choice& c) {
              c.variant = kThree;
              c.launch = LaunchSize{};
              c.ratio = c.low = c.high = 7;
              c.baseline_ns = c.median_ns = c.instances = 7;
            }),
            choice.id);
  const std::set<Digest> ids = {choice.id,
                                id_of([](Choice& c) { c.kernel = kTwo; }),
                                id_of([](Choice& c) { c.device = "hip"; }),
                                id_of([](Choice& c) { c.target = "cuda:sm_80"; }),
                                id_of([](Choice& c) { c.grid.x = 5; }),
                                id_of([](Choice& c) { c.block.y = 2; }),
                                id_of([](Choice& c) { c.shared_bytes = 0; }),
                                id_of([](Choice& c) { c.cooperative = true; }),
                                id_of([](Choice& c) { c.cluster.x = 2; }),
                                id_of([](Choice& c) { c.guards = {{0, "a"}}; }),
                                id_of([](Choice& c) { c.guards = {{0, "b"}}; })};
  EXPECT_EQ(ids.size(), 11u);
}

TEST(Json, KeysThatAreNotKnownAreIgnored) {
  EXPECT_EQ(parse_configuration(R"({"new":[1,{"a":null}],"target":"host","passes":"default<O1>","codegen_opt":1,)"
                                R"("form":"auto","fuse":false,"ir":"","more":-1.5})",
                                "a line")
                .passes,
            "default<O1>");
}

TEST(Json, FaultsNameThePlace) {
  auto parse = [](const std::string& text) { return fault_of([&] { parse_configuration(text, "line 3"); }); };
  EXPECT_EQ(parse("{}"), "line 3: 'target' is missing");
  EXPECT_EQ(parse(R"({"target":1})"), "line 3: 'target' is not a text");
  EXPECT_EQ(parse(R"({"target":"t","passes":"p","codegen_opt":4})"), "line 3: 'codegen_opt' is 4, more than 3");
  EXPECT_EQ(parse(R"({"target":"t","passes":"p","codegen_opt":3,"form":"f","fuse":0})"),
            "line 3: 'fuse' is not true or false");
  EXPECT_EQ(parse("[1]"), "line 3 is not a json object");
  EXPECT_EQ(fault_of([] { parse_instance(R"({"id":"xyz"})", "it"); }),
            "it: 'id' is not a digest of 32 hexadecimal digits");
}

TEST(Json, SealsTellEveryFlippedBit) {
  std::string text = write(Summary{{}, {}, "exited with status 0", false, {}});
  EXPECT_EQ(json::check_seal(text), json::Seal::kRight);
  for (size_t i = 0; i < 8 * text.size(); ++i) {
    std::string flipped = text;
    flipped[i / 8] ^= static_cast<char>(1 << i % 8);
    EXPECT_NE(json::check_seal(flipped), json::Seal::kRight) << i;
  }
}

TEST(Json, TextsBecomeUtf8) {
  json::Text text;
  text.open().add("a", std::string_view("\xff\xc3\xa4\xe2\x82", 5)).close();
  EXPECT_EQ(text.text(), "{\"a\":\"\uFFFD\u00e4\uFFFD\uFFFD\"}");
}

TEST(Json, CanonicalTextsStayAsTheyAre) {
  std::string once = json::canonical(R"( { "b" : [ 1 , -2, 2.50, 1e-3, true, null, "x\u0041" ], "a": {} } )", "it");
  EXPECT_EQ(once, R"({"b":[1,-2,2.5,0.001,true,null,"xA"],"a":{}})");
  EXPECT_EQ(json::canonical(once, "it"), once);
}

TEST(State, RoundTripAndFaults) {
  State state{{{0x400000000000, kOne}, {0x400000010000, kTwo}}};
  std::string bytes = write(state);
  State back = parse_state(bytes_of(bytes), "a state");
  ASSERT_EQ(back.blocks.size(), 2u);
  EXPECT_EQ(back.blocks[1].digest, kTwo);
  auto fault = [](const std::string& text) { return fault_of([&] { parse_state(bytes_of(text), "a state"); }); };
  EXPECT_EQ(fault("MNST"), "a state is not a state");
  EXPECT_EQ(fault("XXXX" + bytes.substr(4)), "a state is not a state");
  for (size_t size = 16; size < bytes.size(); ++size) EXPECT_NE(fault(bytes.substr(0, size)), "none") << size;
  std::string many = bytes;
  many[15] = '\x7f';
  EXPECT_NE(fault(many).find("which does not match its size"), std::string::npos);
  std::string unordered = write(State{{{0x10000, kOne}, {0x10000, kTwo}}});
  EXPECT_NE(fault(unordered).find("ascending"), std::string::npos);
  EXPECT_NE(fault(write(State{{{0x10001, kOne}}})).find("multiple of 65536"), std::string::npos);
}

TEST(State, TheZeroBlockIsTheOneOfTheSpecification) {
  EXPECT_EQ(zero_block_digest(), digest_of(std::string(kBlockSize, '\0')));
  EXPECT_EQ(zero_block_digest().hex(), "fd5ee061c8433a0f33b202d302b65caa");
}

TEST(Names, AreTakenApart) {
  EXPECT_EQ(parse_name("bundle.json").kind, MemberKind::kBundle);
  EXPECT_EQ(parse_name("summary.json").kind, MemberKind::kSummary);
  EXPECT_EQ(parse_name(kernel_json_name(kOne)).digests[0], kOne);
  EXPECT_EQ(parse_name(kernel_bitcode_name(kOne)).kind, MemberKind::kKernelFile);
  EXPECT_EQ(parse_name(variant_json_name(kOne, kTwo)).kind, MemberKind::kVariantJson);
  EXPECT_EQ(parse_name(variant_code_name(kOne, kTwo, "code.hsaco")).file, "code.hsaco");
  EXPECT_EQ(parse_name(pack_name(12)).kind, MemberKind::kPack);
  EXPECT_EQ(parse_name(keep_name(12)).kind, MemberKind::kKeep);
  EXPECT_EQ(parse_name("memory/x.keep").kind, MemberKind::kOther);
  EXPECT_EQ(parse_name(state_name(kOne)).kind, MemberKind::kState);
  EXPECT_EQ(parse_name(instance_name(kOne, kTwo)).digests[1], kTwo);
  EXPECT_EQ(parse_name(run_name(kOne, kTwo, kThree)).digests[2], kThree);
  EXPECT_EQ(parse_name(choice_name(kOne, kTwo)).kind, MemberKind::kChoice);
  EXPECT_EQ(parse_name(choice_name(kOne, kTwo)).digests[1], kTwo);
  EXPECT_EQ(parse_name(raw_name(kOne, "0x400000000000.raw")).kind, MemberKind::kRaw);
  for (const char* name : {"notes", "memory/x.pack", "memory/1.pack.gz", "states/xyz", "kernels/abc/kernel.json",
                           "bundle.json/x", "runs/a/b/c.json", "choices/a.json", "variants/../../code.so"}) {
    EXPECT_EQ(parse_name(name).kind, MemberKind::kOther) << name;
  }
}

TEST(Names, OfRawMembersAreFitForFiles) {
  std::vector<Segment> segments = {{0x10000, 8, SegmentKind::kGlobal, "counter", ""},
                                   {0x20000, 8, SegmentKind::kGlobal, "twice", ""},
                                   {0x30000, 8, SegmentKind::kGlobal, "twice", ""},
                                   {0x40000, 8, SegmentKind::kGlobal, "../evil", ""},
                                   {0x50000, 8, SegmentKind::kGlobal, std::string(300, 'x'), ""},
                                   {0x60000, 8, SegmentKind::kHeap, "", ""}};
  EXPECT_EQ(raw_files(segments), (std::vector<std::string>{"counter.raw", "0x20000.raw", "0x30000.raw", "0x40000.raw",
                                                           "0x50000.raw", "0x60000.raw"}));
}

}  // namespace
}  // namespace mneme::bundle
