// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-restore as a process, on bundles made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "bundle/names.h"
#include "bundle/pack/encoder.h"
#include "bundle/reader.h"
#include "bundle/testing/bad_bundle.h"
#include "bundle/testing/sample.h"
#include "replay/testing/recording.h"

namespace mneme::run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kWords = 50'000;

Ended restore(const std::string& bundle, Words options = {}) {
  options.insert(options.begin(), MNEME_RESTORE);
  return run_program(options, bundle);
}

std::string recorded(uint32_t seed = 7) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(kWords, seed);
  return recording.finish();
}

// What a bundle holds, and the words of each instance's buffer, before and after, as they are restored from it.
struct Contents {
  bundle::BundleInfo info;
  std::vector<Digest> kernels, variants, instances, runs;
  Words others;
  std::vector<std::string> before, after;
  std::optional<bundle::Summary> summary;
};

std::string buffer_of(const bundle::Reader& reader, const bundle::InstanceMember& instance, bool epilogue) {
  const bundle::Segment& segment = instance.info.segments.at(0);
  bundle::Writer::BlockSource block = bundle::blocks_of(reader, instance);
  std::string bytes;
  uint64_t first = segment.address / bundle::kBlockSize * bundle::kBlockSize;
  for (uint64_t at = first; at < segment.address + segment.size; at += bundle::kBlockSize) {
    bytes += text_of(block(at, epilogue));
  }
  return bytes.substr(segment.address - first, segment.size);
}

Contents read(const std::string& bundle) {
  Fd file = memory_file("bundle", bytes_of(bundle));
  bundle::Reader reader(file.get(), "the output", bundle::Memory::kDecode);
  Contents contents;
  contents.info = reader.info();
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) contents.kernels.push_back(kernel->info.id);
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) contents.variants.push_back(variant->info.id);
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) contents.runs.push_back(run->info.variant);
    if (auto* other = std::get_if<bundle::OtherMember>(&*item)) contents.others.push_back(other->name);
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) contents.summary = *summary;
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) {
      contents.instances.push_back(instance->info.id);
      contents.before.push_back(buffer_of(reader, *instance, false));
      contents.after.push_back(buffer_of(reader, *instance, true));
    }
  }
  EXPECT_FALSE(reader.truncated()) << reader.truncation();
  return contents;
}

TEST(Restore, WritesRawMemory) {
  std::string bundle = recorded();
  Ended ended = restore(bundle);
  ASSERT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.errors, IsEmpty());
  Contents contents = read(ended.output);
  EXPECT_EQ(contents.info.memory, "raw");
  EXPECT_EQ(contents.info.provenance.back().tool, "mneme-restore");
  EXPECT_EQ(contents.kernels.size(), 1u);
  EXPECT_EQ(contents.variants.size(), 1u);
  ASSERT_EQ(contents.instances.size(), 1u);
  EXPECT_EQ(contents.before[0], buffer_before(kWords, 7));
  EXPECT_EQ(contents.after[0], buffer_after(kWords, 7));
  ASSERT_TRUE(contents.summary);
  EXPECT_EQ(contents.summary->application, "exited with status 0");
  EXPECT_EQ(restore(bundle).output, ended.output) << "the same bytes every time";
  EXPECT_EQ(read(restore(ended.output).output).after[0], buffer_after(kWords, 7)) << "from a raw bundle too";
}

TEST(Restore, TarUnpacksTheMemory) {
  Ended ended = run_shell(MNEME_RESTORE " | tar xO --wildcards 'memory/*/table.raw' | od -An -c | head -1", recorded());
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("t   t   t   t"));
}

TEST(Restore, WhatItWritesReplays) {
  for (const char* options : {"", " --keep"}) {
    Ended ended = run_shell(std::string(MNEME_RESTORE " | " MNEME_RUN) + options + " | " MNEME_VERIFY, recorded());
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_THAT(ended.output, HasSubstr("\"status\":\"verified\""));
  }
}

