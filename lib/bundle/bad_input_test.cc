// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a stranger may send: each fault is one Error that names the member.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>

#include "bundle/json/json.h"
#include "bundle/names.h"
#include "bundle/pack/pack.h"
#include "bundle/testing/bad_bundle.h"
#include "bundle/testing/reading.h"

namespace mneme::bundle {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string fault_of(const std::string& bytes, Memory memory = Memory::kDecode) {
  try {
    Contents contents = read_bundle(bytes, memory);
    return contents.truncated ? "truncated: " + contents.truncation : "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kBadInput);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
}

std::vector<TarMember> sample_members(const std::string& memory = "packs") {
  return members_of(sample_bundle({1, 2, 3 * kBlockSize, true, memory}));
}

TarMember& find(std::vector<TarMember>& members, std::string_view part) {
  for (TarMember& member : members) {
    if (member.name.find(part) != std::string::npos) return member;
  }
  throw Error::of("no member like {}", part);
}

// Replaces a text in a json member and seals it anew, as one who means harm would.
void edit(TarMember& member, const std::string& from, const std::string& to) {
  size_t at = member.contents.find(from);
  ASSERT_NE(at, std::string::npos) << from << " in " << member.contents;
  member.contents.replace(at, from.size(), to);
  size_t seal = member.contents.rfind(",\"digest\":\"");
  std::string body = member.contents.substr(0, seal);
  member.contents = body + ",\"digest\":\"" + digest_of(body).hex() + "\"}";
}

std::string edited(const std::string& part, const std::string& from, const std::string& to) {
  std::vector<TarMember> members = sample_members();
  edit(find(members, part), from, to);
  return fault_of(tar_of(members));
}

TEST(BadInput, TheHelpersThemselvesMakeGoodBundles) {
  EXPECT_EQ(fault_of(tar_of(sample_members())), "none");
  EXPECT_EQ(fault_of(tar_of(sample_members("raw"))), "none");
}

TEST(BadInput, NoBundleAtAll) {
  EXPECT_EQ(fault_of(""), "the bundle is empty: there is no bundle in it");
  EXPECT_EQ(fault_of("hello"), "the bundle is not a tar archive, so no bundle: name a file that mneme-capture wrote");
  EXPECT_THAT(fault_of(std::string(5000, 'x')), HasSubstr("is not a tar archive"));
  EXPECT_EQ(fault_of("\x1f\x8b" + std::string(5000, 'x')),
            "the bundle is compressed with gzip: unpack it with gzip -d");
  EXPECT_THAT(fault_of("\x28\xb5\x2f\xfd and more"), HasSubstr("is compressed with zstd"));
  EXPECT_EQ(fault_of(tar_of({})), "the bundle is an empty tar archive, not a bundle");
  EXPECT_THAT(fault_of(tar_of({{"readme.txt", "hello"}})), HasSubstr("is a tar archive but not a bundle"));
  EXPECT_THAT(fault_of(sample_bundle() + sample_bundle()), HasSubstr("goes on after the end"));
}

TEST(BadInput, CodeOfKernelsWithoutIr) {
  const std::vector<TarMember> members = members_of(sample_bundle({2, 1, 500, true, "packs", 0, false, false}));
  std::vector<TarMember> damaged = members;
  find(damaged, "code/").contents += "x";
  EXPECT_THAT(fault_of(tar_of(damaged)), AllOf(HasSubstr("code/"), HasSubstr("do not have its digest")));
  std::vector<TarMember> lacking = members;
  std::erase_if(lacking, [](const TarMember& member) { return member.name.starts_with("code/"); });
  EXPECT_THAT(fault_of(tar_of(lacking)), HasSubstr("kernel.cubin"));
}

TEST(BadInput, NewerVersion) {
  EXPECT_THAT(edited("bundle.json", "\"version\":1", "\"version\":9"),
              AllOf(HasSubstr("bundle.json"), HasSubstr("version 9"), HasSubstr("use a newer Mneme")));
}

TEST(BadInput, Names) {
  auto with = [](const TarMember& member) {
    std::vector<TarMember> members = sample_members();
    members.insert(members.begin() + 1, member);
    return fault_of(tar_of(members), Memory::kPass);
  };
  EXPECT_THAT(with({"../evil", "x"}), HasSubstr("leads out of its folder"));
  EXPECT_THAT(with({"notes/../../evil", "x"}), HasSubstr("leads out of its folder"));
  EXPECT_THAT(with({"/etc/passwd", "x"}), HasSubstr("is an absolute path"));
  EXPECT_THAT(with({"a//b", "x"}), HasSubstr("has an empty part"));
  EXPECT_THAT(with({"./a", "x"}), HasSubstr("has an empty part"));
  EXPECT_THAT(with({"a\x1b[31m", "x"}), AllOf(HasSubstr("printable"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(with({"link", "", '2', "/etc/passwd"}), HasSubstr("is a link"));
  EXPECT_THAT(with({"link", "", '1', "bundle.json"}), HasSubstr("is a link"));
  EXPECT_THAT(with({"device", "", '3'}), HasSubstr("special file"));
  EXPECT_THAT(with({"bundle.json", "x"}), HasSubstr("bundle.json is in the bundle twice"));
  EXPECT_EQ(with({"folder/", "", '5'}), "none");
}

TEST(BadInput, DuplicatesAndOrder) {
  std::vector<TarMember> members = sample_members();
  members.insert(members.end() - 1, find(members, "instances/"));
  EXPECT_THAT(fault_of(tar_of(members)), AllOf(HasSubstr("instances/"), HasSubstr("twice")));

  members = sample_members();
  members.push_back({"late", "x"});
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("late comes after summary.json"));

  members = sample_members();
  std::swap(members[1], members[2]);
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("kernel.bc does not follow the json member"));

  members = sample_members();
  members.erase(members.begin() + 2);
  EXPECT_THAT(fault_of(tar_of(members)), AllOf(HasSubstr("kernel.json is followed by"), HasSubstr("not by")));

  members = sample_members();
  members.erase(members.begin() + 1, members.begin() + 3);
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("its kernel did not come before it"));
}

TEST(BadInput, VariantsWithoutCode) {
  std::string bytes = sample_bundle({2, 1, 500, true, "packs", 0, true});
  KernelMember first = sample_kernel(0), second = sample_kernel(1);
  VariantInfo holder = sample_variant(first).info, same = sample_same(holder);
  VariantInfo failed = sample_failed(first.info.id), others = sample_variant(second).info;
  auto index_of = [](const std::vector<TarMember>& members, const VariantInfo& variant) {
    std::string name = variant_json_name(variant.kernel, variant.id);
    return std::ranges::find(members, name, &TarMember::name) - members.begin();
  };
  auto fault = [&](const VariantInfo& variant, const std::string& from, const std::string& to) {
    std::vector<TarMember> members = members_of(bytes);
    edit(members[static_cast<size_t>(index_of(members, variant))], from, to);
    return fault_of(tar_of(members), Memory::kPass);
  };
  EXPECT_EQ(fault_of(bytes), "none");
  const char* unknown = "the variant whose code it says to have did not come before it with code";
  EXPECT_THAT(fault(same, holder.id.hex() + "\"", digest_of("nobody").hex() + "\""), HasSubstr(unknown));
  EXPECT_THAT(fault(same, holder.id.hex() + "\"", same.id.hex() + "\""), HasSubstr(unknown));
  EXPECT_THAT(fault(same, "\"same_as\":\"" + holder.id.hex(), "\"same_as\":\"" + failed.id.hex()), HasSubstr(unknown));
  EXPECT_THAT(fault(sample_same(others), "\"same_as\":\"" + others.id.hex(), "\"same_as\":\"" + holder.id.hex()),
              HasSubstr(unknown))
      << "another kernel's";
  EXPECT_THAT(fault(same, "\"code_digest\":\"" + holder.code_digest.hex(), "\"code_digest\":\"" + holder.id.hex()),
              HasSubstr("the variant whose code it says to have has other code"));
  EXPECT_THAT(fault(same, "\"ir\":\"\"", "\"ir\":\"\",\"baseline\":true"), HasSubstr("but has no code"));
  EXPECT_THAT(fault(failed, "\"ir\":\"\"", "\"ir\":\"\",\"baseline\":true"), HasSubstr("but has no code"));
  EXPECT_THAT(fault(failed, "\"failed\":\"LLVM", "\"failed\":1,\"x\":\"LLVM"), HasSubstr("'failed' is not a text"));
  EXPECT_THAT(fault(holder, "\"ir\":\"\"", "\"ir\":\"\",\"baseline\":true"), HasSubstr(unknown));

  // Code where none belongs.
  std::vector<TarMember> members = members_of(bytes);
  members.insert(members.begin() + index_of(members, same) + 1,
                 {variant_code_name(same.kernel, same.id, "code.so"), sample_variant(first).code});
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("does not follow the json member that describes it"));
  // The other way round.
  members = members_of(bytes);
  members.erase(members.begin() + index_of(members, holder) + 1);
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("is followed by"));
}

