// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"

namespace mneme::run {
namespace {

constexpr uint64_t kBlock = bundle::kBlockSize;
constexpr uint64_t kBase = 0x400000000000;

// A device whose kernels are C++ functions on its memory.
class FakeImage final : public device::Image {
 public:
  FakeImage(std::map<uint64_t, std::string>& memory, std::span<const device::BlockRange> ranges, bool& from_host)
      : memory_(memory), from_host_(from_host) {
    for (const device::BlockRange& range : ranges) {
      for (uint64_t at = 0; at < range.size; at += kBlock) copy_[range.address + at] = std::string(kBlock, '?');
    }
  }
  void take() override {
    for (auto& [address, block] : copy_) block = memory_.at(address);
  }
  void write(uint64_t address, Bytes blocks) override {
    for (uint64_t at = 0; at < blocks.size(); at += kBlock) {
      copy_.at(address + at) = std::string(text_of(blocks.subspan(at, kBlock)));
    }
  }
  void clear(const device::BlockRange& range) override {
    for (uint64_t at = 0; at < range.size; at += kBlock) copy_.at(range.address + at).assign(kBlock, '\0');
  }
  std::vector<device::BlockChange> changes() override {
    std::vector<device::BlockChange> changes;
    for (const auto& [address, block] : copy_) {
      uint64_t bytes = 0;
      for (uint64_t i = 0; i < kBlock; i++) bytes += block[i] != memory_.at(address)[i];
      if (bytes > 0) changes.push_back({address, bytes});
    }
    return changes;
  }
  void put_back_from_host(const device::BlockRange& range) override {
    put_back(range);
    from_host_ = true;
  }
  void put_back(const device::BlockRange& range) override {
    from_host_ = false;
    for (uint64_t at = 0; at < range.size; at += kBlock) memory_.at(range.address + at) = copy_.at(range.address + at);
  }
  void read(uint64_t address, std::span<std::byte> blocks) override {
    for (uint64_t at = 0; at < blocks.size(); at += kBlock) {
      std::memcpy(&blocks[at], copy_.at(address + at).data(), kBlock);
    }
  }
  void compare(device::Code&, uint64_t, uint64_t, uint32_t, bundle::Dim3, double, std::span<std::byte>) override {
    throw Error("this device has no comparison kernels");
  }

 private:
  std::map<uint64_t, std::string>& memory_;
  std::map<uint64_t, std::string> copy_;
  bool& from_host_;  // the last that was put back
};

class FakeDevice : public device::Device {
 public:
  std::string name() const override { return "fake"; }
  std::string clock() const override { return "sundial"; }
  bool runs_in_this_process() const override { return true; }
  void map(uint64_t address, uint64_t size) override {
    if (address == taken) throw Error("taken");
    for (uint64_t at = 0; at < size; at += kBlock) memory[address + at] = std::string(kBlock, '\0');
  }
  void write(uint64_t address, Bytes bytes) override { byte_copy(address, bytes.size(), bytes.data(), nullptr); }
  void read(uint64_t address, std::span<std::byte> out) override {
    byte_copy(address, out.size(), nullptr, out.data());
  }
  std::unique_ptr<device::Code> load(const bundle::KernelInfo&, Bytes) override {
    return std::make_unique<device::Code>();
  }
  uint64_t execute(device::Code&, const device::Launch& with) override {
    launch = with;
    kernel(executions++);
    if (from_host) ++executions_from_host;
    return (from_host ? takes_from_host.value_or(takes) : takes) + static_cast<uint64_t>(executions);
  }

  uint64_t cache_size() const override { return cache; }
  std::unique_ptr<device::Image> make_image(std::span<const device::BlockRange> ranges) override {
    return keeps_images ? std::make_unique<FakeImage>(memory, ranges, from_host) : nullptr;
  }

  char& at(uint64_t address) { return memory.at(address / kBlock * kBlock)[address % kBlock]; }

