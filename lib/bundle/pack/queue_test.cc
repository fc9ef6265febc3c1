// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bundle/names.h"
#include "bundle/testing/bad_bundle.h"
#include "bundle/testing/ranks.h"

namespace mneme::bundle {
namespace {

using testing::HasSubstr;

std::vector<TarMember> packs_of(const std::string& bundle) {
  std::vector<TarMember> packs = members_of(bundle);
  std::erase_if(packs, [](const TarMember& member) { return !member.name.ends_with(".pack"); });
  return packs;
}

// Digests of the blocks that a bundle stores, as often as it does.
std::multiset<Digest> stored_in(const std::string& bundle) {
  std::multiset<Digest> stored;
  for (const TarMember& pack : packs_of(bundle)) {
    for (const PackEntry& entry : parse_pack_index(bytes_of(pack.contents), pack.name)) stored.insert(entry.digest);
  }
  return stored;
}

// The instances' ids and memory, decoded.
std::map<Digest, std::string> memory_in(const std::string& bundle) {
  std::map<Digest, std::string> memory;
  Fd file = memory_file("bundle", bytes_of(bundle));
  Reader reader(file.get(), "the bundle", Memory::kDecode);
  while (auto item = reader.next()) {
    auto* instance = std::get_if<InstanceMember>(&*item);
    if (!instance) continue;
    std::string& bytes = memory[instance->info.id];
    for (const Digest& digest : cited_blocks(instance->prologue, instance->epilogue)) {
      bytes += text_of(reader.block(digest));
    }
  }
  EXPECT_FALSE(reader.truncated());
  return memory;
}

std::map<Digest, std::string> memory_in_all(const std::vector<std::string>& bundles) {
  std::map<Digest, std::string> memory;
  for (const std::string& bundle : bundles) memory.merge(memory_in(bundle));
  return memory;
}

TEST(PackQueue, CopiesPacksOfWhichAllIsWanted) {
  const std::string bundle = rank_bundle({{0, 130, 3, 3}});
  const std::vector<TarMember> before = packs_of(bundle), after = packs_of(passed_on({bundle}));
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); i++) EXPECT_EQ(after[i].contents, before[i].contents) << i;
}

TEST(PackQueue, StoresABlockOnceOverAllBundles) {
  std::vector<std::string> bundles;
  std::vector<Rank> ranks;
  for (uint32_t rank = 0; rank < 4; rank++) {
    ranks.push_back({rank, 130, 3, 2});
    bundles.push_back(rank_bundle({ranks.back()}));
  }
  const std::string merged = passed_on(bundles), captured = rank_bundle(ranks);
  EXPECT_EQ(memory_in(merged), memory_in(captured));
  const std::multiset<Digest> stored = stored_in(merged);
  EXPECT_EQ(stored.size(), std::set<Digest>(stored.begin(), stored.end()).size()) << "each once";
  EXPECT_LE(merged.size(), captured.size() * 105 / 100);
  EXPECT_EQ(passed_on(bundles), merged) << "the same bytes every time";
  EXPECT_EQ(memory_in(passed_on({merged, bundles[2], captured})), memory_in(captured)) << "nothing new in them";
  EXPECT_EQ(stored_in(passed_on({merged, bundles[2], captured})).size(), stored.size());
}