TEST(BadInput, FlippedBits) {
  std::string bytes = sample_bundle({1, 2, 3 * kBlockSize, true, "packs"});
  size_t at = 0;
  for (const TarMember& member : members_of(bytes)) {
    for (size_t i = 0; i < member.contents.size(); i += 1 + member.contents.size() / 40) {
      std::string flipped = bytes;
      flipped[at + 512 + i] ^= static_cast<char>(1 << i % 8);
      std::string fault = fault_of(flipped);
      EXPECT_NE(fault, "none") << member.name << " at " << i;
      EXPECT_EQ(fault.find("truncated"), std::string::npos) << member.name << " at " << i;
    }
    at += 512 + (member.contents.size() + 511) / 512 * 512;
  }
}

TEST(BadInput, FlippedBitsInRawMemory) {
  std::vector<TarMember> members = sample_members("raw");
  TarMember& raw = find(members, ".raw");
  raw.contents[raw.contents.size() / 2] ^= 4;
  EXPECT_THAT(fault_of(tar_of(members)), AllOf(HasSubstr("raw members of state"), HasSubstr("are damaged")));
}

TEST(BadInput, MissingMemory) {
  std::vector<TarMember> members = sample_members();
  std::erase_if(members, [](const TarMember& member) { return member.name == "memory/0.pack"; });
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("which no pack at hand holds"));

  members = sample_members();
  std::string state = find(members, "states/").name;
  std::erase_if(members, [&](const TarMember& member) { return member.name == state; });
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("is not in the bundle with it or the instance before"));

  members = sample_members("raw");
  std::string raw = find(members, "counter.raw").name;
  std::erase_if(members, [&](const TarMember& member) { return member.name == raw; });
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr("counter.raw is missing"));
}