TEST(Restore, MergesFiles) {
  TemporaryFolder folder;
  std::string a = folder.path() + "/a.tar", b = folder.path() + "/b.tar";
  Recording first, second;
  first.add_variant("right");
  Digest one = first.add_instance(100, 1);
  Digest two = first.add_instance(100, 2);
  first.add_member("future/one", "of a newer version");
  second.add_variant("right");
  second.add_variant("nothing");
  second.add_instance(100, 2);
  Digest three = second.add_instance(100, 3);
  Digest other = second.add_instance(100, 3, {}, "other");
  second.add_member("future/two", "of a newer version");
  write_file(a, first.finish());
  write_file(b, second.finish());
  Ended ended = restore("", {a, b});
  ASSERT_EQ(ended.status, 0) << ended.errors;
  Contents contents = read(ended.output);
  EXPECT_EQ(contents.info.memory, "kept");
  EXPECT_EQ(contents.info.version, bundle::kKeptBlocks);
  EXPECT_EQ(contents.kernels.size(), 2u);
  EXPECT_EQ(contents.variants.size(), 2u);
  EXPECT_EQ(contents.instances, (std::vector<Digest>{one, two, three, other}));
  EXPECT_EQ(contents.after[2], buffer_after(100, 3));
  EXPECT_EQ(contents.others, (Words{"future/one", "future/two"}));
  EXPECT_EQ(contents.info.provenance.size(), 3u);
  EXPECT_EQ(contents.summary->application, "exited with status 0; exited with status 0");

  Contents raw = read(restore("", {"--raw", a, b}).output);
  EXPECT_EQ(raw.info.memory, "raw");
  EXPECT_EQ(raw.instances, contents.instances);
  EXPECT_EQ(raw.before, contents.before);
  EXPECT_EQ(raw.after, contents.after);
  write_file(folder.path() + "/raw.tar", restore("", {b}).output);
  Contents mixed = read(restore("", {a, folder.path() + "/raw.tar"}).output);
  EXPECT_EQ(mixed.info.memory, "kept");
  EXPECT_EQ(mixed.after, contents.after);
  Ended piped = run_shell(MNEME_RESTORE " <(cat " + a + ") - < " + b, "");
  EXPECT_EQ(read(piped.output).after, contents.after) << piped.errors;
  Contents again = read(restore(ended.output, {"--packs"}).output);
  EXPECT_EQ(again.info.memory, "kept");
  EXPECT_EQ(read(restore(read_file(a), {"--packs"}).output).info.memory, "packs");
  EXPECT_EQ(read(restore(ended.output).output).after, contents.after);
  EXPECT_EQ(again.after, contents.after);

  Contents selected = read(restore("", {"--kernel", "^other", a, b}).output);
  EXPECT_EQ(selected.info.memory, "kept");
  EXPECT_EQ(selected.instances, std::vector<Digest>{other});
  EXPECT_EQ(selected.kernels.size(), 1u);
  selected = read(restore("", {"--instance", two.hex().substr(0, 10), a, b}).output);
  EXPECT_EQ(selected.instances, std::vector<Digest>{two});
  EXPECT_EQ(selected.kernels.size(), 1u) << "the other has no instance there";
  EXPECT_EQ(selected.variants, contents.variants) << "which are all of that kernel";
  EXPECT_EQ(restore("", {"--kernel", "absent", a}).status, 2);
}

// A launch that has gone by is replayed with no code that comes later.
TEST(Restore, RefusesToLoseCodeOfALaunch) {
  TemporaryFolder folder;
  auto file = [&](const std::string& name, const std::string& fixture, uint32_t seed) {
    Recording recording;
    recording.add_variant(fixture);
    recording.add_instance(kWords, seed);
    std::string path = folder.path() + "/" + name;
    write_file(path, recording.finish());
    return path;
  };
  const std::string first = file("first", "right", 7), same = file("same", "right", 7);
  const std::string other = file("other", "wrong_byte", 8), more = file("more", "wrong_byte", 7);
  EXPECT_EQ(restore("", {first, same}).status, 0);
  EXPECT_EQ(restore("", {first, other}).status, 0);
  EXPECT_EQ(restore("", {first, more}).status, 0) << "it has not gone by: nothing came behind it";
  for (const Words& files : {Words{first, other, more}, Words{more, other, first}}) {
    Ended ended = restore("", files);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.errors, HasSubstr("is in two of the files, and only the later one has some of its variants"));
  }
}

