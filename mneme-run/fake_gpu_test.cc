// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-run with a GPU that is replayed (lib/device/cuda/testdata/fake_cuda.cc): all that is ours, with no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/file.h"
#include "bundle/reader.h"
#include "replay/testing/recording.h"

namespace mneme::run {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr uint32_t kWords = 50'000;        // some blocks
constexpr uint32_t kManyWords = 20 << 20;  // more blocks than there is staging memory for
constexpr uint32_t kWholeSlots = 4 << 20;

struct Replayed {
  int status = 0;
  std::string errors;
  std::vector<std::pair<std::string, bundle::RunInfo>> runs;  // with what the variant was made of, in order
  std::map<std::string, int> log;                             // how often the driver said so

  std::vector<bundle::RunInfo> of(const std::string& fixture) const {
    std::vector<bundle::RunInfo> found;
    for (const auto& [name, run] : runs) {
      if (name == fixture) found.push_back(run);
    }
    return found;
  }
};

Replayed replay(const std::string& bundle, const std::string& options = "", const std::string& lacking = "") {
  TemporaryFolder folder;
  std::string log = folder.path() + "/log";
  Ended ended = run_shell("LD_LIBRARY_PATH=" FAKE_DRIVER " MNEME_TEST_DRIVER_LOG=" + log +
                              " MNEME_TEST_DRIVER_LACKS=" + lacking + " exec " MNEME_RUN " " + options,
                          bundle);
  Replayed replayed{ended.status, ended.errors, {}, {}};
  if (file_exists(log)) {
    std::string lines = read_file(log);
    for (size_t at = 0, end; (end = lines.find('\n', at)) != std::string::npos; at = end + 1) {
      replayed.log[lines.substr(at, end - at)]++;
    }
  }
  Fd file = memory_file("bundle", bytes_of(ended.output));
  bundle::Reader reader(file.get(), "the output", bundle::Memory::kDecode);
  std::map<Digest, std::string> variants;
  while (auto item = reader.next()) {
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) {
      variants[variant->info.id] = variant->info.configuration.passes;
    }
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) {
      replayed.runs.emplace_back(variants.at(run->info.variant), run->info);
      for (const bundle::BlockDifference& block : run->info.blocks) {
        EXPECT_EQ(digest_of(reader.block(block.actual)), block.actual);
      }
    }
  }
  return replayed;
}

TEST(PlayedGpu, OneContextServesAllInstances) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_fake_variant("wrong_byte");
  for (uint32_t seed : {1, 2, 3}) recording.add_instance(kWords + 1000 * seed, seed);
  Replayed replayed = replay(recording.finish());
  ASSERT_EQ(replayed.status, 0) << replayed.errors;
  ASSERT_THAT(replayed.of("right"), SizeIs(3));
  for (const bundle::RunInfo& run : replayed.of("right")) {
    EXPECT_EQ(run.status, "completed");
    EXPECT_EQ(run.device, "cuda");
    EXPECT_EQ(run.clock, "events");
    EXPECT_THAT(run.differences, IsEmpty());
    EXPECT_GE(run.changed_bytes, kWords);
    EXPECT_EQ(run.nanoseconds, std::vector<uint64_t>(3, 500'000));
  }
  ASSERT_THAT(replayed.of("wrong_byte"), SizeIs(3));
  for (const bundle::RunInfo& run : replayed.of("wrong_byte")) {
    ASSERT_THAT(run.differences, SizeIs(1));
    EXPECT_EQ(run.differences[0].bytes, 1u);
    EXPECT_EQ(run.differences[0].expected ^ run.differences[0].actual, 0x80u);
    EXPECT_THAT(run.blocks, SizeIs(1));
  }
  EXPECT_EQ(replayed.log["context"], 1);
  EXPECT_EQ(replayed.log["launch"], 3 * 2 * (1 + 2 * 3)) << "another one before each that is timed, for the cache";
  EXPECT_GT(replayed.log["unmapped"], 0) << "memory of instances before";
}

TEST(PlayedGpu, ManyBlocksThatDifferAreComparedWithWhatWasRecordedThere) {
  constexpr uint32_t kManyBlocks = 2 << 20;
  Recording recording;
  recording.add_fake_variant("wrong everywhere");
  recording.add_instance(kManyBlocks, 4);
  Replayed replayed = replay(recording.finish());
  std::string expected = buffer_after(kManyBlocks, 4), actual = buffer_before(kManyBlocks, 4);
  for (size_t at = 0; at < actual.size(); at += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, &actual[at], sizeof word);
    word += 3;
    std::memcpy(&actual[at], &word, sizeof word);
  }
  uint64_t bytes = 0;
  for (size_t at = 0; at < actual.size(); at++) bytes += actual[at] != expected[at];
  ASSERT_THAT(replayed.of("wrong everywhere"), SizeIs(1));
  const bundle::RunInfo run = replayed.of("wrong everywhere")[0];
  ASSERT_THAT(run.differences, SizeIs(1));
  EXPECT_EQ(run.differences[0].bytes, bytes);
  EXPECT_EQ(run.differences[0].first, 0u);
  EXPECT_EQ(run.differences[0].expected, static_cast<uint8_t>(expected[0]));
  EXPECT_EQ(run.differences[0].actual, static_cast<uint8_t>(actual[0]));
}