// Between the last launch of a rank that uses the table and the first one of the next rank there are others.
TEST(PackQueue, StoresOnceWhatIsKept) {
  constexpr uint32_t kRanks = 5;
  std::vector<std::string> bundles;
  std::vector<Rank> ranks;
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    ranks.push_back({rank, 60, 3, 5, "packs", 2});
    bundles.push_back(rank_bundle({ranks.back()}));
  }
  const std::map<Digest, std::string> memory = memory_in(rank_bundle(ranks));
  const size_t own = stored_in(bundles[0]).size() - 60;
  const std::string narrow = passed_on(bundles), wide = passed_on(bundles, {}, 100), tight = passed_on(bundles, {}, 20);
  EXPECT_EQ(stored_in(narrow).size(), kRanks * (60 + own));
  EXPECT_EQ(stored_in(wide).size(), 60 + kRanks * own);
  EXPECT_LE(wide.size(), rank_bundle(ranks).size() * 105 / 100);
  EXPECT_GT(stored_in(tight).size(), stored_in(wide).size());
  for (const std::string& merged : {narrow, wide, tight}) EXPECT_EQ(memory_in(merged), memory);
  EXPECT_EQ(passed_on(bundles, {}, 100), wide);
  // Merged again, alone or with others, of which some are in it, decoded.
  EXPECT_EQ(memory_in(passed_on({wide})), memory);
  const std::string half = passed_on({bundles[0], bundles[1], bundles[2]}, {}, 100);
  const std::string again = passed_on({half, bundles[3], half, bundles[4], wide}, {}, 100);
  EXPECT_EQ(memory_in(again), memory);
  EXPECT_EQ(stored_in(again).size(), stored_in(wide).size());
}

TEST(PackQueue, BoundsWhatIsKept) {
  std::vector<std::string> bundles;
  for (uint32_t rank = 0; rank < 12; rank++) bundles.push_back(rank_bundle({{rank, 2, 30, 4}}));
  const std::string merged = passed_on(bundles, {}, 40);
  size_t lists = 0;
  for (const TarMember& member : members_of(merged)) {
    if (!member.name.ends_with(".keep")) continue;
    lists++;
    EXPECT_LE(parse_kept(bytes_of(member.contents), member.name).size(), 40u);
  }
  EXPECT_GT(lists, 0u);
  // Of two instances at most, of what is kept, and a quarter more, besides what the pool rounds up to.
  Fd file = memory_file("bundle", bytes_of(merged));
  Reader reader(file.get(), "the bundle", Memory::kDecode);
  reader.set_memory_limit((2 * 62 + 50) * kBlockSize + (2 << 20));
  size_t instances = 0;
  while (auto item = reader.next()) instances += std::holds_alternative<InstanceMember>(*item);
  EXPECT_EQ(instances, 48u);
}

TEST(PackQueue, CutsPacks) {
  // The second's first pack: 100 blocks of table that are there, and 28 that are not.
  const std::vector<std::string> bundles = {rank_bundle({{0, 100, 20, 2}}), rank_bundle({{1, 120, 30, 2}})};
  const std::string merged = passed_on(bundles);
  EXPECT_EQ(memory_in(merged), memory_in_all(bundles));
  const std::multiset<Digest> stored = stored_in(merged);
  EXPECT_EQ(stored.size(), std::set<Digest>(stored.begin(), stored.end()).size());
  size_t part = stored_in(bundles[1]).size() - 100, whole = stored_in(bundles[0]).size();
  EXPECT_EQ(stored.size(), whole + part);
  // A smaller pack is as well compressed as it would be by itself.
  EXPECT_LE(merged.size(), bundles[0].size() + bundles[1].size() - 98 * kBlockSize);
}

TEST(PackQueue, KeepsWhatOnlyALeftOutInstanceStored) {
  const std::string bundle = rank_bundle({{0, 10, 3, 5}});
  const std::map<Digest, std::string> all = memory_in(bundle);
  std::vector<Digest> order;
  for (const InstanceMember& instance : read_bundle(bundle, Memory::kPass).instances) order.push_back(instance.info.id);
  for (unsigned chosen = 0; chosen < 32; chosen++) {
    auto selected = [&](const InstanceInfo& info) {
      return (chosen >> (std::ranges::find(order, info.id) - order.begin())) % 2 == 1;
    };
    const std::string part = passed_on({bundle}, selected);
    std::map<Digest, std::string> expected;
    for (size_t i = 0; i < order.size(); i++) {
      if ((chosen >> i) % 2 == 1) expected[order[i]] = all.at(order[i]);
    }
    EXPECT_EQ(memory_in(part), expected) << chosen;
    if (chosen == 0) EXPECT_TRUE(packs_of(part).empty()) << "nobody cites any";
    if (chosen == 8) EXPECT_EQ(stored_in(part).size(), 10u + 5 * 3u) << "table, fields, and what these build on";
  }
}