TEST(Restore, RefusesTwoKernelsOfOneHash) {
  TemporaryFolder folder;
  std::vector<bundle::TarMember> members = bundle::members_of(recorded());
  std::erase_if(members, [](const auto& member) {
    return member.name.starts_with("instances/") || member.name.starts_with("variants/");
  });
  for (bundle::TarMember& member : members) {
    if (!member.name.ends_with("kernel.json")) continue;
    bundle::KernelInfo info = bundle::parse_kernel(member.contents, member.name);
    info.argument_bytes += 8;
    member.contents = bundle::write(info);
  }
  write_file(folder.path() + "/a.tar", recorded());
  write_file(folder.path() + "/b.tar", bundle::tar_of(members));
  Ended ended = restore("", {folder.path() + "/a.tar", folder.path() + "/b.tar"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("is in two of the files, and is not the same in both"));
}

TEST(Restore, PassesRunsOn) {
  Ended run = run_program({MNEME_RUN, "--keep"}, recorded());
  Recording wrong;
  wrong.add_variant("wrong_byte");
  wrong.add_instance(kWords, 9);
  Ended wrong_run = run_program({MNEME_RUN, "--keep"}, wrong.finish());
  for (const Ended* ended : {&run, &wrong_run}) {
    Ended restored = restore(ended->output);
    ASSERT_EQ(restored.status, 0) << restored.errors;
    EXPECT_EQ(read(restored.output).runs.size(), 1u);
    EXPECT_EQ(run_program({MNEME_VERIFY}, restored.output).status, ended == &run ? 0 : 1);
  }
}

// The run of a bundle with one, in which blocks differ, with a baseline that cites one more.
std::string with_baseline(const std::string& bundle, const std::string& varying) {
  std::vector<bundle::TarMember> members = bundle::members_of(bundle);
  auto member = std::ranges::find_if(members, [](const auto& each) { return each.name.starts_with("runs/"); });
  bundle::RunInfo run = bundle::parse_run(member->contents, member->name);
  EXPECT_FALSE(run.blocks.empty());
  run.baseline = bundle::Baseline{2, "", {}, {{run.blocks.at(0).address, digest_of(varying)}}, true, 0};
  member->contents = bundle::write(run);
  bundle::PackEncoder encoder;
  Bytes pack = encoder.encode({{digest_of(varying), {}, 0}}, [&](size_t, bool) { return bytes_of(varying); });
  members.insert(member, bundle::TarMember{bundle::pack_name(100), std::string(text_of(pack))});
  return bundle::tar_of(members);
}

TEST(Restore, PassesOnWhatRunsCite) {
  Recording recording;
  recording.add_variant("wrong_byte");
  recording.add_instance(kWords, 9);
  const std::string varying(bundle::kBlockSize, '\1');
  const std::string run = with_baseline(run_program({MNEME_RUN, "--keep"}, recording.finish()).output, varying);
  TemporaryFolder folder;
  write_file(folder.path() + "/run.tar", run);
  write_file(folder.path() + "/other.tar", recorded());
  for (const Words& words : {Words{}, Words{"--packs"}, Words{folder.path() + "/other.tar", folder.path() + "/run.tar"},
                             Words{"--packs", "--kernel", "add_one"}}) {
    Ended restored = restore(run, words);
    ASSERT_EQ(restored.status, 0) << restored.errors;
    Fd file = memory_file("bundle", bytes_of(restored.output));
    bundle::Reader reader(file.get(), "the output", bundle::Memory::kDecode);
    bool met = false;
    while (auto item = reader.next()) {
      auto* member = std::get_if<bundle::RunMember>(&*item);
      if (!member) continue;
      met = true;
      EXPECT_EQ(text_of(reader.block(member->info.baseline->blocks.at(0).bytes)), varying);
      EXPECT_NO_THROW(reader.block(member->info.blocks.at(0).actual));
    }
    EXPECT_TRUE(met);
  }
}

// As many bundles as a job has ranks, in a process that may open few files.
// With their kernels, once each.
TEST(Restore, PassesChoicesOn) {
  const std::string one = bundle::sample_bundle({2, 1, 500, true, "packs", 0, false, true, true});
  const std::string more = bundle::sample_bundle({2, 2, 500, true, "packs", 0, false, true, true});
  TemporaryFolder folder;
  write_file(folder.path() + "/one.tar", one);
  write_file(folder.path() + "/more.tar", more);
  auto choices = [](const Ended& ended) {
    EXPECT_EQ(ended.status, 0) << ended.errors;
    std::vector<std::string> names;
    for (const bundle::TarMember& member : bundle::members_of(ended.output)) {
      if (member.name.starts_with("choices/")) names.push_back(member.contents);
    }
    return names;
  };
  EXPECT_EQ(choices(restore(one)).size(), 2u);
  EXPECT_EQ(choices(restore(one, {"--packs"})), choices(restore(one)));
  EXPECT_EQ(choices(restore(one, {"--kernel", "kernel1"})).size(), 1u);
  EXPECT_EQ(choices(run_program({MNEME_RESTORE, folder.path() + "/one.tar", folder.path() + "/more.tar"}, "")).size(),
            5u)
      << "one is in both";
  Digest instance;  // the last
  bundle::sample_bundle({2, 1, 500},
                        [&](const bundle::InstanceInfo& info, const auto&, const auto&) { instance = info.id; });
  EXPECT_EQ(choices(restore(one, {"--instance", instance.hex()})).size(), 1u);
}

TEST(Restore, MergesManyFiles) {
  constexpr uint32_t kRanks = 64;
  TemporaryFolder folder;
  uint64_t sum = 0;
  Recording job;
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    Recording recording;
    recording.add_instance(kWords, rank);
    recording.add_instance(kWords, 1000);  // of all of them
    job.add_instance(kWords, rank);
    if (rank == 0) job.add_instance(kWords, 1000);
    const std::string bundle = recording.finish();
    sum += bundle.size();
    write_file(fmt::format("{}/rank-{:02}.tar", folder.path(), rank), bundle);
  }
  const std::string merge = "ulimit -n 24; " MNEME_RESTORE " " + folder.path() + "/rank-*.tar";
  Ended ended = run_shell(merge, "");
  ASSERT_EQ(ended.status, 0) << ended.errors;
  const uint64_t one = job.finish().size();
  Contents contents = read(ended.output);
  EXPECT_EQ(contents.instances.size(), kRanks + 1);
  EXPECT_EQ(contents.info.provenance.size(), kRanks + 1);
  EXPECT_EQ(contents.before[0], buffer_before(kWords, 0));
  EXPECT_EQ(contents.after[1], buffer_after(kWords, 1000));
  EXPECT_EQ(contents.after[kRanks], buffer_after(kWords, kRanks - 1));
  EXPECT_LE(ended.output.size(), one * 105 / 100) << "of " << sum << " bytes";
  EXPECT_EQ(run_shell(merge, "").output, ended.output);
}

