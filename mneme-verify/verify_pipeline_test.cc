// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-verify as a process, on what mneme-run makes of bundles made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "bundle/json/json.h"
#include "bundle/reader.h"
#include "replay/testing/recording.h"

namespace mneme::run {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint32_t kWords = 50'000;

std::string replayed(const std::string& recording, Words options = {}) {
  options.insert(options.begin(), MNEME_RUN);
  Ended ended = run_program(options, recording);
  EXPECT_EQ(ended.status, 0) << ended.errors;
  return ended.output;
}

std::string one_run(const std::string& fixture, Change change = {}, Words options = {}) {
  Recording recording;
  recording.add_variant(fixture);
  recording.add_instance(kWords, 7, change);
  return replayed(recording.finish(), std::move(options));
}

Ended verify(const std::string& bundle, Words options = {}) {
  options.insert(options.begin(), MNEME_VERIFY);
  return run_program(options, bundle);
}

Words lines(const std::string& report) {
  Words out;
  std::istringstream in(report);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string text(const std::string& line, const char* key) {
  bundle::json::Document document(line, "the report");
  return bundle::json::Object(document).text(key);
}

uint64_t number(const std::string& line, const char* key) {
  bundle::json::Document document(line, "the report");
  return bundle::json::Object(document).number(key);
}

// The bundle with its runs changed, as if someone had tampered with them.
std::string tampered(const std::string& bundle, const std::function<bool(bundle::RunInfo&)>& keep,
                     const Words& replaced = {}) {
  Fd in = memory_file("in", bytes_of(bundle)), out = memory_file("out");
  bundle::Reader reader(in.get(), "the bundle", bundle::Memory::kDecode);
  bundle::Writer writer(out.get(), "the output");
  writer.add(std::string(bundle::kBundleMember), bundle::write(reader.info()));
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) {
      writer.add(bundle::kernel_json_name(kernel->info.id), bundle::write(kernel->info));
      writer.add(bundle::kernel_bitcode_name(kernel->info.id), kernel->bitcode);
    }
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) {
      variant->info.replaced = replaced;
      writer.add(bundle::variant_json_name(variant->info.kernel, variant->info.id), bundle::write(variant->info));
      writer.add(bundle::variant_code_name(variant->info.kernel, variant->info.id, "code.so"), variant->code);
    }
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) {
      writer.add(bundle::instance_name(instance->info.kernel, instance->info.id), bundle::write(instance->info));
    }
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) {
      for (const bundle::BlockDifference& block : run->info.blocks) {
        bundle::Writer::LooseBlock loose[] = {{block.expected, reader.block(block.expected)},
                                              {block.actual, reader.block(block.actual)}};
        writer.add_blocks(loose);
      }
      if (!keep(run->info)) continue;
      writer.add(bundle::run_name(run->info.kernel, run->info.instance, run->info.variant), bundle::write(run->info));
    }
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) {
      writer.add(std::string(bundle::kSummaryMember), bundle::write(*summary));
    }
  }
  writer.finish();
  return read_file("/proc/self/fd/" + std::to_string(out.get()));
}

TEST(Verify, TheRightVariantIsVerified) {
  Ended ended = verify(one_run("right"));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.errors, IsEmpty());
  auto report = lines(ended.output);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(text(report[0], "status"), "verified");
  EXPECT_EQ(text(report[0], "name"), "add_one(unsigned int*, unsigned int)");
  EXPECT_EQ(text(report[0], "passes"), "right");
  EXPECT_EQ(text(report[0], "device"), "host");
  EXPECT_GT(number(report[0], "min_ns"), 0u);
  EXPECT_GE(number(report[0], "median_ns"), number(report[0], "min_ns"));
  EXPECT_GE(number(report[0], "changed_bytes"), uint64_t{kWords});
  EXPECT_THAT(report[0], HasSubstr("\"segments\":[]"));
}

TEST(Verify, FunctionsThatTheHostDeviceReplacesAreTheLikelyReason) {
  auto elsewhere = [](bundle::RunInfo& run) { return run.device = "hip", true; };
  auto errors_of = [](const std::string& bundle) {
    Ended ended = verify(bundle);
    EXPECT_EQ(ended.status, 1);
    return ended.errors;
  };
  std::string wrong = one_run("wrong_byte");
  EXPECT_THAT(errors_of(tampered(wrong, elsewhere, {"exp_f32", "pow_f32"})),
              HasSubstr("recorded on the host device and ran on a GPU: the likely reason is that the host device "
                        "computes exp_f32, pow_f32 with other code"));
  EXPECT_THAT(errors_of(tampered(wrong, elsewhere)), Not(HasSubstr("likely reason")));
  EXPECT_THAT(errors_of(tampered(wrong, [](bundle::RunInfo&) { return true; }, {"pow_f32"})),
              Not(HasSubstr("likely reason")))
      << "it ran where it was recorded";
}

