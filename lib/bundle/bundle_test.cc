// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole bundles through Writer and Reader.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/process.h"
#include "bundle/names.h"
#include "bundle/testing/bad_bundle.h"
#include "bundle/testing/reading.h"
#include "bundle/testing/sample.h"

namespace mneme::bundle {
namespace {

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, GivesBackWhatWasWritten) {
  std::vector<InstanceInfo> instances;
  std::vector<std::pair<SampleMemory, SampleMemory>> memories;
  SampleShape shape{2, 3, 5 * kBlockSize + 1000, true, GetParam()};
  std::string bytes =
      sample_bundle(shape, [&](const InstanceInfo& info, const SampleMemory& before, const SampleMemory& after) {
        instances.push_back(info);
        memories.emplace_back(before, after);
      });
  Fd file = memory_file("bundle", bytes_of(bytes));
  Reader reader(file.get(), "the bundle", Memory::kDecode);
  EXPECT_EQ(reader.info().memory, GetParam());
  EXPECT_EQ(reader.info().provenance.at(0).arguments.at(0), "./app");
  size_t kernels = 0, variants = 0, met = 0, runs = 0, summaries = 0;
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<KernelMember>(&*item)) {
      EXPECT_EQ(kernel->bitcode, sample_kernel(kernels).bitcode);
      EXPECT_EQ(write(kernel->info), write(sample_kernel(kernels).info));
      ++kernels;
    } else if (auto* variant = std::get_if<VariantMember>(&*item)) {
      EXPECT_EQ(variant->code, sample_variant(sample_kernel(variants)).code);
      ++variants;
    } else if (auto* instance = std::get_if<InstanceMember>(&*item)) {
      ASSERT_LT(met, instances.size());
      EXPECT_EQ(write(instance->info), write(instances[met]));
      for (bool epilogue : {false, true}) {
        const SampleMemory& memory = epilogue ? memories[met].second : memories[met].first;
        for (const BlockReference& block : (epilogue ? instance->epilogue : instance->prologue).blocks) {
          EXPECT_EQ(text_of(reader.block(block.digest)), text_of(memory.block(block.address)));
          EXPECT_EQ(text_of(blocks_of(reader, *instance)(block.address, epilogue)),
                    text_of(memory.block(block.address)));
        }
      }
      ++met;
    } else if (auto* run = std::get_if<RunMember>(&*item)) {
      EXPECT_EQ(run->info.nanoseconds, (std::vector<uint64_t>{1200, 1100}));
      ++runs;
    } else {
      EXPECT_EQ(std::get<Summary>(*item).occurrences.size(), 6u);
      ++summaries;
    }
  }
  EXPECT_FALSE(reader.truncated());
  EXPECT_EQ(kernels, 2u);
  EXPECT_EQ(variants, 2u);
  EXPECT_EQ(met, 6u);
  EXPECT_EQ(runs, 6u);
  EXPECT_EQ(summaries, 1u);
}

TEST_P(RoundTrip, IsDeterministic) {
  SampleShape shape{2, 3, 300 * kBlockSize, true, GetParam()};
  EXPECT_EQ(digest_of(sample_bundle(shape)), digest_of(sample_bundle(shape)));
}

TEST_P(RoundTrip, CopiesByteForByte) {
  std::string bytes = sample_bundle({2, 2, 3 * kBlockSize, true, GetParam()});
  EXPECT_EQ(copy_of(bytes, Memory::kPass), bytes);
  EXPECT_EQ(copy_of(bytes, Memory::kDecode), bytes);
}

TEST_P(RoundTrip, GivesChoices) {
  const std::string bytes = sample_bundle({2, 2, 500, true, GetParam(), 0, false, true, true});
  const Contents contents = read_bundle(bytes, Memory::kDecode);
  ASSERT_EQ(contents.choices.size(), 4u);
  EXPECT_TRUE(contents.others.empty());
  for (size_t i = 0; i < 4; ++i) {
    const ChoiceMember& choice = contents.choices[i];
    EXPECT_EQ(choice.info.kernel, contents.instances[i].info.kernel);
    EXPECT_EQ(choice.info.guards.at(0).bytes, contents.instances[i].info.arguments.substr(8, 4));
    EXPECT_EQ(choice.text, write(choice.info));
  }
  EXPECT_EQ(copy_of(bytes, Memory::kPass), bytes);
}