TEST(BadInput, MemoryThatWasDroppedIsNotAtHand) {
  // The second instance goes; the third cites what only the second had at hand.
  std::vector<TarMember> members = members_of(sample_bundle({1, 3, 3 * kBlockSize, false, "packs"}));
  std::vector<size_t> instances;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].name.starts_with("instances/")) instances.push_back(i);
  }
  members.erase(members.begin() + static_cast<long>(instances[0]) + 1,
                members.begin() + static_cast<long>(instances[1]) + 1);
  EXPECT_THAT(fault_of(tar_of(members)), testing::AnyOf(HasSubstr("no pack at hand"), HasSubstr("instance before")));
}

TEST(BadInput, NumbersThatLie) {
  EXPECT_THAT(edited("instances/", "\"size\":8,", "\"size\":0,"), HasSubstr("'segments[1].size' is 0"));
  EXPECT_THAT(edited("instances/", "\"size\":8,", "\"size\":-8,"), HasSubstr("is not a whole number"));
  EXPECT_THAT(edited("instances/", "\"size\":8,", "\"size\":8.5,"), HasSubstr("is not a whole number"));
  EXPECT_THAT(edited("instances/", "\"size\":8,", "\"size\":18446744073709551615,"),
              HasSubstr("beyond the last address"));
  EXPECT_THAT(edited("instances/", "\"size\":8,", "\"size\":99999999999999999999,"),
              HasSubstr("is not a whole number"));
  EXPECT_THAT(edited("instances/", "\"size\":8,", "\"size\":4611686018427387904,"), HasSubstr("'segments[2].address'"));
  EXPECT_THAT(edited("instances/", "\"size\":100,", "\"size\":4611686018427387904,"), HasSubstr("does not list block"));
  EXPECT_THAT(edited("instances/", "\"grid\":[4,2,1]", "\"grid\":[4,0,1]"), HasSubstr("dimension of 0"));
  EXPECT_THAT(edited("instances/", "\"grid\":[4,2,1]", "\"grid\":[4294967295,4294967295,4294967295]"),
              HasSubstr("more than any device"));
  EXPECT_THAT(edited("instances/", "\"grid\":[4,2,1]", "\"grid\":[4,2]"), HasSubstr("three dimensions"));
  EXPECT_THAT(edited("instances/", "\"block\":[256,1,1]", "\"block\":[256,256,256]"),
              HasSubstr("more than any device"));
  EXPECT_THAT(edited("instances/", "\"grid\":[4,2,1]", "\"grid\":[4,2,1],\"cluster\":[2,0,1]"),
              HasSubstr("dimension of 0"));
  EXPECT_THAT(edited("instances/", "\"grid\":[4,2,1]", "\"grid\":[4,2,1],\"cluster\":[2,2,1024]"),
              HasSubstr("more than any device"));
  EXPECT_THAT(edited("instances/", "\"grid\":[4,2,1]", "\"grid\":[4,2,1],\"cooperative\":1"), HasSubstr("cooperative"));
  EXPECT_THAT(edited("instances/", "\"stack_bytes\":4096", "\"stack_bytes\":\"4096\""), HasSubstr("stack_bytes"));
  EXPECT_THAT(edited("instances/", "\"stack_bytes\":4096", "\"stack_bytes\":-1"), HasSubstr("stack_bytes"));
  EXPECT_THAT(edited("instances/", "\"stack_bytes\":4096", "\"stack_bytes\":1073741825"), HasSubstr("stack_bytes"));
  EXPECT_THAT(edited("kernel.json", "\"number\":true", "\"number\":1"), HasSubstr("number"));
  EXPECT_THAT(edited("kernel.json", "\"polled\":true", "\"polled\":\"\""), HasSubstr("polled"));
  EXPECT_THAT(edited("instances/", "\"arguments\":\"", "\"arguments\":\"0g"), HasSubstr("is not hexadecimal"));
  EXPECT_THAT(edited("instances/", "\"arguments\":\"", "\"arguments\":\"00"), HasSubstr("do not have its hash"));
  EXPECT_THAT(edited("kernel.json", "\"argument_bytes\":16", "\"argument_bytes\":8"), HasSubstr("arguments[1].size"));
  EXPECT_THAT(edited("kernel.json", "\"align\":8", "\"align\":12"),
              HasSubstr("'globals[0].align' is not a power of two"));
  EXPECT_THAT(edited("variant.json", "\"code\":\"code.so\"", "\"code\":\"../../x\""), HasSubstr("not a file name"));
  EXPECT_THAT(edited("runs/", "\"nanoseconds\":[1200", "\"nanoseconds\":[true"), HasSubstr("'nanoseconds'"));
}