  std::map<uint64_t, std::string> memory;
  std::function<void(int execution)> kernel = [](int) {};
  int executions = 0;
  device::Launch launch;  // the last
  uint64_t taken = 0;
  bool keeps_images = false;
  uint64_t cache = 0;      // bytes
  bool from_host = false;  // memory was put back from there
  int executions_from_host = 0;
  std::optional<uint64_t> takes_from_host;
  uint64_t takes = 100;  // nanoseconds, and one more each time

 private:
  void byte_copy(uint64_t address, uint64_t size, const std::byte* in, std::byte* out) {
    for (uint64_t i = 0; i < size; i++) {
      if (in) at(address + i) = static_cast<char>(in[i]);
      if (out) out[i] = static_cast<std::byte>(at(address + i));
    }
  }
};

// An instance of three blocks: a segment of two and a bit, and a small one behind it in the third. The recorded kernel
// added 1 to byte 10 of each block.
// The parameter: whether the device keeps images.
struct Replayed : testing::TestWithParam<bool> {
  FakeDevice device;
  bundle::InstanceMember instance;
  std::map<Digest, std::string> blocks;
  std::vector<Digest> fetched;
  RunSettings settings;
  std::map<uint64_t, std::string> observed;
  int foreign = 0;
  size_t at_a_time = 2;

  Digest store(const std::string& contents) {
    Digest digest = digest_of(contents);
    if (digest != bundle::zero_block_digest()) blocks[digest] = contents;
    return digest;
  }

  void SetUp() override {
    device.keeps_images = GetParam();
    instance.info.segments = {{kBase, 2 * kBlock + 100, {}, "", ""}, {kBase + 2 * kBlock + 256, 100, {}, "", ""}};
    instance.info.grid = {1, 1, 1};
    for (uint64_t i = 0; i < 3; i++) {
      std::string contents(kBlock, i == 1 ? '\0' : static_cast<char>('a' + i));
      Digest before = store(contents);
      contents[10]++;
      if (i != 1) instance.prologue.blocks.push_back({kBase + i * kBlock, before});
      instance.epilogue.blocks.push_back({kBase + i * kBlock, store(contents)});
    }
    device.kernel = [this](int) { right(); };
  }

  void right() {
    for (uint64_t i = 0; i < 3; i++) device.at(kBase + i * kBlock + 10)++;
  }