// With the keys that this version does not know, too.
TEST(Bundle, PassesChoicesOnAsTheyAre) {
  std::vector<TarMember> members = members_of(sample_bundle({1, 1, 500, true, "packs", 0, false, true, true}));
  TarMember& member = *std::ranges::find_if(members, [](const auto& one) { return one.name.starts_with("choices/"); });
  std::string body = member.contents.substr(0, member.contents.rfind(",\"digest\":"));
  body += ",\"new\":[1,null]";
  member.contents = body + ",\"digest\":\"" + digest_of(body).hex() + "\"}";
  const Contents copied = read_bundle(copy_of(tar_of(members), Memory::kPass), Memory::kPass);
  ASSERT_EQ(copied.choices.size(), 1u);
  EXPECT_EQ(copied.choices[0].text, member.contents);
}

INSTANTIATE_TEST_SUITE_P(Memory, RoundTrip, testing::Values("packs", "raw"),
                         [](const auto& info) { return info.param; });

TEST(Bundle, PassingGivesInstancesWithoutStates) {
  Contents contents = read_bundle(sample_bundle(), Memory::kPass);
  ASSERT_EQ(contents.instances.size(), 2u);
  EXPECT_TRUE(contents.instances[0].prologue.blocks.empty());
}

TEST(Bundle, HasTheCodeOfKernelsWithoutIr) {
  const std::string bytes = sample_bundle({2, 1, 500, true, "packs", 0, false, false});
  Contents contents = read_bundle(bytes, Memory::kDecode);
  ASSERT_EQ(contents.kernels.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const KernelMember expected = sample_kernel_without_ir(i);
    EXPECT_EQ(contents.kernels[i].code, expected.code);
    EXPECT_EQ(contents.kernels[i].ptx, expected.ptx);
    EXPECT_TRUE(contents.kernels[i].bitcode.empty());
  }
  EXPECT_EQ(contents.instances.size(), 2u);
}

std::string without_ir() { return sample_bundle({2, 1, 500, true, "packs", 0, false, false}); }

size_t count(const std::vector<TarMember>& members, std::string_view part) {
  return static_cast<size_t>(
      std::ranges::count_if(members, [&](const TarMember& one) { return one.name.find(part) != std::string::npos; }));
}

TEST(Bundle, StoresCodeOnce) {
  const std::vector<TarMember> members = members_of(without_ir());
  EXPECT_EQ(members.at(1).name, code_name(sample_kernel_without_ir(0).info.code_digest));
  EXPECT_EQ(count(members, "code/"), 2u);  // a cubin and PTX, of two kernels and two variants
  EXPECT_EQ(count(members, "/kernel."), 2u);
  EXPECT_EQ(count(members, "variants/"), 2u);
  for (const VariantMember& variant : read_bundle(without_ir(), Memory::kPass).variants) {
    EXPECT_EQ(variant.code, sample_kernel_without_ir(0).code);
  }
  EXPECT_EQ(copy_of(without_ir(), Memory::kPass), without_ir());
}

