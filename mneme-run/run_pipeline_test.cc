// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-run as a process, on bundles made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "base/process.h"
#include "bundle/reader.h"
#include "replay/testing/recording.h"

namespace mneme::run {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The runs in a bundle, by the fixture that their variant was made of; the last instance's where there are several.
struct Contents {
  std::map<std::string, bundle::RunInfo> runs;
  uint64_t instances = 0, blocks = 0;
  bundle::BundleInfo info;
  bool truncated = false;
  std::optional<bundle::Summary> summary;
  Words others;
};

Contents read(const std::string& bundle) {
  Fd file = memory_file("bundle", bytes_of(bundle));
  bundle::Reader reader(file.get(), "the output", bundle::Memory::kDecode);
  Contents contents;
  contents.info = reader.info();
  std::map<Digest, std::string> variants;
  while (auto item = reader.next()) {
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) {
      variants[variant->info.id] = variant->info.configuration.passes;
    }
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) contents.instances += !instance->info.id.empty();
    if (auto* other = std::get_if<bundle::OtherMember>(&*item)) contents.others.push_back(other->name);
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) contents.summary = *summary;
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) {
      contents.runs[variants.at(run->info.variant)] = run->info;
      for (const bundle::BlockDifference& block : run->info.blocks) {
        EXPECT_EQ(digest_of(reader.block(block.expected)), block.expected);
        EXPECT_EQ(digest_of(reader.block(block.actual)), block.actual);
        contents.blocks++;
      }
    }
  }
  contents.truncated = reader.truncated();
  return contents;
}

Ended run_tool(Words words, const std::string& input) {
  words.insert(words.begin(), MNEME_RUN);
  return run_program(words, input);
}

constexpr uint32_t kWords = 50'000;  // some blocks

std::string one_run(const std::string& fixture, Change change = {}) {
  Recording recording;
  recording.add_variant(fixture);
  recording.add_instance(kWords, 7, change);
  return recording.finish();
}

bundle::RunInfo failed_run(const std::string& fixture, Words options = {}) {
  Ended ended = run_tool(std::move(options), one_run(fixture));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  bundle::RunInfo run = read(ended.output).runs.at(fixture);
  EXPECT_EQ(run.status, "failed");
  EXPECT_THAT(run.reason, HasSubstr("add_one(unsigned int*, unsigned int)"));
  EXPECT_THAT(ended.errors, HasSubstr(run.reason));
  EXPECT_TRUE(run.nanoseconds.empty());
  return run;
}

TEST(Run, TheRightVariantLeavesNoDifference) {
  Ended ended = run_tool({}, one_run("right"));
  ASSERT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.errors, IsEmpty());
  Contents contents = read(ended.output);
  const bundle::RunInfo& run = contents.runs.at("right");
  EXPECT_EQ(run.status, "completed");
  EXPECT_EQ(run.device, "host");
  EXPECT_EQ(run.clock, "steady");
  EXPECT_EQ(run.warmup, 1u);
  EXPECT_EQ(run.nanoseconds.size(), 3u);
  EXPECT_EQ(run.compared_bytes, kWords * 4 + kTableSize);
  EXPECT_GE(run.changed_bytes, kWords) << "the lowest byte of every word, at least";
  EXPECT_THAT(run.differences, IsEmpty());
  EXPECT_EQ(contents.instances, 1u);
  ASSERT_EQ(contents.info.provenance.size(), 2u);
  EXPECT_EQ(contents.info.provenance[1].tool, "mneme-run");
}

TEST(Run, CountsAsAsked) {
  Ended ended = run_tool({"--warmup", "0", "--iterations", "7", "--device", "host"}, one_run("right"));
  ASSERT_EQ(ended.status, 0) << ended.errors;
  bundle::RunInfo run = read(ended.output).runs.at("right");
  EXPECT_EQ(run.warmup, 0u);
  EXPECT_EQ(run.nanoseconds.size(), 7u);
}