// Where they lie, and with the same result as on the host, where masks are.
TEST(PlayedGpu, ElementsAreComparedOnIt) {
  constexpr uint32_t kManyBlocks = 2 << 20;
  auto observe = [](const std::string& annotation, const std::string& options = "") {
    Recording recording;
    recording.add_fake_variant("wrong everywhere");
    recording.add_instance(kManyBlocks, 4, {.annotation = annotation});
    return replay(recording.finish(), "--iterations 2 " + options);
  };
  const std::string type = R"({"dtype":"i32","threshold":0,"kind":"absolute","norm":"linf")";
  Replayed replayed = observe(type + "}");
  ASSERT_EQ(replayed.status, 0) << replayed.errors;
  EXPECT_EQ(replayed.log["compare_i32"], 3) << "once after each execution that is looked at";
  ASSERT_THAT(replayed.of("wrong everywhere"), SizeIs(1));
  ASSERT_THAT(replayed.of("wrong everywhere")[0].differences, SizeIs(1));
  const bundle::Observation seen = replayed.of("wrong everywhere")[0].differences[0].observation.value();
  EXPECT_EQ(seen.elements, kManyBlocks);
  EXPECT_EQ(seen.differ, kManyBlocks);
  EXPECT_EQ(seen.absolute.linf, 2);
  EXPECT_EQ(seen.absolute.l1, 2. * kManyBlocks);
  EXPECT_EQ(seen.absolute.worst, 0u);

  Replayed masked = observe(type + R"(,"ignore":[{"first":0,"count":1}]})");
  EXPECT_EQ(masked.log["compare_i32"], 3);
  const bundle::Observation rest = masked.of("wrong everywhere").at(0).differences.at(0).observation.value();
  EXPECT_EQ(rest.differ, kManyBlocks - 1);
  EXPECT_EQ(rest.absolute.worst, 1u);

  // What varies by itself is told apart on the host.
  Replayed baseline = observe(type + "}", "--baseline 2");
  EXPECT_EQ(baseline.log["compare_i32"], 0);
}

TEST(PlayedGpu, WhatKernelsAllocatedIsGoneForTheNextInstance) {
  Recording recording;
  recording.add_fake_variant("right with malloc");
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2);
  Replayed replayed = replay(recording.finish());
  EXPECT_THAT(replayed.of("right with malloc"), SizeIs(2));
  EXPECT_EQ(replayed.log["context"], 2);

  // Code does not always say so: that for AMD's GPUs has nothing of that name.
  for (const auto& [kernel, contexts] : {std::pair{"add_one", 1}, {kAllocating, 2}}) {
    Recording other;
    other.add_fake_variant("right", kernel);
    other.add_instance(kWords, 1, {}, kernel);
    other.add_instance(kWords, 2, {}, kernel);
    Replayed again = replay(other.finish());
    EXPECT_THAT(again.of("right"), SizeIs(2)) << again.errors;
    EXPECT_EQ(again.log["context"], contexts) << kernel;
  }
}