// Of versions in which code followed each kernel and variant.
TEST(Bundle, TakesCodeThatFollowsItsKernel) {
  std::vector<TarMember> old;
  const KernelMember kernel = sample_kernel_without_ir(0);
  for (const TarMember& member : members_of(without_ir())) {
    if (member.name.starts_with("code/")) continue;
    old.push_back(member);
    const std::string folder = member.name.substr(0, member.name.rfind('/') + 1);
    if (member.name.ends_with("/kernel.json")) {
      old.push_back({folder + "kernel.cubin", kernel.code});
      old.push_back({folder + "kernel.ptx", kernel.ptx});
    }
    if (member.name.ends_with("/variant.json")) old.push_back({folder + "code.cubin", kernel.code});
  }
  Contents contents = read_bundle(tar_of(old), Memory::kDecode);
  ASSERT_EQ(contents.kernels.size(), 2u);
  EXPECT_EQ(contents.kernels[1].code, kernel.code);
  EXPECT_EQ(contents.kernels[1].ptx, kernel.ptx);
  EXPECT_EQ(contents.variants.at(1).code, kernel.code);
  EXPECT_EQ(copy_of(tar_of(old), Memory::kPass), without_ir());
}

TEST(Bundle, HoldsNoMoreCodeThanThereIsMemory) {
  Fd file = memory_file("bundle", bytes_of(without_ir()));
  Reader reader(file.get(), "the bundle", Memory::kPass);
  reader.set_memory_limit(sample_kernel_without_ir(0).code.size() + 1);
  try {
    (void)reader.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("and the code before it need more than"), std::string::npos);
  }
}

TEST(Bundle, StoresAnInstanceThatChangesNothingOnce) {
  auto size = [](size_t instances) {
    return bundle_bytes([&](Writer& writer) {
             writer.add(std::string(kBundleMember), write(BundleInfo{1, "host", {}, "packs", {}}));
             KernelMember kernel = sample_kernel(0);
             writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
             writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
             SampleMemory memory(sample_segments(64 * kBlockSize));
             memory.write(memory.segments()[0].address, sample_field(64 * kBlockSize, 1));
             for (size_t i = 0; i < instances; ++i) {
               writer.add_instance(sample_instance(kernel, memory, memory, i), memory.state(), memory.state(),
                                   [&](uint64_t address, bool) { return memory.block(address); });
             }
             writer.finish();
           })
        .size();
  };
  size_t one = size(1), five = size(5);
  EXPECT_GT(one, 32 * kBlockSize);
  EXPECT_LT(five - one, 4 * 4096u);
}

TEST(Bundle, NeverStoresZeroBlocks) {
  std::string bytes = bundle_bytes([&](Writer& writer) {
    writer.add(std::string(kBundleMember), write(BundleInfo{1, "host", {}, "packs", {}}));
    KernelMember kernel = sample_kernel(0);
    writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
    writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
    SampleMemory memory(sample_segments(64 * kBlockSize));
    writer.add_instance(sample_instance(kernel, memory, memory, 0), memory.state(), memory.state(),
                        [&](uint64_t, bool) -> Bytes { throw Error("a zero block was asked for"); });
    EXPECT_FALSE(writer.has(pack_name(0)));
    writer.finish();
  });
  EXPECT_EQ(bytes.find(".pack"), std::string::npos);
  Contents contents = read_bundle(bytes, Memory::kDecode);
  EXPECT_EQ(contents.instances.at(0).prologue.blocks.at(7).digest, zero_block_digest());
}

// Blocks and states that are not cited by one instance are no longer at hand for the next, at either end.
TEST(Bundle, StoresAgainWhatWasNotAtHand) {
  std::string bytes = bundle_bytes([&](Writer& writer) {
    writer.add(std::string(kBundleMember), write(BundleInfo{1, "host", {}, "packs", {}}));
    KernelMember kernel = sample_kernel(0);
    writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
    writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
    SampleMemory a(sample_segments(2 * kBlockSize)), b = a;
    a.write(a.segments()[0].address, sample_field(2 * kBlockSize, 1));
    b.write(b.segments()[0].address, sample_field(2 * kBlockSize, 2));
    size_t index = 0;
    for (const SampleMemory* memory : {&a, &b, &a, &b}) {
      writer.add_instance(sample_instance(kernel, *memory, *memory, index++), memory->state(), memory->state(),
                          [&](uint64_t address, bool) { return memory->block(address); });
    }
    writer.finish();
  });
  EXPECT_EQ(read_bundle(bytes, Memory::kDecode).instances.size(), 4u);
}