TEST(Restore, DumpsFiles) {
  TemporaryFolder folder;
  std::string into = folder.path() + "/new/dump";
  std::string bundle = recorded();
  Ended ended = restore(bundle, {"--dump", into});
  ASSERT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, IsEmpty());
  Contents contents = read(bundle);
  std::string instance = into + "/instances/" + contents.instances[0].hex();
  EXPECT_EQ(read_file(instance + "/prologue/0x400000000100.raw"), buffer_before(kWords, 7));
  EXPECT_EQ(read_file(instance + "/epilogue/0x400000000100.raw"), buffer_after(kWords, 7));
  EXPECT_EQ(read_file(instance + "/epilogue/table.raw"), std::string(kTableSize, 't'));
  EXPECT_EQ(read_file(instance + "/arguments.raw").size(), 16u);
  EXPECT_THAT(read_file(instance + "/instance.json"), HasSubstr("\"segments\""));
  EXPECT_THAT(read_file(into + "/kernels/" + contents.kernels[0].hex() + "/kernel.json"), HasSubstr("add_one"));

  Ended again = restore(bundle, {"--dump", into});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.errors, HasSubstr("is not empty"));
  EXPECT_EQ(restore(bundle, {"--dump", "/dev/null/x"}).status, 2);
}

TEST(Restore, ChecksOnTheDevice) {
  Ended ended = restore(recorded(), {"--check"});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, IsEmpty());
  EXPECT_THAT(ended.errors, HasSubstr("2 states of 1 instances"));

  Ended taken = run_shell("LD_PRELOAD=" RUN_FIXTURES "/occupy.so " MNEME_RESTORE " --check", recorded());
  EXPECT_EQ(taken.status, 2);
  EXPECT_THAT(taken.errors, HasSubstr("is taken"));
  Ended missing = restore(recorded(), {"--check", "--device", "cuda"});
  EXPECT_EQ(missing.status, 3);
}