// Changes the sample's first choice, and what it is called.
std::string with_choice(const std::function<void(Choice&)>& change) {
  std::vector<TarMember> members = members_of(sample_bundle({1, 1, 500, true, "packs", 0, false, true, true}));
  TarMember& member = find(members, "choices/");
  Choice choice = parse_choice(member.contents, member.name);
  change(choice);
  choice.id = choice_id(choice);
  member = {choice_name(choice.kernel, choice.id), write(choice)};
  return fault_of(tar_of(members));
}

// The same by its text, under its old name.
std::string edited_choice(const std::string& from, const std::string& to) {
  std::vector<TarMember> members = members_of(sample_bundle({1, 1, 500, true, "packs", 0, false, true, true}));
  edit(find(members, "choices/"), from, to);
  return fault_of(tar_of(members));
}

TEST(BadInput, Choices) {
  EXPECT_EQ(with_choice([](Choice&) {}), "none");
  EXPECT_THAT(with_choice([](Choice& choice) { choice.variant = digest_of("nobody"); }),
              AllOf(HasSubstr("choices/"), HasSubstr("no variant of its kernel that may be chosen")));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.kernel = digest_of("nobody"); }),
              HasSubstr("its kernel did not come before it"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.target = "host:x86-64-v4"; }),
              HasSubstr("its variant is for another target"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.target = "cuda:sm_90"; }),
              HasSubstr("'target' is not one of that device"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.launch = LaunchSize{}; }),
              HasSubstr("its variant's configuration says another launch"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.guards = {{8, "a"}, {12, "abcde"}}; }),
              HasSubstr("its guards are not of its kernel's arguments"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.guards = {{8, "abc"}, {10, "d"}}; }),
              HasSubstr("'guards[1].offset' lies in or before"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.guards = {{8, ""}}; }), HasSubstr("'guards[0].bytes' is empty"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.ratio = 1; }), HasSubstr("'ratio' is not above 1"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.low = 3; }), HasSubstr("'low' is above 'high'"));
  EXPECT_THAT(with_choice([](Choice& choice) { choice.instances = 0; }), HasSubstr("nothing proves it"));
  EXPECT_THAT(edited_choice("\"grid\":[4,2,1]", "\"grid\":[4,2,2]"), HasSubstr("its key does not have its hash"));
  EXPECT_THAT(edited_choice("\"grid\":[4,2,1]", "\"grid\":[4,2]"), HasSubstr("three dimensions"));
  EXPECT_THAT(edited_choice("\"block\":[256,1,1]", "\"block\":[256,256,256]"), HasSubstr("more than any device"));
  EXPECT_THAT(edited_choice("\"id\":\"", "\"id\":\"00000000000000000000000000000001\",\"x\":\""),
              HasSubstr("it describes another choice than its name says"));
  EXPECT_THAT(edited_choice("\"device\":\"host\"", "\"device\":\"tpu\""), HasSubstr("does not know"));
  EXPECT_THAT(edited_choice("\"ratio\":2.0", "\"ratio\":\"inf\""), HasSubstr("is not a ratio of times"));
  EXPECT_THAT(edited_choice("\"ratio\":2.0", "\"ratio\":-2.0"), HasSubstr("is not a ratio of times"));
  EXPECT_THAT(edited_choice("\"bytes\":\"", "\"bytes\":\"0g"), HasSubstr("is not hexadecimal"));
  EXPECT_THAT(edited_choice("\"shared_bytes\":0", "\"shared_bytes\":2147483648"), HasSubstr("more than"));
}