TEST(Run, TakesTurnsInRounds) {
  Recording recording;
  for (const char* fixture : {"right", "wrong_byte", "killed"}) recording.add_variant(fixture);
  recording.add_instance(kWords, 7);
  recording.add_instance(kWords, 8);
  Ended ended = run_tool({"--rounds", "4", "--iterations", "2"}, recording.finish());
  ASSERT_EQ(ended.status, 0) << ended.errors;
  Contents contents = read(ended.output);
  for (const char* fixture : {"right", "wrong_byte"}) {
    EXPECT_EQ(contents.runs.at(fixture).rounds, 4u);
    EXPECT_EQ(contents.runs.at(fixture).nanoseconds.size(), 8u);
  }
  EXPECT_THAT(contents.runs.at("right").differences, IsEmpty());
  EXPECT_EQ(contents.runs.at("wrong_byte").differences.size(), 1u);
  EXPECT_EQ(contents.blocks, 2u) << "of two instances, once each";
  EXPECT_EQ(contents.runs.at("killed").status, "failed");
  EXPECT_EQ(contents.runs.at("killed").rounds, 1u);
}

TEST(Run, VariantsThatComeLateTakePartInTheRounds) {
  Recording recording;
  recording.add_instance(kWords, 7);
  for (const char* fixture : {"right", "killed"}) recording.add_variant(fixture);
  recording.add_instance(kWords, 8);
  std::string bundle = recording.finish();
  for (uint64_t size : {bundle.size(), bundle.size() - 2048}) {  // the second time it is cut short
    Ended ended = run_tool({"--rounds", "3", "--iterations", "1"}, bundle.substr(0, size));
    EXPECT_EQ(ended.status, size == bundle.size() ? 0 : 2) << ended.errors;
    EXPECT_EQ(read(ended.output).runs.at("right").nanoseconds.size(), 3u) << ended.errors;
  }
}

TEST(Run, EmptiesCachesWhenAskedTo) {
  Ended ended = run_tool({"--cache", "cold"}, one_run("right"));
  ASSERT_EQ(ended.status, 0) << ended.errors;
  bundle::RunInfo run = read(ended.output).runs.at("right");
  EXPECT_TRUE(run.cold);
  EXPECT_THAT(run.differences, IsEmpty());
  EXPECT_FALSE(read(run_tool({}, one_run("right")).output).runs.at("right").cold);
}

TEST(Run, ConsumesTheMemoryUnlessToldToKeepIt) {
  std::string recording = one_run("right");
  Ended ended = run_tool({}, recording);
  EXPECT_EQ(read(ended.output).info.memory, "none");
  Ended again = run_tool({}, ended.output);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.errors, HasSubstr("--keep"));

  Ended kept = run_tool({"--keep"}, recording);
  EXPECT_EQ(read(kept.output).info.memory, "packs");
  EXPECT_LT(ended.output.size(), kept.output.size());
  auto packs = [](const std::string& bundle) { return run_shell("tar t | grep -c pack || true", bundle).output; };
  EXPECT_EQ(packs(ended.output), "0\n");
  EXPECT_NE(packs(kept.output), "0\n");
  Ended twice = run_tool({"--keep", "--iterations", "5"}, kept.output);
  ASSERT_EQ(twice.status, 0) << twice.errors;
  EXPECT_EQ(read(twice.output).runs.at("right").nanoseconds.size(), 5u) << "the new run stands";
}

TEST(Run, RefusesInstancesThatAreNotCompleteUnlessForced) {
  const Change incomplete{.missing = {"argument 0 points to 0x1000, memory of a test's", "and another"}};
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2, incomplete);
  std::string bundle = recording.finish();
  Ended ended = run_tool({}, bundle);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("argument 0 points to 0x1000, memory of a test's; and another; --force"));
  EXPECT_THAT(ended.errors, HasSubstr("1 recorded launch"));
  Contents contents = read(ended.output);
  EXPECT_EQ(contents.instances, 2u) << "it is passed on";
  EXPECT_EQ(contents.runs.at("right").status, "completed") << "the other one was run";
  EXPECT_EQ(run_shell("tar t | grep -c ^runs/", ended.output).output, "1\n");
  EXPECT_FALSE(contents.truncated);

  Ended forced = run_tool({"--force"}, bundle);
  EXPECT_EQ(forced.status, 0) << forced.errors;
  EXPECT_EQ(run_shell("tar t | grep -c ^runs/", forced.output).output, "2\n");

  Ended nothing = run_tool({}, one_run("right", incomplete));
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.errors, HasSubstr("nothing was run: no instance is complete"));
}