TEST(Bundle, WriterRefusesTheSameNameTwice) {
  EXPECT_THROW(bundle_bytes([](Writer& writer) {
                 writer.add("notes.txt", "a");
                 writer.add("notes.txt", "a");
               }),
               Error);
}

TEST(Bundle, WriterRefusesMemoryThatIsNotTheInstances) {
  KernelMember kernel = sample_kernel(0);
  SampleMemory before(sample_segments(kBlockSize)), after = before;
  after.write(after.segments()[0].address, "changed");
  InstanceInfo info = sample_instance(kernel, before, after, 0);
  auto add = [&](const InstanceInfo& instance, const State& prologue, const SampleMemory& memory) {
    return [&, instance, prologue](Writer& writer) {
      writer.add_instance(instance, prologue, after.state(),
                          [&](uint64_t address, bool) { return memory.block(address); });
    };
  };
  EXPECT_THROW(bundle_bytes(add(info, after.state(), after)), Error);
  InstanceInfo larger = info;
  larger.segments.push_back({0x500000000000, 8, SegmentKind::kHeap, "", ""});
  EXPECT_THROW(bundle_bytes(add(larger, before.state(), after)), Error);
  SampleMemory dirty = after;
  dirty.write(block_of(dirty.segments()[0].address), "outside of all segments");
  EXPECT_THROW(bundle_bytes(add(info, before.state(), dirty)), Error);
}

TEST(Bundle, UnfinishedArchiveIsTruncated) {
  std::string bytes = bundle_bytes([](Writer& writer) { writer.add(std::string(kBundleMember), write(BundleInfo{})); });
  EXPECT_TRUE(read_bundle(bytes, Memory::kPass).truncated);
}

TEST(Bundle, UnknownMembersArePassedOn) {
  std::string large(70 << 20, 'x');  // larger than what is held back
  std::string bytes = bundle_bytes([&](Writer& writer) {
    writer.add(std::string(kBundleMember), write(BundleInfo{}));
    writer.add("notes/today.txt", "a note");
    writer.add("large", large);
    writer.finish();
  });
  Contents contents = read_bundle(bytes, Memory::kPass);
  EXPECT_EQ(contents.others, (std::vector<std::string>{"notes/today.txt", "large"}));
  EXPECT_TRUE(copy_of(bytes, Memory::kPass) == bytes);
}

TEST(Bundle, VariantsWithoutCode) {
  std::string bytes = sample_bundle({1, 2, 500, true, "packs", 0, true});
  Contents contents = read_bundle(bytes, Memory::kDecode);
  VariantInfo holder = sample_variant(sample_kernel(0)).info;
  ASSERT_EQ(contents.variants.size(), 3u);
  EXPECT_EQ(contents.variants[1].info.same_as, holder.id);
  EXPECT_EQ(contents.variants[1].code, "");
  EXPECT_NE(contents.variants[2].info.failed, "");
  ASSERT_EQ(contents.runs.size(), 6u);
  EXPECT_EQ(contents.runs[1].info.same_as, holder.id);
  EXPECT_TRUE(contents.runs[0].info.same_as.empty());
  EXPECT_TRUE(copy_of(bytes, Memory::kPass) == bytes);
}

// A tool wrote the variant itself, as another that there is code for, or as one that failed: what the one that comes
// had the code for has to have it.
TEST(Bundle, CodeThatIsLeftOutIsWrittenWhereItIsNeeded) {
  std::string bytes = sample_bundle({1, 1, 500, true, "packs", 0, true});
  VariantMember holder = sample_variant(sample_kernel(0));
  VariantInfo same = sample_same(holder.info);
  Fd file = memory_file("bundle", bytes_of(bytes));
  Reader reader(file.get(), "the bundle", Memory::kPass);
  VariantInfo own = sample_failed(holder.info.kernel);
  own.id = holder.info.id;
  std::string copy = bundle_bytes([&](Writer& writer) {
    writer.add(std::string(kBundleMember), write(reader.info()));
    reader.copy_to(&writer);
    bool first = true;
    while (reader.next()) {
      if (first) writer.add(variant_json_name(own.kernel, own.id), write(own));
      first = false;
    }
    writer.finish();
  });
  Contents contents = read_bundle(copy, Memory::kDecode);
  ASSERT_EQ(contents.variants.size(), 3u);
  EXPECT_EQ(contents.variants[0].info.failed, own.failed);
  EXPECT_EQ(contents.variants[1].info.id, same.id);
  EXPECT_TRUE(contents.variants[1].info.same_as.empty());
  EXPECT_EQ(contents.variants[1].code, holder.code);
}