// Nothing that failed, checks memory or is a baseline is chosen.
TEST(BadInput, ChoicesOfVariantsThatAreNotToBeChosen) {
  auto fault = [](const std::function<void(Configuration&)>& change) {
    KernelMember kernel = sample_kernel(0);
    VariantMember variant = sample_variant(kernel);
    change(variant.info.configuration);
    variant.info.id = variant_id(kernel.info.id, variant.info.configuration);
    InstanceInfo instance;
    instance.kernel = kernel.info.id;
    instance.arguments.assign(16, '\0');
    const Choice choice = sample_choice(instance, variant.info);
    return fault_of(bundle_bytes([&](Writer& writer) {
      writer.add(std::string(kBundleMember), write(BundleInfo{}));
      add(writer, kernel);
      add(writer, variant);
      writer.add(choice_name(choice.kernel, choice.id), write(choice));
      writer.finish();
    }));
  };
  const char* refused = "no variant of its kernel that may be chosen came before it";
  EXPECT_EQ(fault([](Configuration&) {}), "none");
  EXPECT_THAT(fault([](Configuration& c) { c.check_memory = true; }), HasSubstr(refused));
  EXPECT_THAT(fault([](Configuration& c) { c.baseline = true; }), HasSubstr(refused));
  EXPECT_THAT(fault([](Configuration& c) { c.block = Dim3{32, 1, 1}; }), HasSubstr("says another launch"));
  EXPECT_THAT(fault([](Configuration& c) { c.max_threads = 1; }), testing::Eq("none")) << "blocks of one thread";

  std::vector<TarMember> members = members_of(sample_bundle({1, 1, 500, true, "packs", 0, true, true, true}));
  TarMember& member = find(members, "choices/");
  Choice choice = parse_choice(member.contents, member.name);
  choice.variant = sample_failed(choice.kernel).id;
  member.contents = write(choice);
  EXPECT_THAT(fault_of(tar_of(members)), HasSubstr(refused));
}

TEST(BadInput, BrokenJson) {
  auto with = [](const std::string& json) {
    std::vector<TarMember> members = sample_members();
    find(members, "summary.json").contents = json;
    return fault_of(tar_of(members));
  };
  EXPECT_THAT(with("{\"a\":"), AllOf(HasSubstr("summary.json is not valid json"), HasSubstr("at byte 5")));
  EXPECT_THAT(with("[]"), HasSubstr("is not a json object"));
  EXPECT_THAT(with(""), HasSubstr("is not valid json"));
  EXPECT_THAT(with("{\"a\":\"\xff\xfe\"}"), HasSubstr("is not valid json"));
  EXPECT_THAT(with("{}"), HasSubstr("its digest is missing"));
  EXPECT_THAT(with(std::string(1 << 20, '[')), HasSubstr("nested deeper than 64 levels"));
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 9 << 20; ++i) many += ",0";
  EXPECT_THAT(with(many + "]}"), HasSubstr("is json of more than"));
}