TEST(Run, FindsAWrongByte) {
  Ended ended = run_tool({}, one_run("wrong_byte"));
  ASSERT_EQ(ended.status, 0) << "to judge is mneme-verify's: " << ended.errors;
  Contents contents = read(ended.output);
  const bundle::RunInfo& run = contents.runs.at("wrong_byte");
  EXPECT_EQ(run.status, "completed");
  ASSERT_EQ(run.differences.size(), 1u);
  EXPECT_EQ(run.differences[0].address, kWordsAddress);
  EXPECT_EQ(run.differences[0].bytes, 1u);
  EXPECT_EQ(run.differences[0].first, (kWords - 1) * 4);
  EXPECT_EQ(run.differences[0].expected ^ run.differences[0].actual, 0x80u);
  EXPECT_EQ(contents.blocks, 1u);
}

TEST(Run, FindsAChangedRecording) {
  Ended ended = run_tool({}, one_run("right", {.epilogue_byte = 70'001}));
  bundle::RunInfo run = read(ended.output).runs.at("right");
  ASSERT_EQ(run.differences.size(), 1u);
  EXPECT_EQ(run.differences[0].first, 70'001u);
}

TEST(Run, FindsWhatChangesBetweenExecutions) {
  Ended ended = run_tool({}, one_run("fickle"));
  bundle::RunInfo run = read(ended.output).runs.at("fickle");
  ASSERT_EQ(run.differences.size(), 1u) << ended.errors;
  EXPECT_EQ(run.differences[0].first, 0u);
}

TEST(Run, StoresDifferencesUpToALimit) {
  std::string recording = one_run("nothing");
  Contents all = read(run_tool({}, recording).output);
  EXPECT_EQ(all.blocks, 4u);
  EXPECT_TRUE(all.runs.at("nothing").blocks_complete);
  EXPECT_EQ(all.runs.at("nothing").changed_bytes, 0u);
  Contents some = read(run_tool({"--max-diff", "256K"}, recording).output);
  EXPECT_EQ(some.blocks, 2u);
  EXPECT_FALSE(some.runs.at("nothing").blocks_complete);
  Contents kept = read(run_tool({"--keep"}, recording).output);
  EXPECT_EQ(kept.blocks, 4u);
}

TEST(Run, AWildPointerCostsThatRunOnly) { failed_run("wild"); }

TEST(Run, ACrashCostsThatRunOnly) { EXPECT_THAT(failed_run("killed").reason, HasSubstr("SIGKILL")); }

TEST(Run, AnEarlyExitCostsThatRunOnly) { EXPECT_THAT(failed_run("exits").reason, HasSubstr("exited with status 0")); }

TEST(Run, AnEndlessKernelIsKilled) {
  EXPECT_THAT(failed_run("endless", {"--timeout", "0.3"}).reason, HasSubstr("did not end within 0.3 seconds"));
}

TEST(Run, NonsenseFromTheWorkerCostsThatRunOnly) {
  Ended ended = run_tool({"--timeout", "5"}, one_run("liar"));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(read(ended.output).runs.at("liar").status, "failed");
}

TEST(Run, OtherRunsGoOn) {
  Recording recording;
  for (const char* fixture : {"killed", "right", "wild", "endless"}) recording.add_variant(fixture);
  recording.add_instance(1000, 1);
  recording.add_instance(1000, 2);
  recording.add_variant("wrong_byte");  // comes while the second is in hand
  Ended ended = run_tool({"--timeout", "0.3"}, recording.finish());
  ASSERT_EQ(ended.status, 0) << ended.errors;
  Contents contents = read(ended.output);
  EXPECT_EQ(contents.instances, 2u);
  EXPECT_EQ(contents.runs.at("right").status, "completed");
  EXPECT_THAT(contents.runs.at("right").differences, IsEmpty());
  EXPECT_EQ(contents.runs.at("wrong_byte").status, "completed");
  EXPECT_EQ(contents.runs.at("wrong_byte").differences.size(), 1u);
  for (const char* bad : {"killed", "wild", "endless"}) EXPECT_EQ(contents.runs.at(bad).status, "failed") << bad;
}

TEST(Run, AKernelCannotWriteFilesNorIntoTheBundle) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/forbidden";
  ::setenv("MNEME_TEST_FORBIDDEN", path.c_str(), 1);
  Ended ended = run_tool({}, one_run("hostile"));
  ::unsetenv("MNEME_TEST_FORBIDDEN");
  EXPECT_EQ(read(ended.output).runs.at("hostile").status, "completed");
  EXPECT_THAT(ended.errors, HasSubstr("the kernel speaks"));
  EXPECT_FALSE(file_exists(path));
}

TEST(Run, ATakenAddressIsSaid) {
  Ended ended = run_shell("LD_PRELOAD=" RUN_FIXTURES "/occupy.so " MNEME_RUN, one_run("right"));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  bundle::RunInfo run = read(ended.output).runs.at("right");
  EXPECT_EQ(run.status, "failed");
  EXPECT_THAT(run.reason, HasSubstr("is taken"));
  EXPECT_THAT(run.reason, HasSubstr("0x400000000000"));
}

TEST(Run, CodeThatIsNoneIsSaid) {
  Recording recording;
  std::string code = "garbage";
  recording.add_instance(10);
  bundle::VariantInfo variant;
  variant.kernel = digest_of("kernel add_one");
  variant.configuration.target = "host:x86-64";
  variant.id = bundle::variant_id(variant.kernel, variant.configuration);
  variant.code = "code.so";
  variant.code_digest = digest_of(code);
  recording.add_member(bundle::variant_json_name(variant.kernel, variant.id), bundle::write(variant));
  recording.add_member(bundle::variant_code_name(variant.kernel, variant.id, variant.code), code);
  Ended ended = run_tool({}, recording.finish());
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(read(ended.output).runs.at("").status, "failed");
}

TEST(Run, SelectsKernelsAndInstances) {
  Recording recording;
  recording.add_variant("right");
  recording.add_variant("right", "other");
  Digest first = recording.add_instance(100, 1);
  recording.add_instance(100, 2);
  recording.add_instance(100, 3, {}, "other");
  recording.add_member("future/member", "of a newer version");
  std::string bundle = recording.finish();

  auto runs = [](const Ended& ended) {
    EXPECT_EQ(ended.status, 0) << ended.errors;
    Fd file = memory_file("bundle", bytes_of(ended.output));
    bundle::Reader reader(file.get(), "the output", bundle::Memory::kPass);
    std::vector<Digest> instances;
    while (auto item = reader.next()) {
      if (auto* run = std::get_if<bundle::RunMember>(&*item)) instances.push_back(run->info.instance);
    }
    return instances;
  };
  EXPECT_EQ(runs(run_tool({}, bundle)).size(), 3u);
  EXPECT_EQ(runs(run_tool({"--kernel", "^add"}, bundle)).size(), 2u);
  EXPECT_EQ(runs(run_tool({"--instance", first.hex().substr(0, 8)}, bundle)), std::vector<Digest>{first});
  EXPECT_EQ(read(run_tool({"--kernel", "^add"}, bundle).output).instances, 3u) << "the rest is passed on";
  EXPECT_EQ(read(run_tool({}, bundle).output).others, Words{"future/member"});

  Ended none = run_tool({"--kernel", "absent"}, bundle);
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.errors, HasSubstr("no kernel matches"));
  EXPECT_EQ(run_tool({"--instance", "0123456789abcdef"}, bundle).status, 2);
}

TEST(Run, NothingCompiledIsAnError) {
  Recording recording;
  recording.add_instance(100);
  Ended ended = run_tool({}, recording.finish());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("put mneme-compile before mneme-run"));
  EXPECT_TRUE(read(ended.output).truncated) << "nothing that looks like a whole bundle";
}

TEST(Run, NothingRecordedIsAnError) {
  Recording recording;
  Ended ended = run_tool({}, recording.finish());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("no launch is recorded in the bundle"));
}

