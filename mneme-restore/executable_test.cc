// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-restore --executable of recordings made by hand: what the programs that it writes do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "bundle/reader.h"
#include "replay/testing/recording.h"

namespace mneme::run {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint32_t kWords = 30'000;  // two blocks

struct Executable : testing::Test {
  TemporaryFolder folder;
  std::string program = folder.path() + "/it";

  Ended make(const std::string& bundle, const std::string& options = "") {
    return run_shell(MNEME_RESTORE " " + options + " --executable " + program, bundle);
  }
  // A program of what was recorded of `instances` launches and each of the variants.
  void make_of(const Words& variants, uint32_t instances = 1) {
    Recording recording;
    for (const std::string& variant : variants) recording.add_variant(variant);
    for (uint32_t i = 0; i < instances; i++) recording.add_instance(kWords, i);
    Ended made = make(recording.finish());
    ASSERT_EQ(made.status, 0) << made.errors;
    EXPECT_THAT(made.output, IsEmpty());
    EXPECT_THAT(made.errors, HasSubstr("is a program of"));
  }
  Ended run(const std::string& options = "", const std::string& variables = "") {
    return run_shell("env -i " + variables + " " + program + " " + options, "");
  }
};

TEST_F(Executable, ReplaysAndVerifies) {
  make_of({"right"}, 3);
  Ended ended = run();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("3 of 3 runs verified"));
  EXPECT_THAT(ended.errors, IsEmpty());
}

TEST_F(Executable, AWrongVariantIsFoundOut) {
  make_of({"right", "wrong_byte"}, 2);
  Ended ended = run();
  EXPECT_EQ(ended.status, 1) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("2 of 4 runs verified"));
}

TEST_F(Executable, AKernelThatDiesOrHangsCostsThatRun) {
  make_of({"killed", "endless", "right"});
  Ended ended = run("--timeout 0.5");
  EXPECT_EQ(ended.status, 1) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("1 of 3 runs verified"));
  EXPECT_THAT(ended.output, HasSubstr("SIGKILL"));
  EXPECT_THAT(ended.output, HasSubstr("--timeout"));
}

TEST_F(Executable, HasTheOptionsOfReplayAndVerdict) {
  make_of({"right", "wrong_byte"}, 2);
  Ended json = run("--format json --iterations 7 --warmup 2 --instance " + [&] {
    Ended all = run("--format json");
    return all.output.substr(all.output.find("\"instance\":\"") + 12, 10);
  }());
  EXPECT_EQ(json.status, 1) << json.errors;
  EXPECT_THAT(json.output, HasSubstr("\"iterations\":7"));
  EXPECT_EQ(std::count(json.output.begin(), json.output.end(), '\n'), 2);
  EXPECT_THAT(json.errors, HasSubstr("not verified"));

  EXPECT_EQ(run("--dtype u8 --threshold 255").status, 0) << "the tolerance that was given";
  EXPECT_EQ(run("", "MNEME_DTYPE=u8 MNEME_THRESHOLD=255").status, 0) << "and from the environment";
  EXPECT_EQ(run("--kernel absent").status, 2);
  EXPECT_EQ(run("--iterations 0").status, 2);
  Ended help = run("--help");
  EXPECT_THAT(help.output, HasSubstr("Usage: it [OPTIONS]"));
  EXPECT_THAT(run("--bogus").errors, HasSubstr("it: error: "));
}

TEST_F(Executable, WritesItsReportsToFiles) {
  make_of({"right"});
  std::string junit = folder.path() + "/junit.xml", report = folder.path() + "/report";
  Ended ended = run("--junit " + junit + " -o " + report);
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, IsEmpty());
  EXPECT_THAT(read_file(report), HasSubstr("1 of 1 runs verified"));
  EXPECT_THAT(read_file(junit), HasSubstr("<testsuite"));
  EXPECT_EQ(run("-o /dev/full").status, 2);
}