TEST(PackQueue, TakesRawMemoryAmongPacks) {
  Rank raw{1, 100, 5, 2};
  raw.memory = "raw";
  const std::vector<std::string> bundles = {rank_bundle({{0, 100, 5, 2}}), rank_bundle({raw}),
                                            rank_bundle({{2, 100, 5, 2}})};
  const std::string merged = passed_on(bundles);
  EXPECT_EQ(memory_in(merged), memory_in_all(bundles));
  const std::multiset<Digest> stored = stored_in(merged);
  EXPECT_EQ(stored.size(), std::set<Digest>(stored.begin(), stored.end()).size());
}

TEST(PackQueue, PassesOnWhatRunsCite) {
  const std::string block = noise(kBlockSize, 5), varying(kBlockSize, '\1');
  auto bundle = [&](uint32_t step) {
    return bundle_bytes([&](Writer& writer) {
      writer.add(std::string(kBundleMember), write(BundleInfo{1, "host", {}, "packs", {}}));
      KernelMember kernel = sample_kernel(0);
      VariantMember variant = sample_variant(kernel);
      writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
      writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
      writer.add(variant_json_name(kernel.info.id, variant.info.id), write(variant.info));
      writer.add(variant_code_name(kernel.info.id, variant.info.id, variant.info.code), variant.code);
      SampleMemory memory(sample_segments(3000));
      memory.write(memory.segments()[0].address, sample_field(3000, step));
      InstanceInfo instance = sample_instance(kernel, memory, memory, step);
      writer.add_instance(instance, memory.state(), memory.state(),
                          [&](uint64_t address, bool) { return memory.block(address); });
      RunInfo run = sample_run(instance, variant.info);
      run.blocks = {{0x400000000000, memory.state().blocks[0].digest, digest_of(block)}};
      run.baseline->blocks = {{0x400000000000, digest_of(varying)}};
      const Writer::LooseBlock loose[] = {{digest_of(block), bytes_of(block)}, {digest_of(varying), bytes_of(varying)}};
      writer.add_blocks(loose);
      writer.add(run_name(run.kernel, run.instance, run.variant), write(run));
      writer.finish();
    });
  };
  const std::string merged = passed_on({bundle(1), bundle(2), bundle(1)});
  Fd file = memory_file("bundle", bytes_of(merged));
  Reader reader(file.get(), "the bundle", Memory::kDecode);
  int runs = 0;
  while (auto item = reader.next()) {
    auto* run = std::get_if<RunMember>(&*item);
    if (!run) continue;
    runs++;
    EXPECT_EQ(text_of(reader.block(run->info.blocks[0].actual)), block);
    EXPECT_EQ(text_of(reader.block(run->info.baseline->blocks[0].bytes)), varying);
  }
  EXPECT_EQ(runs, 2);
}

TEST(PackQueue, GivesTheInstancesBeforeACut) {
  const std::vector<std::string> bundles = {rank_bundle({{0, 3, 2, 3}}), rank_bundle({{1, 3, 2, 3}})};
  const size_t all = memory_in_all(bundles).size();
  size_t most = 0;
  for (size_t cut = bundles[0].find("summary.json"); cut > 4096; cut -= 1021) {
    const std::string merged = passed_on({bundles[0].substr(0, cut), bundles[1]});
    const std::map<Digest, std::string> memory = memory_in(merged);
    const size_t before = read_bundle(bundles[0].substr(0, cut), Memory::kPass).instances.size();
    ASSERT_EQ(memory.size(), before + 3) << cut;
    most = std::max(most, memory.size());
  }
  EXPECT_EQ(most, all);
}

