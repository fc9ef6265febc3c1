// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/format.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bundle/json/json.h"
#include "bundle/names.h"
#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

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

TEST(Json, SourceIsSaidWhereItIsKnown) {
  KernelInfo kernel;
  kernel.id = kernel.bitcode = kOne;
  EXPECT_EQ(write(kernel).find("command"), std::string::npos);
  EXPECT_EQ(write(kernel).find("source_text"), std::string::npos);
  kernel.command = {"/app", "clang++-19", "-O3", "a.hip"};
  kernel.source_text = kTwo;
  const KernelInfo same = parse_kernel(write(kernel), "it");
  EXPECT_EQ(same.command, kernel.command);
  EXPECT_EQ(same.source_text, kTwo);
  EXPECT_EQ(write(same), write(kernel));
  kernel.command = {"/app", "clang++-19"};
  EXPECT_EQ(fault_of([&] { parse_kernel(write(kernel), "it"); }), "it: 'command' has no directory, compiler and file");
  kernel.command = {"/app", "clang++-19", std::string("a\0.hip", 6)};
  EXPECT_EQ(fault_of([&] { parse_kernel(write(kernel), "it"); }), "it: 'command' has a null character in it");
  BundleInfo info{1, "host", {}, "packs", {}};
  EXPECT_EQ(write(info).find("has_source"), std::string::npos);
  EXPECT_FALSE(parse_bundle(write(info), "it").has_source);
  info.has_source = true;
  EXPECT_TRUE(parse_bundle(write(info), "it").has_source);
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