TEST_F(Executable, WritesTheRunsAsMnemeRunDoes) {
  make_of({"right", "wrong_byte"}, 2);
  std::string runs = folder.path() + "/runs.tar", kept = folder.path() + "/kept.tar";
  EXPECT_EQ(run("--runs " + runs).status, 1);
  EXPECT_EQ(run("--runs " + kept + " --keep").status, 1);
  EXPECT_LT(read_file(runs).size(), read_file(kept).size());
  for (const std::string& file : {runs, kept}) {
    Ended judged = run_program({MNEME_VERIFY, "--format", "table"}, read_file(file));
    EXPECT_EQ(judged.status, 1) << judged.errors;
    EXPECT_THAT(judged.output, HasSubstr("2 of 4 runs verified"));
  }
  EXPECT_THAT(run_program({MNEME_RUN}, read_file(runs)).errors, HasSubstr("--keep"));
  EXPECT_EQ(run_shell(MNEME_RUN " | " MNEME_VERIFY, read_file(kept)).status, 1) << "its memory is there";
  Ended piped = run("--runs - -o " + folder.path() + "/report");
  EXPECT_EQ(run_program({MNEME_VERIFY}, piped.output).status, 1);

  EXPECT_THAT(run("--keep").errors, HasSubstr("--runs"));
  EXPECT_THAT(run("--runs -").errors, HasSubstr("standard output"));
  EXPECT_EQ(run("--runs /dev/full").status, 2);
}

TEST_F(Executable, SaysWhatCodeItLacks) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(kWords, 1);
  Ended made = make(recording.finish());
  EXPECT_EQ(made.status, 0) << made.errors;
  EXPECT_THAT(made.errors, HasSubstr("cannot be compiled with --as-recorded")) << "its bitcode is none";
  EXPECT_THAT(made.errors, HasSubstr("cannot be compiled with --check-memory"));
  for (const char* options : {"--baseline 2", "--check-memory"}) {
    Ended ended = run(options);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.errors, HasSubstr("has no code to replay with " + std::string(options).substr(0, 10)));
    EXPECT_THAT(ended.output, IsEmpty());
  }
  EXPECT_THAT(run("--baseline 1").errors, HasSubstr("from 2"));
}

TEST_F(Executable, GivesTheBundleBack) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(kWords, 1);
  std::string bundle = recording.finish();
  Ended run_before = run_program({MNEME_RUN, "--keep"}, bundle);
  ASSERT_EQ(make(run_before.output).status, 0);
  Ended back = run("--bundle -");
  ASSERT_EQ(back.status, 0) << back.errors;
  EXPECT_EQ(run_shell(MNEME_RUN " | " MNEME_VERIFY, back.output).status, 0);
  EXPECT_THAT(back.output, Not(HasSubstr("runs/"))) << "runs made before are no part of the recording";
  EXPECT_THAT(back.output, HasSubstr("memory/0.pack"));

  std::string file = folder.path() + "/back.tar";
  EXPECT_EQ(run("--bundle " + file).status, 0);
  EXPECT_EQ(read_file(file), back.output);
  std::string first = read_file(program);
  ASSERT_EQ(run_shell(MNEME_RESTORE " --executable " + program, run_before.output).status, 0);
  EXPECT_EQ(read_file(program), first) << "the same input, the same bytes";
}

TEST_F(Executable, HoldsWhatWasSelected) {
  Recording recording;
  recording.add_variant("right");
  recording.add_variant("right", "other");
  recording.add_instance(kWords, 1);
  Digest second = recording.add_instance(kWords, 2);
  recording.add_instance(kWords, 2, {}, "other");
  std::string bundle = recording.finish();
  ASSERT_EQ(make(bundle, "--instance " + second.hex().substr(0, 12)).status, 0);
  EXPECT_THAT(run().output, HasSubstr("1 of 1 runs verified")) << "though its blocks cite the launch before it";
  ASSERT_EQ(make(bundle, "--kernel ^other").status, 0);
  EXPECT_THAT(run().output, HasSubstr("other(unsigned int*, unsigned int)"));
}