TEST(PlayedGpu, AFaultCostsOneRunAndAContext) {
  Recording recording;
  for (const char* fixture : {"right", "faulty", "wrong_byte"}) recording.add_fake_variant(fixture);
  recording.add_instance(kWords, 1);
  recording.add_instance(kWords, 2);
  Replayed replayed = replay(recording.finish());
  ASSERT_EQ(replayed.status, 0) << replayed.errors;
  for (const bundle::RunInfo& run : replayed.of("faulty")) {
    EXPECT_EQ(run.status, "failed");
    EXPECT_THAT(run.reason, HasSubstr("an illegal memory access was encountered"));
  }
  ASSERT_THAT(replayed.of("right"), SizeIs(2));
  for (const bundle::RunInfo& run : replayed.of("right")) EXPECT_THAT(run.differences, IsEmpty());
  for (const bundle::RunInfo& run : replayed.of("wrong_byte")) EXPECT_THAT(run.differences, SizeIs(1));
  EXPECT_LE(replayed.log["context"], 3) << "one more for each fault, unless it was the last";
}

TEST(PlayedGpu, AHangCostsOneRun) {
  Recording recording;
  for (const char* fixture : {"endless", "right"}) recording.add_fake_variant(fixture);
  recording.add_instance(kWords, 1);
  Replayed replayed = replay(recording.finish(), "--timeout 0.3");
  ASSERT_THAT(replayed.of("endless"), SizeIs(1));
  EXPECT_THAT(replayed.of("endless")[0].reason, HasSubstr("did not end within 0.3 seconds"));
  ASSERT_THAT(replayed.of("right"), SizeIs(1));
  EXPECT_THAT(replayed.of("right")[0].differences, IsEmpty());
}

// The replayed GPU copies from staging memory as late as it may: what was written there again too early is found.
TEST(PlayedGpu, StagingMemoryIsUsedAgainOnlyWhenItWasRead) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kManyWords, 5);
  recording.add_instance(kWholeSlots, 6);
  Replayed replayed = replay(recording.finish(), "--iterations 1");
  ASSERT_EQ(replayed.status, 0) << replayed.errors;
  ASSERT_THAT(replayed.of("right"), SizeIs(2));
  for (const bundle::RunInfo& run : replayed.of("right")) {
    EXPECT_EQ(run.status, "completed");
    EXPECT_THAT(run.differences, IsEmpty());
  }
  EXPECT_EQ(replayed.log["pinned"], 8) << "each slot once";
}

TEST(PlayedGpu, LittleIsCopiedWithoutPinning) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 5);
  EXPECT_EQ(replay(recording.finish()).log["pinned"], 0);
}

TEST(PlayedGpu, CachesAreEmptiedWhenAskedTo) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 1);
  std::string bundle = recording.finish();
  Replayed cold = replay(bundle, "--cache cold --iterations 5");
  EXPECT_EQ(cold.log["cache emptied"], 6);
  EXPECT_EQ(cold.log["launch"], 6);
  EXPECT_TRUE(cold.of("right").at(0).cold);
  EXPECT_THAT(cold.of("right").at(0).differences, IsEmpty());
  Replayed warm = replay(bundle);
  EXPECT_EQ(warm.log["cache emptied"], 0);
  EXPECT_FALSE(warm.of("right").at(0).cold);
}

// Its cache is smaller than what the kernel works on: nothing that the launch before left there is of use.
TEST(PlayedGpu, CachesAreFilledOnlyWhereMemoryFits) {
  constexpr uint32_t kMoreThanTheCache = 2 << 20;
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kMoreThanTheCache, 1);
  Replayed replayed = replay(recording.finish());
  EXPECT_EQ(replayed.log["launch"], 4);
  EXPECT_THAT(replayed.of("right").at(0).differences, IsEmpty());
}

// What the launch that is not timed left in memory is gone for the one that is, if it is not always the same.
TEST(PlayedGpu, MemoryIsRestoredAfterLaunchesForTheCache) {
  Recording recording;
  recording.add_fake_variant("every other word");
  recording.add_instance(kWords, 1);
  Replayed replayed = replay(recording.finish(), "--warmup 1 --iterations 2");
  EXPECT_EQ(replayed.log["launch"], 5);
  const bundle::RunInfo run = replayed.of("every other word").at(0);
  EXPECT_EQ(run.status, "completed");
  ASSERT_THAT(run.differences, SizeIs(1));
  EXPECT_THAT(run.others, IsEmpty()) << "the executions that are seen are the even ones";
}