TEST(Verify, ABoundThatJudgesNothingHasNotPassed) {
  Ended ended = verify(one_run("right"), {"--reference", "first", "--fail-if-slower", "1.1"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("--fail-if-slower judged nothing"));

  Recording recording;
  recording.add_variant("right");
  recording.add_variant("fickle");  // right as often as it is executed here
  recording.add_instance(kWords, 7);
  std::string bundle = replayed(recording.finish(), {"--warmup", "0", "--iterations", "1"});
  ended = verify(bundle, {"--reference", "first", "--fail-if-slower", "1.1"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("1 verified run(s) have no times that --fail-if-slower can judge"));
  EXPECT_EQ(verify(bundle, {"--fail-if-slower", "1.1"}).status, 2) << "there is no reference";
  EXPECT_EQ(verify(bundle, {"--reference", "first", "--fail-if-slower", "0"}).status, 2) << "no bound at all";
  EXPECT_EQ(verify(bundle, {"--reference", "first"}).status, 0);
}

TEST(Verify, AWrongByteIsNot) {
  Ended ended = verify(one_run("wrong_byte"));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("mneme-verify: not verified: kernel 'add_one(unsigned int*, unsigned int)'"));
  EXPECT_THAT(ended.errors, HasSubstr("segment at 0x400000000100 (heap)"));
  EXPECT_THAT(ended.errors, HasSubstr("offset 199996"));
  auto report = lines(ended.output);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(text(report[0], "status"), "not verified");
  bundle::json::Document document(report[0], "the report");
  int differences = 0;
  bundle::json::Object(document).each("segments", [&](const bundle::json::Object& difference) {
    differences++;
    EXPECT_EQ(difference.address("address"), kWordsAddress);
    EXPECT_EQ(difference.text("kind"), "heap");
    EXPECT_EQ(difference.number("offset"), (kWords - 1) * 4u);
    EXPECT_EQ(difference.number("bytes"), 1u);
    EXPECT_EQ(difference.number("expected") ^ difference.number("actual"), 0x80u);
  });
  EXPECT_EQ(differences, 1);
}

TEST(Verify, OneChangedByteOfTheEpilogueIsNoticed) {
  Ended ended = verify(one_run("right", {.epilogue_byte = 70'001}));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("offset 70001"));
}

TEST(Verify, WithAndWithoutTheMemory) {
  EXPECT_EQ(verify(one_run("right", {}, {"--keep"})).status, 0);
  EXPECT_EQ(verify(one_run("wrong_byte", {}, {"--keep"})).status, 1);
  EXPECT_EQ(verify(one_run("nothing", {}, {"--max-diff", "0"})).status, 1);
}

TEST(Verify, AReplayThatChangedNothingIsNotVerified) {
  Ended ended = verify(one_run("nothing"));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("changed no memory"));
}

TEST(Verify, AReplayOfNothingIsVerifiedAndWarnedOf) {
  Ended ended = verify(one_run("nothing", {.idle = true}));
  EXPECT_EQ(ended.status, 0) << "as the recorded launch did";
  EXPECT_THAT(ended.errors, HasSubstr("1 of its variants are verified only on launches that change no memory"));
  EXPECT_THAT(ended.output, HasSubstr("\"launch_changed_memory\":false"));
  EXPECT_THAT(verify(one_run("right")).output, HasSubstr("\"launch_changed_memory\":true"));
}

TEST(Verify, AFailedRunIsNotVerified) {
  Ended ended = verify(one_run("killed"));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("mneme-verify: failed: "));
  EXPECT_THAT(ended.errors, HasSubstr("SIGKILL"));
  EXPECT_EQ(text(lines(ended.output).at(0), "status"), "failed");
}

TEST(Verify, AMissingRunIsNotVerified) {
  Recording recording;
  recording.add_variant("right");
  recording.add_variant("fickle");
  recording.add_instance(100, 1);
  recording.add_instance(100, 2);
  std::string bundle = replayed(recording.finish(), {"--warmup", "0", "--iterations", "1"});
  EXPECT_EQ(verify(bundle).status, 0);
  int runs = 0;
  Ended ended = verify(tampered(bundle, [&](bundle::RunInfo&) { return ++runs != 2; }));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("it was not run"));
  auto report = lines(ended.output);
  ASSERT_EQ(report.size(), 4u);
  EXPECT_EQ(text(report[1], "status"), "not verified");
  EXPECT_THAT(report[1], Not(HasSubstr("min_ns")));
}

TEST(Verify, ARunThatHidesItsDifferencesIsNotBelieved) {
  Ended ended = verify(tampered(one_run("wrong_byte"), [](bundle::RunInfo& run) {
    run.differences.clear();
    return true;
  }));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("not believable"));
}

TEST(Verify, NoRunsAtAllIsStatus2) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(100);
  Ended ended = verify(recording.finish());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("put mneme-run before mneme-verify"));
}