TEST(Run, AnInstanceWithoutVariantIsForMnemeVerifyToName) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(100);
  recording.add_instance(100, 0, {}, "other");
  const auto bundle = recording.finish();
  Ended ended = run_tool({}, bundle);
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
  EXPECT_THAT(run_tool({"-v"}, bundle).errors, HasSubstr("warning: kernel 'other(unsigned int*, unsigned int)'"));
}

TEST(Run, ATruncatedBundleStillGivesWhatCameBefore) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2);
  std::string bundle = recording.unfinished();
  Ended ended = run_tool({}, bundle.substr(0, bundle.size() - 700));
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("mneme-run: error: standard input was cut short"));
  Contents contents = read(ended.output);
  EXPECT_FALSE(contents.truncated) << "the archive is closed properly";
  ASSERT_TRUE(contents.summary);
  EXPECT_TRUE(contents.summary->truncated);
  EXPECT_EQ(contents.instances, 1u);
  EXPECT_EQ(contents.runs.at("right").status, "completed");
}

TEST(Run, ReadsRawMemory) {
  Recording recording("raw");
  recording.add_variant("right");
  recording.add_instance(kWords, 3);
  Ended ended = run_tool({}, recording.finish());
  ASSERT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(read(ended.output).runs.at("right").differences, IsEmpty());
}