// Also where it changes what others do not.
TEST(PlayedGpu, WhatOnlyLaunchesForTheCacheChangeIsRestored) {
  constexpr uint32_t kBlocks = 4;
  Recording recording;
  recording.add_fake_variant("half, or all");
  recording.add_instance(kBlocks * (64 << 10) / sizeof(uint32_t), 1);
  Replayed replayed = replay(recording.finish(), "--warmup 1 --iterations 2");
  EXPECT_EQ(replayed.log["launch"], 1 + 2 * 2 + 2) << "the first that is timed began with other memory";
  const bundle::RunInfo run = replayed.of("half, or all").at(0);
  EXPECT_EQ(run.status, "completed");
  EXPECT_EQ(run.nanoseconds.size(), 2u);
  ASSERT_THAT(run.differences, SizeIs(1));
  EXPECT_THAT(run.others, IsEmpty()) << "the executions that are seen are those that change half";
}

TEST(PlayedGpu, BlocksGoTogetherAsRecorded) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 1, {.cooperative = true, .cluster = {4, 1, 2}});
  Replayed replayed = replay(recording.finish());
  EXPECT_EQ(replayed.log["cooperative"], 7);
  EXPECT_EQ(replayed.log["cluster 4 1 2"], 7);
  Recording plain;
  plain.add_fake_variant("right");
  plain.add_instance(kWords, 1);
  EXPECT_EQ(replay(plain.finish()).log["cooperative"], 0);
  // The code has its clusters by itself.
  Recording own;
  own.add_fake_variant("right, in clusters");
  own.add_instance(kWords, 1, {.cluster = {4, 1, 2}});
  own.add_instance(kWords, 2, {.cluster = {2, 1, 2}});
  Replayed replayed_own = replay(own.finish());
  EXPECT_EQ(replayed_own.log["cluster 4 1 2"], 0);
  EXPECT_EQ(replayed_own.log["cluster 2 1 2"], 7);
}

// And later ones no less: no kernel is worse off for it, and changing it takes time.
TEST(PlayedGpu, ThreadsHaveTheStackThatTheApplicationAskedFor) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 1, {.stack_bytes = 16384});
  recording.add_instance(kWords, 2, {.stack_bytes = 8192});
  recording.add_instance(kWords, 3);
  Replayed replayed = replay(recording.finish());
  ASSERT_EQ(replayed.status, 0) << replayed.errors;
  EXPECT_EQ(replayed.log["stack 16384"], 1);
  EXPECT_EQ(replayed.log["stack 8192"], 0);
  EXPECT_EQ(replayed.log["launch with stack 16384"], 3 * 7);
  EXPECT_EQ(replayed.errors, "");
}

TEST(PlayedGpu, StacksThatThereAreNotAreTold) {
  Recording recording;
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 1, {.stack_bytes = 300 << 10});
  recording.add_instance(kWords, 2, {.stack_bytes = 600 << 10});
  Replayed replayed = replay(recording.finish());
  EXPECT_THAT(replayed.errors,
              HasSubstr("warning: threads have 262144 bytes of stack here, and the application asked for "
                        "307200"));
  ASSERT_THAT(replayed.of("right"), SizeIs(2));
  EXPECT_EQ(replayed.of("right").at(0).status, "completed");
  EXPECT_EQ(replayed.of("right").at(1).status, "failed");
  EXPECT_THAT(replayed.of("right").at(1).reason,
              HasSubstr("giving each thread the 614400 bytes of stack that the application asked for"));
}

TEST(PlayedGpu, CodeThatTheDriverRefusesCostsOneRunAndNoContext) {
  Recording recording;
  for (const char* fixture : {"no such kernel", "right", "wrong_byte"}) recording.add_fake_variant(fixture);
  recording.add_instance(kWords, 1);
  Replayed replayed = replay(recording.finish());
  EXPECT_EQ(replayed.log["context"], 1);
  EXPECT_THAT(replayed.of("wrong_byte").at(0).differences, SizeIs(1));
  EXPECT_EQ(replayed.of("no such kernel").at(0).status, "failed");
  EXPECT_THAT(replayed.of("right").at(0).differences, IsEmpty());
}