TEST(Verify, ATruncatedBundleIsStatus2) {
  std::string bundle = one_run("right");
  for (size_t size : {bundle.size() - 1500, bundle.size() / 2}) {
    Ended ended = verify(bundle.substr(0, size));
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.errors, HasSubstr("cut short"));
  }
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(100);
  Ended marked = verify(replayed(recording.finish(/*truncated=*/true)));
  EXPECT_EQ(marked.status, 2);
  EXPECT_THAT(marked.errors, HasSubstr("did not reach the end"));
  EXPECT_EQ(lines(marked.output).size(), 1u) << "what is there was judged";
}

TEST(Verify, SelectsAsMnemeRunDoes) {
  Recording recording;
  recording.add_variant("right");
  recording.add_variant("right", "other");
  Digest first = recording.add_instance(100, 1);
  recording.add_instance(100, 2);
  recording.add_instance(100, 3, {}, "other");
  std::string bundle = replayed(recording.finish(), {"--kernel", "add_one"});
  Ended all = verify(bundle);
  EXPECT_EQ(all.status, 1);
  EXPECT_EQ(lines(all.output).size(), 3u);
  Ended selected = verify(bundle, {"--kernel", "add_one"});
  EXPECT_EQ(selected.status, 0) << selected.errors;
  EXPECT_EQ(lines(selected.output).size(), 2u);
  EXPECT_EQ(lines(verify(bundle, {"--instance", first.hex()}).output).size(), 1u);
  EXPECT_EQ(verify(bundle, {"--kernel", "absent"}).status, 2);
}

TEST(Verify, AnInstanceWithoutVariantIsAWarning) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(100);
  recording.add_instance(100, 0, {}, "other");
  Ended ended = verify(replayed(recording.finish()));
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.errors, HasSubstr("warning: kernel 'other(unsigned int*, unsigned int)'"));
}

TEST(Verify, WritesATable) {
  Recording recording;
  recording.add_variant("right");
  recording.add_variant("wrong_byte");
  recording.add_instance(100);
  Ended ended = verify(replayed(recording.finish()), {"--format", "table"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.output, testing::StartsWith("KERNEL"));
  EXPECT_THAT(ended.output, HasSubstr("1 of 2 runs verified"));
}

TEST(Verify, WritesJUnit) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/report.xml";
  Recording recording;
  for (const char* fixture : {"right", "wrong_byte", "killed"}) recording.add_variant(fixture);
  recording.add_instance(100);
  EXPECT_EQ(verify(replayed(recording.finish()), {"--junit", path}).status, 1);
  std::string xml = read_file(path);
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"segment at 0x400000000100 (heap)"));
  EXPECT_EQ(verify(one_run("right"), {"--junit", "/nonexistent/x.xml"}).status, 2);
}

TEST(Verify, WritesJUnitToStandardOutputIfThatIsFree) {
  TemporaryFolder folder;
  const std::string bundle = one_run("right"), report = folder.path() + "/report";
  Ended ended = verify(bundle, {"--junit", "-", "-o", report});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("tests=\"1\" failures=\"0\""));
  EXPECT_EQ(lines(read_file(report)).size(), 1u);
  ended = verify(bundle, {"--junit", "-"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("cannot both go to standard output"));
  EXPECT_THAT(ended.output, IsEmpty());
}

TEST(Verify, WritesNoJUnitOverWhatItReadsOrWrites) {
  TemporaryFolder folder;
  const std::string input = folder.path() + "/in.tar", output = folder.path() + "/report", bundle = one_run("right");
  write_file(input, bundle);
  Ended ended = run_program({MNEME_VERIFY, "--junit", input, input}, "");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("is also the input"));
  EXPECT_EQ(read_file(input), bundle);
  ended = verify(bundle, {"--junit", output, "-o", output});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("is also the output"));
}

TEST(Verify, WritesToAFile) {
  TemporaryFolder folder;
  Ended ended = verify(one_run("right"), {"-o", folder.path() + "/report"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.output, IsEmpty());
  EXPECT_EQ(lines(read_file(folder.path() + "/report")).size(), 1u);
}

TEST(Verify, AFullDiskAndAClosedPipeAreErrors) {
  std::string bundle = one_run("right");
  Ended full = run_shell(MNEME_VERIFY " > /dev/full", bundle);
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.errors, HasSubstr("No space left"));
  Ended closed = run_shell("{ sleep 0.3; " MNEME_VERIFY "; } | true", bundle);
  EXPECT_EQ(closed.status, 2);
  EXPECT_THAT(closed.errors, HasSubstr("Broken pipe"));
}

TEST(Verify, RefusesBadInput) {
  EXPECT_EQ(verify("").status, 2);
  EXPECT_EQ(verify("no bundle").status, 2);
  EXPECT_EQ(verify("", {"--format", "prose"}).status, 2);
  std::string bundle = one_run("right");
  bundle[bundle.size() / 3] = static_cast<char>(bundle[bundle.size() / 3] ^ 1);
  EXPECT_EQ(verify(bundle).status, 2) << "a flipped bit";
}

}  // namespace
}  // namespace mneme::run