TEST(Bundle, RunsKeepTheirBlocksWhenMemoryIsLeftOut) {
  SampleShape shape;
  shape.runs = false;
  std::string observed(kBlockSize, 'o'), varying(kBlockSize, '\1'), copy;
  Digest expected;
  std::string bytes = bundle_bytes([&](Writer& writer) {
    writer.add(std::string(kBundleMember), write(BundleInfo{1, "host", {}, "packs", {}}));
    KernelMember kernel = sample_kernel(0);
    VariantMember variant = sample_variant(kernel);
    writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
    writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
    writer.add(variant_json_name(kernel.info.id, variant.info.id), write(variant.info));
    writer.add(variant_code_name(kernel.info.id, variant.info.id, variant.info.code), variant.code);
    SampleMemory memory(sample_segments(kBlockSize));
    memory.write(memory.segments()[0].address, sample_field(kBlockSize, 1));
    InstanceInfo instance = sample_instance(kernel, memory, memory, 0);
    writer.add_instance(instance, memory.state(), memory.state(),
                        [&](uint64_t address, bool) { return memory.block(address); });
    RunInfo run = sample_run(instance, variant.info);
    expected = memory.state().blocks[0].digest;
    run.blocks = {{memory.state().blocks[0].address, expected, digest_of(observed)}};
    run.baseline->blocks = {{run.blocks[0].address, digest_of(varying)}};
    Writer::LooseBlock loose[] = {{digest_of(observed), bytes_of(observed)}, {digest_of(varying), bytes_of(varying)}};
    writer.add_blocks(loose);
    writer.add(run_name(run.kernel, run.instance, run.variant), write(run));
    writer.finish();
  });
  {
    Fd file = memory_file("bundle", bytes_of(bytes));
    Reader reader(file.get(), "the bundle", Memory::kDecode);
    copy = bundle_bytes([&](Writer& writer) {
      BundleInfo info = reader.info();
      info.memory = "none";
      writer.add(std::string(kBundleMember), write(info));
      reader.copy_to(&writer, false);
      while (reader.next()) {
      }
      writer.finish();
    });
  }
  Fd file = memory_file("bundle", bytes_of(copy));
  Reader reader(file.get(), "the copy", Memory::kDecode);
  bool met = false;
  while (auto item = reader.next()) {
    if (auto* instance = std::get_if<InstanceMember>(&*item)) EXPECT_TRUE(instance->prologue.blocks.empty());
    if (!std::holds_alternative<RunMember>(*item)) continue;
    EXPECT_EQ(text_of(reader.block(digest_of(observed))), observed);
    EXPECT_EQ(digest_of(reader.block(expected)), expected);
    EXPECT_EQ(text_of(reader.block(digest_of(varying))), varying);
    EXPECT_THROW(reader.block(digest_of("something else")), Error);
    met = true;
  }
  EXPECT_TRUE(met);
}