TEST(PlayedGpu, TheHostServesWhereCopiesOfMemoryCannotBeHadAndItIsSaidOnce) {
  Recording recording;
  for (const char* fixture : {"right", "wrong_byte"}) recording.add_fake_variant(fixture);
  for (uint32_t seed : {1, 2}) recording.add_instance(kWords, seed);
  const std::string bundle = recording.finish();
  const std::string said = "memory is compared and restored by the host, which takes longer: ";
  EXPECT_THAT(replay(bundle).errors, Not(HasSubstr(said)));
  for (auto [lacking, reason] : {std::pair("kernels", "loading Mneme's own kernels failed"),
                                 std::pair("memory", "the GPU has too little memory left")}) {
    Replayed replayed = replay(bundle, "", lacking);
    EXPECT_EQ(replayed.status, 0) << replayed.errors;
    for (const bundle::RunInfo& run : replayed.of("right")) EXPECT_THAT(run.differences, IsEmpty());
    ASSERT_THAT(replayed.of("wrong_byte"), SizeIs(2));
    for (const bundle::RunInfo& run : replayed.of("wrong_byte")) EXPECT_EQ(run.differences.at(0).bytes, 1u);
    const size_t first = replayed.errors.find(said + reason);
    ASSERT_NE(first, std::string::npos) << lacking << ": " << replayed.errors;
    EXPECT_EQ(replayed.errors.find(said, first + 1), std::string::npos) << replayed.errors;
  }
}

// Arrays lie where the driver wants them, and handles have other numbers than in the recording.
TEST(PlayedGpu, TexturesAndSurfacesAreMadeAnew) {
  for (Textured textured : {Textured::kArray, Textured::kLevels, Textured::kLinear}) {
    Recording recording;
    const char* right = textured == Textured::kLevels ? "texture levels" : "textures";
    for (const char* fixture : {right, "textures, one texel off"}) recording.add_fake_variant(fixture, kTextured);
    recording.add_instance(kWords, 1, {.textured = textured}, kTextured);
    recording.add_instance(kWords, 2, {.textured = textured}, kTextured);
    Replayed replayed = replay(recording.finish());
    ASSERT_EQ(replayed.status, 0) << replayed.errors;
    ASSERT_THAT(replayed.of(right), SizeIs(2));
    for (const bundle::RunInfo& run : replayed.of(right)) {
      EXPECT_EQ(run.status, "completed") << run.reason;
      EXPECT_THAT(run.differences, IsEmpty());
      EXPECT_GE(run.changed_bytes, 2 * kWords) << "the buffer and the surface";
    }
    EXPECT_EQ(replayed.log["array"], textured == Textured::kLinear ? 2 : 4) << "of each instance, once";
    EXPECT_EQ(replayed.log["array destroyed"], textured == Textured::kLinear ? 1 : 2) << "of the first";
    EXPECT_EQ(
        replayed.log[textured == Textured::kLevels ? "texture with filter 1 and a view" : "texture with filter 1"], 2);
    if (textured == Textured::kLevels) continue;  // the other reads no levels
    ASSERT_THAT(replayed.of("textures, one texel off"), SizeIs(2));
    for (const bundle::RunInfo& run : replayed.of("textures, one texel off")) {
      ASSERT_THAT(run.differences, SizeIs(1)) << run.reason;
      EXPECT_EQ(run.differences[0].address, kSurfaceAddress);
      EXPECT_GE(run.differences[0].bytes, 1u);
      EXPECT_EQ(run.differences[0].first / sizeof(uint32_t), kWords - 1);
    }
  }
}

TEST(PlayedGpu, TexturesThatTheDriverRefusesCostOneRun) {
  Recording recording;
  recording.add_fake_variant("textures", kTextured);
  recording.add_fake_variant("right");
  recording.add_instance(kWords, 1, {.textured = Textured::kArray}, kTextured);
  recording.add_instance(kWords, 2);
  const std::string bundle = recording.finish();
  for (auto [lacking, reason] :
       {std::pair("arrays", "making a texture's array failed"), std::pair("textures", "making a texture failed"),
        std::pair("array_copies", "filling a texture's array failed")}) {
    Replayed replayed = replay(bundle, "", lacking);
    ASSERT_THAT(replayed.of("textures"), SizeIs(1)) << replayed.errors;
    EXPECT_EQ(replayed.of("textures")[0].status, "failed");
    EXPECT_THAT(replayed.of("textures")[0].reason, HasSubstr(reason));
    ASSERT_THAT(replayed.of("right"), SizeIs(1));
    EXPECT_EQ(replayed.of("right")[0].status, "completed");
    EXPECT_EQ(replayed.log["context"], 1) << "nothing of it harms the next";
  }
}

}  // namespace
}  // namespace mneme::run