TEST(PackQueue, CutsOfWhatIsKeptAreSound) {
  const std::string merged =
      passed_on({rank_bundle({{0, 3, 2, 3, "packs", 1}}), rank_bundle({{1, 3, 2, 3, "packs", 1}})}, {}, 2);
  ASSERT_NE(merged.find(".keep"), std::string::npos);
  for (size_t cut = merged.find(".keep"); cut < merged.size(); cut += 6007) {
    const std::string part = merged.substr(0, cut);
    const Contents contents = read_bundle(part, Memory::kDecode);
    if (!contents.truncated) continue;
    EXPECT_EQ(read_bundle(copy_of(part, Memory::kPass), Memory::kDecode).instances.size(), contents.instances.size());
    EXPECT_EQ(copy_of(part, Memory::kDecode), copy_of(part, Memory::kPass));
  }
  EXPECT_EQ(copy_of(merged, Memory::kDecode), merged);
}

TEST(PackQueue, PassesTextOnAsItCame) {
  std::vector<TarMember> members = members_of(rank_bundle({{0, 3, 1, 1}}));
  for (TarMember& member : members) {
    if (!member.name.ends_with("kernel.json") && !member.name.starts_with("instances/")) continue;
    std::string body = member.contents.substr(0, member.contents.rfind(",\"digest\"")) + ",\"later\":[1,{}]";
    member.contents = body + ",\"digest\":\"" + digest_of(body).hex() + "\"}";
  }
  std::map<std::string, std::string> after;
  for (TarMember& member : members_of(passed_on({tar_of(members)}))) after[member.name] = member.contents;
  for (const TarMember& member : members) {
    if (member.name.ends_with(".json") && member.name != kSummaryMember) EXPECT_EQ(after[member.name], member.contents);
  }
}

std::string fault_of(std::vector<TarMember> members) {
  try {
    passed_on({tar_of(members)});
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(PackQueue, RefusesWhatCannotBePassedOn) {
  const std::vector<TarMember> sound = members_of(rank_bundle({{0, 3, 2, 2}}));
  ASSERT_EQ(fault_of(sound), "none");
  auto without = [&](size_t pack) {
    std::vector<TarMember> members = sound;
    std::erase_if(members, [&](const TarMember& member) { return member.name == pack_name(pack); });
    return fault_of(members);
  };
  EXPECT_THAT(without(0), HasSubstr("which no pack at hand holds"));
  EXPECT_THAT(without(1), HasSubstr("which no pack at hand holds"));
  for (const char* change : {"cut short", "longer", "other count", "base"}) {
    std::vector<TarMember> members = sound;
    for (TarMember& member : members) {
      if (member.name != pack_name(0)) continue;
      if (change == std::string("cut short")) member.contents.resize(member.contents.size() - 100);
      if (change == std::string("longer")) member.contents += "more";
      if (change == std::string("other count")) member.contents[8]++;
      if (change == std::string("base")) member.contents[16 + 16] ^= 1;
    }
    EXPECT_THAT(fault_of(members), HasSubstr("memory/0.pack")) << change;
  }
  const std::string bundle = rank_bundle({{0, 3, 2, 3, "packs", 1}});
  for (const char* change : {"cut short", "longer", "other magic", "other version", "other count", "descending"}) {
    std::vector<TarMember> members = members_of(passed_on({bundle}, {}, 2));
    auto list = std::ranges::find_if(members, [](const auto& member) { return member.name.ends_with(".keep"); });
    ASSERT_NE(list, members.end());
    std::string& contents = list->contents;
    ASSERT_EQ(contents.size(), 16u + 2 * 16u);
    if (change == std::string("cut short")) contents.resize(contents.size() - 1);
    if (change == std::string("longer")) contents += "more";
    if (change == std::string("other magic")) contents[0] = 'X';
    if (change == std::string("other version")) contents[4]++;
    if (change == std::string("other count")) contents[8 + 7] = '\x7f';
    if (change == std::string("descending")) std::swap(contents[16], contents[32]);
    EXPECT_THAT(fault_of(members), HasSubstr("memory/0.keep")) << change;
  }
  std::vector<TarMember> raw = sound;
  raw.insert(raw.begin() + 3, TarMember{raw_name(digest_of("x"), "a.raw"), "x"});
  EXPECT_THAT(fault_of(raw), HasSubstr("is raw memory, in a bundle whose memory is packs"));
}

}  // namespace
}  // namespace mneme::bundle