TEST(Bundle, IsATarThatTarReads) {
  TemporaryFolder folder;
  write_file(folder.path() + "/a.tar", sample_bundle({1, 1, 3 * kBlockSize, true, "packs"}));
  CommandResult list = run_command({"tar", "-C", folder.path(), "-tvf", folder.path() + "/a.tar"});
  EXPECT_EQ(list.status, 0) << list.errors;
  EXPECT_EQ(list.errors, "");
  EXPECT_NE(list.output.find("-rw-r--r-- 0/0"), std::string::npos) << list.output;
  EXPECT_NE(list.output.find("1970-01-01 00:00 bundle.json\n"), std::string::npos) << list.output;
  CommandResult unpack = run_command({"tar", "-C", folder.path(), "-xf", folder.path() + "/a.tar"});
  EXPECT_EQ(unpack.status, 0) << unpack.errors;
  EXPECT_EQ(read_file(folder.path() + "/" + kernel_bitcode_name(sample_kernel(0).info.id)), sample_kernel(0).bitcode);
}

TEST(Bundle, MembersAreThereWhenTheyAreWritten) {
  Fd file = memory_file("bundle");
  Writer writer(file.get(), "the bundle");
  for (const std::string& name : {std::string(kBundleMember), std::string("a"), std::string("b")}) {
    writer.add(name, name == kBundleMember ? write(BundleInfo{}) : "contents");
    std::string so_far = read_file("/proc/self/fd/" + std::to_string(file.get()));
    EXPECT_EQ(so_far.size() % 512, 0u);
    EXPECT_EQ(members_of(so_far).back().name, name);
  }
}

TEST(Bundle, CorpusOfTheFuzzerIsGood) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MNEME_CORPUS)) {
    Contents contents = read_bundle(read_file(entry.path()), Memory::kDecode);
    EXPECT_FALSE(contents.kernels.empty()) << entry.path();
    EXPECT_EQ(contents.truncated, entry.path().filename() == "truncated") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 7u);
}

// Blocks of runs, too, are at hand until the next instance only.
TEST(Bundle, StoresWhatRunsCiteForEachInstance) {
  const std::string loose(kBlockSize, 'l');
  for (const char* memory : {"packs", "raw"}) {
    const std::string bytes = bundle_bytes([&](Writer& writer) {
      writer.add(std::string(kBundleMember), write(BundleInfo{1, "host", {}, memory, {}}));
      KernelMember kernel = sample_kernel(0);
      VariantMember variant = sample_variant(kernel);
      writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
      writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
      writer.add(variant_json_name(kernel.info.id, variant.info.id), write(variant.info));
      writer.add(variant_code_name(kernel.info.id, variant.info.id, variant.info.code), variant.code);
      SampleMemory state(sample_segments(3000));
      auto block = [&](uint64_t address, bool) { return state.block(address); };
      for (size_t launch = 0; launch < 2; ++launch) {
        InstanceInfo instance = sample_instance(kernel, state, state, launch);
        if (memory == std::string("raw")) {
          writer.add_raw_instance(instance, state.state(), state.state(), block);
        } else {
          writer.add_instance(instance, state.state(), state.state(), block);
        }
        RunInfo run = sample_run(instance, variant.info);
        run.blocks = {{0x400000000000, state.state().blocks[0].digest, digest_of(loose)}};
        const Writer::LooseBlock blocks[] = {{digest_of(loose), bytes_of(loose)}};
        writer.add_blocks(blocks);
        writer.add(run_name(run.kernel, run.instance, run.variant), write(run));
      }
      writer.finish();
    });
    Fd file = memory_file("bundle", bytes_of(bytes));
    Reader reader(file.get(), "the bundle", Memory::kDecode);
    int runs = 0;
    while (auto item = reader.next()) {
      auto* run = std::get_if<RunMember>(&*item);
      if (!run) continue;
      ++runs;
      EXPECT_EQ(text_of(reader.block(run->info.blocks[0].actual)), loose) << memory;
    }
    EXPECT_EQ(runs, 2);
  }
}

TEST(Bundle, WriterReportsAFullDisk) {
  Fd full = open_file("/dev/full", O_WRONLY);
  Writer writer(full.get(), "/dev/full");
  try {
    writer.add(std::string(kBundleMember), write(BundleInfo{}));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "cannot write /dev/full: No space left on device");
  }
}

}  // namespace
}  // namespace mneme::bundle