  Replay replay() {
    return Replay(device, instance, [this](std::span<const Digest> digests, const Replay::Take& take) {
      for (size_t first = 0; first < digests.size(); first += at_a_time) {
        std::string together;
        for (const Digest& digest : digests.subspan(first, std::min(at_a_time, digests.size() - first))) {
          fetched.push_back(digest);
          together += blocks.at(digest);
        }
        take(first, bytes_of(together));
      }
    });
  }
  bundle::RunInfo run() {
    Replay replay = this->replay();
    return run(replay);
  }
  bundle::Baseline measure(Replay& replay, uint32_t executions) {
    settings.baseline = executions;
    bundle::RunInfo run = replay.measure(
        {}, {}, {}, settings, [this](bool begins) { foreign += begins ? 1 : -1; },
        [this](uint64_t address, const Digest& digest, Bytes bytes) {
          observed[address] = std::string(text_of(bytes));
          EXPECT_EQ(digest, digest_of(bytes));
        });
    return run.baseline.value();
  }
  bundle::RunInfo run(Replay& replay) {
    return replay.run(
        {}, {}, {}, settings, [this](bool begins) { foreign += begins ? 1 : -1; },
        [this](uint64_t address, const Digest&, Bytes actual) { observed[address] = std::string(text_of(actual)); });
  }
};

TEST_P(Replayed, TheRightKernelLeavesNoDifference) {
  bundle::RunInfo run = this->run();
  EXPECT_EQ(run.status, "completed");
  EXPECT_EQ(run.device, "fake");
  EXPECT_EQ(run.clock, "sundial");
  EXPECT_EQ(run.nanoseconds, (std::vector<uint64_t>{102, 103, 104})) << "one warm-up, three iterations";
  EXPECT_EQ(run.changed_bytes, 3u);
  EXPECT_EQ(run.compared_bytes, 2 * kBlock + 200);
  EXPECT_TRUE(run.differences.empty());
  EXPECT_TRUE(run.blocks.empty());
  EXPECT_TRUE(run.blocks_complete);
  EXPECT_EQ(foreign, 0);
  EXPECT_EQ(device.at(kBase + 10), 'a') << "restored at the end";
}

TEST_P(Replayed, EveryExecutionStartsFromThePrologue) {
  std::vector<char> seen;
  device.kernel = [&](int) {
    for (uint64_t at : {kBase + 10, kBase + kBlock + 10, kBase + 77}) seen.push_back(device.at(at));
    right();
    device.at(kBase + kBlock + 5) = 'x';  // a stray write to what was zero
    device.at(kBase + 77)++;
  };
  run();
  ASSERT_EQ(seen.size(), 12u);
  for (size_t i = 0; i < 12; i++) EXPECT_EQ(seen[i], i % 3 == 1 ? '\0' : 'a');
}

TEST_P(Replayed, IterationsEndWhenTheMedianIsPrecise) {
  settings.iterations = 50;
  settings.precision = 0.01;
  EXPECT_EQ(run().nanoseconds.size(), 5u) << "the sundial is within 1 %";
  settings.precision = 1e-9;
  EXPECT_EQ(run().nanoseconds.size(), 50u);
}

TEST_P(Replayed, EveryOutcomeIsToldOfOnce) {
  settings.warmup = 0;
  settings.iterations = 6;
  device.kernel = [&](int execution) {
    right();
    if (execution % 3) device.at(kBase + kBlock + 20) = static_cast<char>(execution % 3);
  };
  bundle::RunInfo run = this->run();
  ASSERT_EQ(run.differences.size(), 1u);
  EXPECT_EQ(run.differences[0].actual, 1u);
  EXPECT_EQ(run.blocks.size(), 1u) << "of one execution";
  ASSERT_EQ(run.others.size(), 1u);
  EXPECT_EQ(run.others[0][0].actual, 2u);
  EXPECT_EQ(run.changed_bytes, 4u);
}

TEST_P(Replayed, OutcomesBeyondTheLimitAreNotForgotten) {
  settings.iterations = bundle::kMaxOutcomes + 10;
  device.kernel = [&](int execution) {
    right();
    device.at(kBase + kBlock + 20) = static_cast<char>(execution + 1);
    if (execution >= 70) device.at(kBase + kBlock + 25) = 1;
  };
  bundle::RunInfo run = this->run();
  ASSERT_EQ(run.others.size(), bundle::kMaxOutcomes);
  EXPECT_EQ(run.others[bundle::kMaxOutcomes - 2][0].bytes, 1u);
  EXPECT_EQ(run.others.back()[0].bytes, 2u) << "as one of those left over";
}

TEST_P(Replayed, AWrongByteIsFound) {
  device.kernel = [&](int) {
    right();
    device.at(kBase + kBlock + 20) = 'x';
  };
  bundle::RunInfo run = this->run();
  ASSERT_EQ(run.differences.size(), 1u);
  EXPECT_EQ(run.differences[0].address, kBase);
  EXPECT_EQ(run.differences[0].first, kBlock + 20);
  EXPECT_EQ(run.differences[0].bytes, 1u);
  EXPECT_EQ(run.differences[0].expected, 0u);
  EXPECT_EQ(run.differences[0].actual, uint32_t{'x'});
  EXPECT_EQ(run.changed_bytes, 4u);
  ASSERT_EQ(run.blocks.size(), 1u);
  EXPECT_EQ(run.blocks[0].address, kBase + kBlock);
  EXPECT_EQ(run.blocks[0].expected, instance.epilogue.blocks[1].digest);
  EXPECT_EQ(run.blocks[0].actual, digest_of(observed.at(kBase + kBlock)));
  EXPECT_EQ(observed.at(kBase + kBlock)[20], 'x');
}

TEST_P(Replayed, AKernelThatDoesNothingDiffers) {
  device.kernel = [](int) {};
  bundle::RunInfo run = this->run();
  EXPECT_EQ(run.changed_bytes, 0u);
  ASSERT_EQ(run.differences.size(), 1u);
  EXPECT_EQ(run.differences[0].bytes, 3u);
  EXPECT_EQ(run.differences[0].first, 10u);
  EXPECT_EQ(run.blocks.size(), 3u);
}

TEST_P(Replayed, ABlockThatTheKernelShouldNotTouchIsComparedToo) {
  instance.epilogue.blocks[2].digest = instance.prologue.blocks[1].digest;
  bundle::RunInfo run = this->run();
  ASSERT_EQ(run.differences.size(), 1u);
  EXPECT_EQ(run.differences[0].first, 2 * kBlock + 10);
}

TEST_P(Replayed, AResultThatIsRightOnlyOnceIsFound) {
  for (int wrong = 0; wrong < 4; wrong++) {
    device.memory.clear();
    device.executions = 0;
    device.kernel = [&](int execution) {
      right();
      if (execution == wrong) device.at(kBase + 50) = '!';
    };
    bundle::RunInfo run = this->run();
    ASSERT_EQ(run.differences.size(), 1u) << wrong;
    EXPECT_EQ(run.differences[0].first, 50u);
    EXPECT_EQ(run.blocks.size(), 1u);
  }
}

TEST_P(Replayed, BytesBetweenSegmentsDoNotMatterButAreRestored) {
  std::vector<char> seen;
  device.kernel = [&](int) {
    right();
    seen.push_back(device.at(kBase + 2 * kBlock + 200));
    device.at(kBase + 2 * kBlock + 200) = 'z';
  };
  EXPECT_TRUE(run().differences.empty());
  EXPECT_EQ(seen, (std::vector<char>(4, 'c')));
}

TEST_P(Replayed, StoredBlocksAreLimited) {
  device.kernel = [](int) {};
  settings.max_difference = 4 * kBlock;
  bundle::RunInfo run = this->run();
  EXPECT_EQ(run.blocks.size(), 2u);
  EXPECT_FALSE(run.blocks_complete);
  EXPECT_EQ(run.differences[0].bytes, 3u);

  settings.max_difference = 0;
  device.memory.clear();
  run = this->run();
  EXPECT_TRUE(run.blocks.empty());
  EXPECT_FALSE(run.blocks_complete);
}

TEST_P(Replayed, VariantsFollowOneAnother) {
  Replay replay(device, instance, [this](std::span<const Digest> digests, const Replay::Take& take) {
    for (size_t i = 0; i < digests.size(); i++) take(i, bytes_of(blocks.at(digests[i])));
  });
  device.kernel = [&](int) { device.at(kBase + 3) = '!'; };
  EXPECT_FALSE(run(replay).differences.empty());
  device.kernel = [&](int) { right(); };
  EXPECT_TRUE(run(replay).differences.empty());
}

TEST_P(Replayed, BlocksAreFetchedOnce) {
  run();
  std::set<Digest> distinct(fetched.begin(), fetched.end());
  EXPECT_EQ(fetched.size(), distinct.size());
}

TEST_P(Replayed, WhatIsExpectedIsReadWhereItIs) {
  device.kernel = [](int) {};
  Replay replay = this->replay();
  fetched.clear();
  EXPECT_EQ(run(replay).blocks.size(), 3u);
  EXPECT_EQ(fetched.empty(), GetParam()) << "an image has it";
}

TEST_P(Replayed, HowManyBlocksComeAtATimeMakesNoDifference) {
  instance.epilogue.blocks[1].digest = bundle::zero_block_digest();  // a block that the device clears
  for (size_t number : {1, 2, 3, 100}) {
    at_a_time = number;
    device.memory.clear();
    bundle::RunInfo run = this->run();
    ASSERT_EQ(run.differences.size(), 1u) << number;
    EXPECT_EQ(run.differences[0].first, kBlock + 10);
    EXPECT_EQ(run.differences[0].bytes, 1u);
  }
}

TEST_P(Replayed, LaunchesAreAsRecorded) {
  instance.info.cooperative = true;
  instance.info.cluster = {2, 1, 1};
  settings.cold = true;
  EXPECT_TRUE(run().cold);
  EXPECT_TRUE(device.launch.cooperative);
  EXPECT_EQ(device.launch.cluster, (bundle::Dim3{2, 1, 1}));
  EXPECT_TRUE(device.launch.cold);
  settings.cold = false;
  device.memory.clear();
  EXPECT_FALSE(run().cold);
  EXPECT_FALSE(device.launch.cold);
}

TEST_P(Replayed, BytesThatAreChangedBesideSegmentsAreCounted) {
  EXPECT_EQ(run().stray_bytes, 0u);
  device.memory.clear();
  device.kernel = [&](int) {
    right();
    device.at(kBase + 2 * kBlock + 120) = '!';  // between the segments
    device.at(kBase + 3 * kBlock - 1) = '!';
  };
  bundle::RunInfo run = this->run();
  EXPECT_EQ(run.stray_bytes, 2u);
  EXPECT_EQ(run.changed_bytes, 5u);
  EXPECT_TRUE(run.differences.empty());
  EXPECT_EQ(device.at(kBase + 2 * kBlock + 120), 'c') << "restored at the end";
}

// With memory that fits into the device's cache.
struct Cached : Replayed {
  void SetUp() override {
    Replayed::SetUp();
    device.cache = 1 << 30;
    settings.warmup = 1;
    settings.iterations = 2;
  }
};

TEST_P(Cached, EachIsExecutedOnceMoreFirstFromThePrologue) {
  bundle::RunInfo run = this->run();
  EXPECT_TRUE(run.differences.empty());
  EXPECT_EQ(run.changed_bytes, 3u);
  EXPECT_EQ(device.executions, 1 + 2 * 2);
  EXPECT_EQ(run.nanoseconds, (std::vector<uint64_t>{103, 105}));
}

TEST_P(Cached, MemoryIsRestoredFromWhereItLeavesMoreInTheCache) {
  constexpr int kTrials = 2 * 3 * 2, kTrialsFromHost = 3;
  device.cache = 6 * kBlock;  // three blocks, and what is restored of three
  for (uint64_t from_host : {500, 2000}) {
    device.takes = 1000;
    device.takes_from_host = from_host;
    device.executions = device.executions_from_host = 0;
    device.memory.clear();
    Replay replay = this->replay();
    bundle::RunInfo run = this->run(replay);
    EXPECT_TRUE(run.differences.empty());
    EXPECT_EQ(device.executions, 1 + kTrials + 2 * 2);
    EXPECT_EQ(run.nanoseconds[0] < 1000, from_host < 1000);
    EXPECT_EQ(device.executions_from_host, kTrialsFromHost + (from_host < 1000 ? 2 : 0));
    EXPECT_TRUE(this->run(replay).differences.empty());
    EXPECT_EQ(device.executions, 1 + kTrials + 2 * 2 + 1 + 2 * 2) << "that is decided by then";
  }
}

TEST_P(Cached, LongExecutionsNeedNoCache) {
  device.takes = 10'000'000;
  EXPECT_TRUE(run().differences.empty());
  EXPECT_EQ(device.executions, 3);
}

INSTANTIATE_TEST_SUITE_P(Images, Cached, testing::Values(true));

TEST_P(Replayed, WhatNeverVariesLeavesAnEmptyBaseline) {
  Replay replay = this->replay();
  bundle::Baseline baseline = measure(replay, 4);
  EXPECT_EQ(device.executions, 4);
  EXPECT_EQ(baseline.executions, 4u);
  EXPECT_TRUE(baseline.spread.empty());
  EXPECT_TRUE(baseline.blocks.empty());
  EXPECT_EQ(baseline.unlike, 0u);
  EXPECT_EQ(foreign, 0);
  EXPECT_EQ(device.at(kBase + 10), 'a') << "restored at the end";
  EXPECT_TRUE(run(replay).differences.empty());
}

TEST_P(Replayed, ABaselineMarksTheBytesThatVary) {
  device.kernel = [&](int execution) {
    right();
    device.at(kBase + kBlock + 20) = static_cast<char>(execution % 3);
    device.at(kBase + 2 * kBlock + 30) = execution == 2 ? '!' : 'c';
    device.at(kBase + 2 * kBlock + 120) = static_cast<char>(execution);  // belongs to no segment
  };
  Replay replay = this->replay();
  bundle::Baseline baseline = measure(replay, 3);
  ASSERT_EQ(baseline.spread.size(), 1u);
  EXPECT_EQ(baseline.spread[0].address, kBase);
  EXPECT_EQ(baseline.spread[0].bytes, 2u) << "at most, between the first and another one";
  EXPECT_FALSE(baseline.spread[0].steady);
  EXPECT_EQ(baseline.unlike, 0u);
  ASSERT_EQ(baseline.blocks.size(), 2u);
  EXPECT_TRUE(baseline.blocks_complete);
  std::string marks(kBlock, '\0');
  marks[20] = 1;
  EXPECT_EQ(observed.at(kBase + kBlock), marks);

  device.kernel = [&](int) {
    right();
    device.at(kBase + kBlock + 20) = '7';
  };
  bundle::RunInfo within = run(replay);
  ASSERT_EQ(within.differences.size(), 1u);
  EXPECT_EQ(within.differences[0].steady, 0u);
  device.kernel = [&](int) {
    right();
    device.at(kBase + kBlock + 20) = device.at(kBase + kBlock + 21) = '7';
  };
  EXPECT_EQ(run(replay).differences[0].steady, 1u);
}

TEST_P(Replayed, WhatIsAlwaysOtherThanRecordedDoesNotVary) {
  device.kernel = [&](int execution) {
    right();
    device.at(kBase + 40) = 'x';
    device.at(kBase + 41) = static_cast<char>(execution);
  };
  Replay replay = this->replay();
  bundle::Baseline baseline = measure(replay, 3);
  EXPECT_EQ(baseline.unlike, 1u);
  ASSERT_EQ(baseline.spread.size(), 1u);
  EXPECT_EQ(baseline.spread[0].first, 41u);
  EXPECT_EQ(run(replay).differences.at(0).steady, 1u);
}

TEST_P(Replayed, AnExecutionLikeTheRecordedOneIsComparedWithTheFirst) {
  device.kernel = [&](int execution) {
    right();
    if (execution == 0) device.at(kBase + 41) = 'x';
  };
  Replay replay = this->replay();
  EXPECT_EQ(measure(replay, 2).spread.size(), 1u);
}

TEST_P(Replayed, ABaselineReadsElements) {
  instance.info.segments[0].annotation = R"({"dtype":"f32","threshold":0,"kind":"absolute","norm":"linf"})";
  auto sum = [&](float value) {
    return [this, value] {
      right();
      for (size_t i = 0; i < 4; i++) device.at(kBase + kBlock + 20 + i) = reinterpret_cast<const char*>(&value)[i];
    };
  };
  device.kernel = [&](int execution) { sum(static_cast<float>(execution))(); };
  Replay replay = this->replay();
  bundle::Baseline baseline = measure(replay, 5);
  ASSERT_EQ(baseline.spread.size(), 1u);
  ASSERT_TRUE(baseline.spread[0].observation);
  EXPECT_EQ(baseline.spread[0].observation->differ, 1u);
  EXPECT_EQ(baseline.spread[0].observation->absolute.linf, 4);
  device.kernel = [&](int) { sum(0.1f)(); };
  EXPECT_EQ(run(replay).differences.at(0).steady, 0u) << "by elements, not by bytes";
}

// All of the segment counts: blocks that do not differ, and the one that is nearly all zeros.
TEST_P(Replayed, ScaledErrorsAreByAllThatWasRecorded) {
  instance.info.segments[0].annotation = R"({"dtype":"u8","threshold":0,"kind":"scaled","norm":"linf"})";
  device.kernel = [&](int execution) {
    right();
    if (execution > 0) device.at(kBase + kBlock + 20) = 5;
  };
  double squares = (kBlock - 1) * 97. * 97 + 98. * 98 + 1 + 99 * 99. * 99 + 100. * 100;
  double scale = std::sqrt(squares / (2 * kBlock + 100));
  Replay replay = this->replay();
  bundle::RunInfo wrong = run(replay);
  ASSERT_EQ(wrong.differences.size(), 1u);
  const bundle::Observation& seen = *wrong.differences[0].observation;
  ASSERT_TRUE(seen.scale && seen.scaled && seen.ulps);
  EXPECT_DOUBLE_EQ(*seen.scale, scale);
  EXPECT_DOUBLE_EQ(seen.scaled->linf, 5 / scale);
  EXPECT_EQ(seen.ulps->linf, 5);
  device.kernel = [&](int execution) {
    right();
    device.at(kBase + kBlock + 20) = static_cast<char>(execution % 7);
  };
  EXPECT_DOUBLE_EQ(measure(replay, 2).spread.at(0).observation->scale.value(), scale);

  instance.info.segments[0].annotation = R"({"dtype":"u8","threshold":0,"kind":"scaled","norm":"linf","scale":10})";
  device.kernel = [&](int) {
    right();
    device.at(kBase + kBlock + 20) = 5;
  };
  Replay given = this->replay();
  EXPECT_EQ(run(given).differences.at(0).observation->scaled->linf, 0.5);
}

TEST_P(Replayed, ABaselineIsLimited) {
  device.kernel = [&](int execution) {
    right();
    for (uint64_t i = 0; i < 3; i++) device.at(kBase + i * kBlock + 20) = static_cast<char>(execution);
  };
  settings.max_difference = 4 * kBlock;
  Replay replay = this->replay();
  bundle::Baseline baseline = measure(replay, 3);
  EXPECT_FALSE(baseline.blocks_complete);
  EXPECT_EQ(baseline.blocks.size(), 2u);
  EXPECT_EQ(baseline.spread.size(), 1u);
  EXPECT_EQ(run(replay).differences.at(0).steady, 1u) << "what is not marked does not vary";

  settings.max_difference = 0;
  Replay without = this->replay();
  baseline = measure(without, 3);
  EXPECT_FALSE(baseline.blocks_complete);
  EXPECT_TRUE(baseline.spread.empty());
}

TEST_P(Replayed, AVariationIsTakenOver) {
  verify::Variation variation;
  std::string marks(kBlock, '\0');
  marks[20] = 1;
  variation.set(kBase + kBlock, bytes_of(marks));
  device.kernel = [&](int) {
    right();
    device.at(kBase + kBlock + 20) = device.at(kBase + 20) = '7';
  };
  Replay replay = this->replay();
  EXPECT_FALSE(run(replay).differences.at(0).steady);
  replay.set_variation(variation);
  EXPECT_EQ(run(replay).differences.at(0).steady, 1u);
}

TEST_P(Replayed, NoIterationIsNoResult) {
  settings.warmup = 0;
  settings.iterations = 0;
  EXPECT_TRUE(run().nanoseconds.empty());
}

TEST_P(Replayed, ATakenAddressIsAnError) {
  device.taken = kBase;
  EXPECT_THROW(run(), Error);
}

TEST_P(Replayed, ABlockOutsideTheSegmentsIsAnError) {
  instance.prologue.blocks.push_back({kBase + 9 * kBlock, instance.prologue.blocks[0].digest});
  EXPECT_THROW(run(), Error);
}

INSTANTIATE_TEST_SUITE_P(, Replayed, testing::Bool(),
                         [](const auto& with) { return with.param ? "WithImages" : "ReadingBack"; });

}  // namespace
}  // namespace mneme::run