TEST(Run, AMissingDeviceIsStatus3) {
  Ended ended = run_tool({"--device", "cuda"}, one_run("right"));
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.errors, HasSubstr("cuda"));
}

TEST(Run, RefusesBadUsageAndInput) {
  for (const Words& words : std::vector<Words>{
           {"--iterations", "0"}, {"--timeout", "0"}, {"--timeout", "x"}, {"--bogus"}, {"/nonexistent"}}) {
    Ended ended = run_tool(words, "");
    EXPECT_EQ(ended.status, 2) << words[0];
    EXPECT_THAT(ended.errors, HasSubstr("mneme-run: error: "));
    EXPECT_THAT(ended.output, IsEmpty());
  }
  EXPECT_EQ(run_tool({}, "").status, 2);
  EXPECT_EQ(run_tool({}, "no bundle").status, 2);
}

TEST(Run, AFullDiskAndAClosedPipeAreErrors) {
  std::string recording = one_run("right");
  Ended full = run_shell(MNEME_RUN " > /dev/full", recording);
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.errors, HasSubstr("No space left"));
  Ended closed = run_shell("(sleep 0.5; exec " MNEME_RUN ") | true", recording);
  EXPECT_EQ(closed.status, 2);
  EXPECT_EQ(closed.errors, "") << "its reader knows why";
}

TEST(Run, RefusesATerminal) {
  TemporaryFolder folder;
  write_file(folder.path() + "/in.tar", one_run("right"));
  Ended ended = run_shell("script -qec '" MNEME_RUN " " + folder.path() + "/in.tar' /dev/null", "");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.output + ended.errors, HasSubstr("a bundle is not written to a terminal"));
}

TEST(Run, IsDeterministicButForTimes) {
  std::string recording = one_run("wrong_byte");
  Contents first = read(run_tool({}, recording).output), second = read(run_tool({}, recording).output);
  EXPECT_EQ(first.runs.at("wrong_byte").blocks[0].actual, second.runs.at("wrong_byte").blocks[0].actual);
  EXPECT_EQ(first.runs.at("wrong_byte").changed_bytes, second.runs.at("wrong_byte").changed_bytes);
}

}  // namespace
}  // namespace mneme::run