TEST(Restore, SaysThatThereIsNoMemory) {
  Ended ended = restore(run_program({MNEME_RUN}, recorded()).output);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("--keep"));
}

TEST(Restore, ATruncatedBundleStillGivesWhatCameBefore) {
  Recording recording;
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2);
  std::string bundle = recording.unfinished();
  Ended ended = restore(bundle.substr(0, bundle.size() - 700));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("mneme-restore: error: standard input was cut short"));
  Contents contents = read(ended.output);
  EXPECT_EQ(contents.instances.size(), 1u);
  EXPECT_TRUE(contents.summary->truncated);
}

TEST(Restore, MergesWhatATruncatedFileStillGives) {
  TemporaryFolder folder;
  Recording recording;
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2);
  const std::string bundle = recording.unfinished();
  write_file(folder.path() + "/cut.tar", bundle.substr(0, bundle.size() - 700));
  write_file(folder.path() + "/whole.tar", recorded());
  Ended ended = restore("", {folder.path() + "/cut.tar", folder.path() + "/whole.tar"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("/cut.tar' was cut short"));
  Contents contents = read(ended.output);
  EXPECT_EQ(contents.after, (std::vector<std::string>{buffer_after(kWords, 1), buffer_after(kWords, 7)}));
  EXPECT_TRUE(contents.summary->truncated);
}

TEST(Restore, RefusesBadUsageAndInput) {
  for (const Words& words : std::vector<Words>{{},
                                               {"--bogus"},
                                               {"/nonexistent"},
                                               {"--device", "abacus"},
                                               {"--check", "-o", "x"},
                                               {"--raw", "--packs"},
                                               {"--packs", "--check"},
                                               {"--raw", "--dump", "x"},
                                               {"--dump", "x", "-o", "-"}}) {
    Ended ended = restore("", words);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.errors, HasSubstr("mneme-restore: error: "));
    EXPECT_THAT(ended.output, IsEmpty());
  }
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.tar";
  write_file(path, recorded());
  Ended same = restore("", {path, "-o", path});
  EXPECT_EQ(same.status, 2);
  EXPECT_EQ(read_file(path), recorded()) << "the input is as it was";
  EXPECT_EQ(restore("", {path, path, "-o", path}).status, 2);
  EXPECT_EQ(read_file(path), recorded());
}

TEST(Restore, AFullDiskAndAClosedPipeAreErrors) {
  Ended full = run_shell(MNEME_RESTORE " > /dev/full", recorded());
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.errors, HasSubstr("No space left"));
  Ended closed = run_shell("(sleep 0.5; exec " MNEME_RESTORE ") | true", recorded());
  EXPECT_EQ(closed.status, 2);
  EXPECT_EQ(closed.errors, "") << "its reader knows why";
}

}  // namespace
}  // namespace mneme::run