TEST(BadInput, SizesThatLie) {
  // A member that claims far more than comes: nothing is allocated for it, and the stream simply ends early.
  std::vector<TarMember> members = sample_members();
  std::string start = tar_of({members[0], members[1], members[2]});
  start.resize(start.size() - 1024);
  for (const char* name : {"memory/0.pack", "states/00000000000000000000000000000001"}) {
    EXPECT_THAT(fault_of(start + tar_header({name, ""}, 5ull << 30) + "abc"), HasSubstr("claims 5368709120 bytes"));
  }
  EXPECT_THAT(fault_of(start + tar_header({"unknown", ""}, 5ull << 30) + "abc", Memory::kPass),
              HasSubstr("truncated: the bundle was cut short in unknown"));
  std::string raw = "memory/00000000000000000000000000000001/0x1.raw";
  EXPECT_THAT(fault_of(start + tar_header({raw, ""}, 1ull << 30) + "abc"), HasSubstr("truncated"));
  std::string negative = tar_header({"unknown", ""}, 0);
  std::memset(negative.data() + 124, 0xff, 12);
  set_tar_checksum(negative.data());
  EXPECT_THAT(fault_of(start + negative), HasSubstr("the bundle"));
}

// A pack that is all right but for what the test changes, in place of the sample's first.
std::string with_pack(const std::function<void(std::string& index, std::string& frame)>& change) {
  std::vector<TarMember> members = sample_members();
  std::string& pack = find(members, ".pack").contents;
  size_t size = pack_index_size(parse_pack_index(bytes_of(pack), "the pack").size());
  std::string index = pack.substr(0, size), frame = pack.substr(size);
  change(index, frame);
  pack = index + frame;
  return fault_of(tar_of(members));
}

std::string frame_of(size_t bytes) {
  std::string zeros(bytes, '\0'), out(ZSTD_compressBound(bytes), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), zeros.data(), zeros.size(), 1));
  return out;
}

TEST(BadInput, Packs) {
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index[0] = 'X'; }), HasSubstr("is not a pack"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index[4] = 9; }), HasSubstr("pack of version 9"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index[8] = 0; }), HasSubstr("it holds 0 blocks"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index[11] = 0x7f; }),
              HasSubstr("1 to 128 are possible"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index[12] = 1; }), HasSubstr("reserved"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index[16 + 32] = 3; }), HasSubstr("encoding"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index.replace(16, 16, index, 16 + 40, 16); }),
              HasSubstr("twice"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index.replace(16 + 16, 16, index, 16, 16); }),
              HasSubstr("has a base in the same pack"));
  EXPECT_THAT(with_pack([](std::string& index, std::string&) { index.replace(index.size() - 24, 16, 16, 'x'); }),
              HasSubstr("which no pack at hand holds"));
  EXPECT_THAT(with_pack([](std::string& index, std::string& frame) {
                index.resize(20);
                frame.clear();
              }),
              HasSubstr("memory/0.pack"));
  EXPECT_THAT(with_pack([](std::string&, std::string& frame) { frame += "more"; }),
              HasSubstr("exactly one zstd frame"));
  EXPECT_THAT(with_pack([](std::string&, std::string& frame) { frame = "not zstd"; }), HasSubstr("does not hold the"));
}

TEST(BadInput, DecompressionBombs) {
  // A frame that says what it is: a gigabyte.
  EXPECT_THAT(with_pack([](std::string&, std::string& frame) { frame = frame_of(1 << 30); }),
              AllOf(HasSubstr("memory/0.pack"), HasSubstr("its index speaks of")));
  // One that does not say.
  EXPECT_THAT(with_pack([](std::string&, std::string& frame) {
                std::string zeros(16 << 20, '\0'), out(1 << 20, '\0');
                std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
                ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
                out.resize(ZSTD_compress2(context.get(), out.data(), out.size(), zeros.data(), zeros.size()));
                frame = out;
              }),
              HasSubstr("its index speaks of"));
}

TEST(BadInput, MoreMemoryThanAllowed) {
  std::string bytes = sample_bundle({1, 1, 300 * kBlockSize, false, "packs"});
  Fd file = memory_file("bundle", bytes_of(bytes));
  Reader reader(file.get(), "the bundle", Memory::kDecode);
  reader.set_memory_limit(8 << 20);
  std::string message;
  try {
    while (reader.next()) {
    }
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("needs more than 8 MiB"));
  EXPECT_FALSE(reader.next().has_value()) << "nothing comes after a fault";
}

}  // namespace

}  // namespace mneme::bundle