TEST_F(Executable, WithoutVariantsThereIsNone) {
  Recording recording;
  recording.add_instance(kWords, 1);
  Ended ended = make(recording.finish());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("put mneme-compile before"));
  EXPECT_FALSE(file_exists(program));

  Recording half;
  half.add_variant("right");
  half.add_instance(kWords, 1);
  half.add_instance(kWords, 2, {}, "other");
  ended = make(half.finish());
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("warning: kernel 'other(unsigned int*, unsigned int)' was not compiled"));
  ended = run();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("met no variant"));
}

TEST_F(Executable, OfWhatWasCutShortSaysSo) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2);
  std::string bundle = recording.unfinished();
  Ended made = make(bundle.substr(0, bundle.size() - 700));
  EXPECT_EQ(made.status, 2);
  EXPECT_THAT(made.errors, HasSubstr("cut short"));
  Ended ended = run();
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.output, HasSubstr("1 of 1 runs verified"));
}

TEST_F(Executable, ADamagedOneSaysSo) {
  make_of({"right"});
  std::string whole = read_file(program);
  auto refused = [&](const std::string& bytes, const std::string& why) {
    write_file(program, bytes);
    Ended ended = run();
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.errors, HasSubstr(why));
    EXPECT_THAT(ended.output, IsEmpty());
  };
  refused(whole.substr(0, whole.size() - 1), "cut short");
  refused(whole.substr(0, whole.size() - 3000), "cut short");
  refused(whole + "more", "goes on");
  refused(read_file(MNEME_REPLAY), "holds no recording");
  std::string flipped = whole;
  flipped[whole.size() - 5000] ^= 1;
  refused(flipped, "damaged");
}

TEST_F(Executable, CodeForALaterProcessorIsRefused) {
  Recording recording;
  recording.add_instance(kWords);
  std::string code = read_file(RUN_FIXTURES "/right.so");
  bundle::VariantInfo variant;
  variant.kernel = digest_of("kernel add_one");
  variant.configuration.target = "host:x86-64-v9";
  variant.id = bundle::variant_id(variant.kernel, variant.configuration);
  variant.code = "code.so";
  variant.code_digest = digest_of(code);
  recording.add_member(bundle::variant_json_name(variant.kernel, variant.id), bundle::write(variant));
  recording.add_member(bundle::variant_code_name(variant.kernel, variant.id, variant.code), code);
  ASSERT_EQ(make(recording.finish()).status, 0);
  Ended ended = run("--format json");
  EXPECT_EQ(ended.status, 1) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("compiled for processors of the level x86-64-v9"));
  EXPECT_THAT(ended.errors, HasSubstr("mneme-compile --target host:"));
}

TEST_F(Executable, OfAGpuNeedsItsDriver) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2);
  Ended made = make(recording.finish());
  ASSERT_EQ(made.status, 0) << made.errors;
  Ended ended = run("--format json", "LD_LIBRARY_PATH=" FAKE_DRIVER " MNEME_TEST_DRIVER_LOG=/dev/null");
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("\"device\":\"cuda\""));
  EXPECT_THAT(ended.output, Not(HasSubstr("not verified")));

  if (file_exists("/dev/nvidiactl")) return;
  ended = run();
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.errors, HasSubstr("NVIDIA"));
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
}

TEST_F(Executable, RefusesBadUsage) {
  Recording recording;
  recording.add_variant("right");
  recording.add_instance(kWords, 1);
  std::string bundle = recording.finish();
  EXPECT_EQ(make(bundle, "-o " + folder.path() + "/other").status, 2);
  EXPECT_EQ(run_program({MNEME_RESTORE, "--executable", "/dev/null"}, bundle).status, 2);
  EXPECT_EQ(run_program({MNEME_RESTORE, "--executable", "/nonexistent/it"}, bundle).status, 2);
  std::string input = folder.path() + "/in.tar";
  write_file(input, bundle);
  Ended ended = run_program({MNEME_RESTORE, "--executable", input, input}, "");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(read_file(input), bundle) << "the input is as it was";
}

}  // namespace
}  // namespace mneme::run
