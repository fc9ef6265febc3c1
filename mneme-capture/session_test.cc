// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an application does becomes a bundle.
#include "session.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "recorder/core/sample_cubin.h"
#include "session_fixture.h"

namespace mneme::capture {
namespace {

TEST_F(SessionTest, RecordsALaunch) {
  begin();
  int* data = device_ints(100);
  for (int i = 0; i < 100; ++i) data[i] = i;
  EXPECT_EQ(launch(data, 100), 0);
  EXPECT_EQ(data[99], 100);
  auto instances = end();
  ASSERT_EQ(instances.size(), 1u);
  ASSERT_EQ(kernels_.size(), 1u);
  EXPECT_EQ(kernels_[0].bitcode, kBitcode);
  const bundle::InstanceInfo& info = instances[0].info;
  EXPECT_EQ(info.kernel, add_one().id);
  EXPECT_EQ(info.id, bundle::instance_id(info));
  ASSERT_EQ(info.segments.size(), 1u);
  EXPECT_EQ(info.segments[0].address, memory::kDeviceBase);
  EXPECT_EQ(info.segments[0].size, 400u);
  uint64_t pointer = 0;
  std::memcpy(&pointer, info.arguments.data(), sizeof pointer);
  EXPECT_EQ(pointer, memory::kDeviceBase);
  auto word = [&](const bundle::State& state, int index) {
    int value = 0;
    std::memcpy(&value, reader_->block(state.blocks.at(0).digest).data() + uint64_t{4} * static_cast<uint64_t>(index),
                sizeof value);
    return value;
  };
  EXPECT_EQ(word(instances[0].prologue, 99), 99);
  EXPECT_EQ(word(instances[0].epilogue, 99), 100);
  EXPECT_EQ(word(instances[0].epilogue, 100), 0);
}

// A device whose memory only the application's process reaches; threads of that go on allocating meanwhile.
TEST_F(SessionTest, HasMemoryFetchedThatItCannotReach) {
  settings_.occurrences = 3;
  runtime_.fetching = true;
  begin();
  constexpr int kCount = 10 << 20;
  int* data = device_ints(kCount);
  EXPECT_TRUE(runtime_.adopted.empty());
  for (int i = 0; i < kCount; ++i) data[i] = i;
  int* freed = device_ints(1000);
  std::vector<char> own(4096, 'x');
  std::once_flag once;
  runtime_.while_fetching = [&] {
    std::call_once(once, [&] {
      std::thread([&] {
        core_->add_registered(own.data(), own.size());
        EXPECT_EQ(core_->release(freed), 0);
        EXPECT_NE(core_->allocate(Space::kDevice, 100 << 20), nullptr);
      }).join();
    });
  };
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_TRUE(core_->recording());
  const uint64_t first = runtime_.fetched;
  EXPECT_EQ(first, kCount * sizeof(int) + bundle::kBlockSize) << "all but zeros, and what the kernel changed";
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_EQ(runtime_.fetched - first, bundle::kBlockSize);
  auto instances = end();
  EXPECT_EQ(session_->failure(), "");
  ASSERT_EQ(instances.size(), 2u);
  EXPECT_EQ(instances[0].info.segments.size(), 2u);
  EXPECT_EQ(instances[1].info.segments.size(), 3u);
  const bundle::State& last = instances[1].epilogue;
  std::string expected(bundle::kBlockSize, 0);
  for (int i = 0; i < 16384; ++i) {
    int value = i < 10 ? i + 2 : i;
    std::memcpy(expected.data() + size_t{4} * static_cast<size_t>(i), &value, 4);
  }
  auto block = std::ranges::find(last.blocks, memory::kDeviceBase, &bundle::BlockReference::address);
  ASSERT_NE(block, last.blocks.end());
  EXPECT_EQ(text_of(reader_->block(block->digest)), expected);
}

TEST_F(SessionTest, IsReadyToFetchMuchBeforeALaunchWaitsForIt) {
  runtime_.fetching = true;
  begin();
  device_ints(100);
  EXPECT_TRUE(runtime_.adopted.empty());
  int* data = device_ints(20 << 20);
  EXPECT_EQ(runtime_.adopted.size(), Fetching::kSlots);
  device_ints(20 << 20);
  for (int i = 0; i < 10 << 20; ++i) data[i] = i;
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_EQ(runtime_.adopted.size(), Fetching::kSlots);
  EXPECT_EQ(end().size(), 1u);
}

TEST_F(SessionTest, MemoryIsTheApplicationsWhereNobodyGetsReady) {
  runtime_.fetching = true;
  begin();
  runtime_.while_fetching = [] { throw Error("the fake device fetches nothing"); };
  void* much = core_->allocate(Space::kDevice, 80 << 20);
  ASSERT_NE(much, nullptr) << "who asks elsewhere has it twice";
  EXPECT_FALSE(core_->recording());
  EXPECT_EQ(core_->release(much), 0);
  EXPECT_TRUE(end().empty());
  EXPECT_EQ(reason(), "");
}

TEST_F(SessionTest, NothingIsWrittenWhileTheApplicationWaits) {
  begin();
  const uint64_t size = 4 * bundle::kBlockSize;
  std::vector<char> own(size, 'a');
  core_->add_registered(own.data(), size);
  int* data = device_ints(100);
  auto rests = [&] {
    auto rest = std::async(std::launch::async, [&] { queue_.rest(); });
    return rest.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
  };
  for (uint32_t grid = 1; grid <= 2; ++grid) {
    int count = 100;
    void* arguments[] = {static_cast<void*>(&data), &count};
    LaunchRequest request;
    request.function = &stub_;
    request.grid = {grid, 1, 1};
    request.arguments.list = arguments;
    EXPECT_EQ(core_->launch(request,
                            [&] {
                              EXPECT_TRUE(rests());
                              return 0;
                            }),
              0);
  }
  EXPECT_EQ(end().size(), 2u);
  EXPECT_FALSE(rests());
}

TEST_F(SessionTest, GoesOnWithoutWhatCannotBeFetched) {
  runtime_.fetching = true;
  begin();
  int* data = device_ints(10);
  data[0] = 1;
  EXPECT_EQ(launch(data, 10), 0);
  data[1] = 7;
  runtime_.lost = memory::kDeviceBase;
  EXPECT_EQ(launch(data, 9), 0);
  EXPECT_EQ(data[1], 8);
  EXPECT_FALSE(core_->recording());
  EXPECT_EQ(end().size(), 1u) << "what was recorded before is whole";
  EXPECT_EQ(session_->failure(), "");
  EXPECT_EQ(reason(), "recording had ended: the fake device lost its memory");
}

TEST_F(SessionTest, CountsWhatItDoesNotRecord) {
  settings_.max_instances = 2;
  begin();
  int* data = device_ints(10);
  for (int i = 0; i < 5; ++i) launch(data, 10);
  launch(data, 9);
  launch(data, 8);
  auto instances = end();
  EXPECT_EQ(instances.size(), 2u);
  EXPECT_EQ(capture_.launches, 7u);
  ASSERT_EQ(capture_.summary.occurrences.size(), 2u);
  EXPECT_EQ(capture_.summary.occurrences[0].count, 5u);
  EXPECT_EQ(capture_.summary.occurrences[1].count, 1u);
  ASSERT_EQ(capture_.summary.skipped.size(), 1u);
  EXPECT_EQ(capture_.summary.skipped[0].launches, 1u);
  EXPECT_EQ(capture_.summary.skipped[0].kernel, "add_one(int*, int)");
  EXPECT_NE(reason().find("--max-instances"), std::string::npos);
  EXPECT_TRUE(capture_.unrecordable.empty());
  const bundle::Totals& totals = *capture_.summary.totals;
  ASSERT_EQ(totals.kernels.size(), 1u);
  EXPECT_EQ(totals.kernels[0].kernel, "add_one(int*, int)");
  EXPECT_EQ(totals.kernels[0].launches, 7u);
  EXPECT_EQ(totals.kernels[0].recorded, 2u);
  EXPECT_EQ(totals.seen_bytes, 2u * 2 * 40);
  EXPECT_GT(writer_.memory_bytes(), 0u);
}

TEST_F(SessionTest, RecordsEachNthLaunch) {
  settings_.every = 3;
  settings_.occurrences = 9;
  begin();
  int* data = device_ints(10);
  for (int i = 0; i < 7; ++i) launch(data, 10);
  auto instances = end();
  ASSERT_EQ(instances.size(), 3u);
  EXPECT_EQ(instances[2].info.index, 6u);
  EXPECT_NE(reason().find("--every"), std::string::npos);
  EXPECT_EQ(capture_.summary.skipped[0].launches, 4u);
}

TEST_F(SessionTest, RecordsOnePerConfiguration) {
  settings_.only_config = true;
  begin();
  int* data = device_ints(10);
  for (int count : {10, 9, 8}) launch(data, count);
  launch(data, 10, 2);
  EXPECT_EQ(end().size(), 2u);
  EXPECT_EQ(capture_.summary.occurrences.at(0).count, 3u);
}

TEST_F(SessionTest, RecordsOneProcessOfEachRankAskedFor) {
  settings_.ranks = Ranks::parse("1-2");
  begin("1");
  ASSERT_NE(core_, nullptr);
  auto connect = [](const char* rank) {
    ::setenv("PMI_RANK", rank, 1);
    std::unique_ptr<record::Connection> connection = record::Connection::open();
    ::unsetenv("PMI_RANK");
    return connection;
  };
  EXPECT_EQ(connect("0"), nullptr);
  std::unique_ptr<record::Connection> second = connect("2");
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(connect("3"), nullptr);
  launch(device_ints(10), 10);
  second.reset();
  EXPECT_EQ(end().size(), 1u);
}

TEST_F(SessionTest, ALaunchThatRepeatsAnotherIsOneInstance) {
  settings_.occurrences = 3;
  begin();
  int* data = device_ints(10);
  launch(data, 0);
  launch(data, 0);
  EXPECT_EQ(end().size(), 1u);
}

TEST_F(SessionTest, SelectsByName) {
  capture_.kernels.emplace("--kernel", "^sub");
  begin();
  launch(device_ints(10), 10);
  EXPECT_TRUE(end().empty());
  EXPECT_NE(reason().find("--kernel"), std::string::npos);
}

TEST_F(SessionTest, MarksVariablesAndAnnotations) {
  begin();
  int* data = device_ints(10);
  int* table = device_ints(4);
  runtime_.globals["table"] = {reinterpret_cast<uint64_t>(table), 16};
  mneme_annotation_v1 annotation{sizeof annotation, 5, 2, 0, 0, "data", 0, nullptr, 0, 0};
  core_->annotate(data, &annotation);
  launch(data, 10);
  auto instances = end();
  ASSERT_EQ(instances.size(), 1u);
  ASSERT_EQ(instances[0].info.segments.size(), 2u);
  EXPECT_NE(instances[0].info.segments[0].annotation.find("\"tag\":\"data\""), std::string::npos);
  EXPECT_EQ(instances[0].info.segments[1].symbol, "table");
  EXPECT_EQ(instances[0].info.segments[1].kind, bundle::SegmentKind::kGlobal);
}

TEST_F(SessionTest, WhatIsMissingIsNamedInTheInstance) {
  begin();
  int* data = device_ints(10);
  std::vector<int> ordinary(10);
  launch(ordinary.data(), 10);
  EXPECT_EQ(launch(data, 9), 0);
  testing::internal::CaptureStderr();
  auto instances = end();
  testing::internal::GetCapturedStderr();
  ASSERT_EQ(instances.size(), 2u);
  ASSERT_EQ(instances[0].info.missing.size(), 1u);
  EXPECT_NE(instances[0].info.missing[0].find("argument 0 points to 0x"), std::string::npos);
  EXPECT_TRUE(instances[1].info.missing.empty());
}

TEST_F(SessionTest, MemoryThatHoldsAnAddressOutsideIsNamed) {
  begin();
  uint64_t before = 0x2fffffffffff, inside = 0x300000000008, behind = 0x300000000040;
  auto* holder = static_cast<uint64_t*>(core_->allocate(Space::kDevice, 8 * sizeof(uint64_t)));
  core_->add_outside(reinterpret_cast<const void*>(uint64_t{0x300000000000}), 64, "memory of a test's");
  core_->add_outside(reinterpret_cast<const void*>(uint64_t{0x300000001000}), 64, "other memory of a test's");
  for (auto [address, count] : {std::pair{before, 1}, std::pair{behind, 2}, std::pair{inside, 3}}) {
    holder[5] = address;
    EXPECT_EQ(launch(reinterpret_cast<int*>(holder), 0, static_cast<uint32_t>(count)), 0);
  }
  core_->remove_outside(reinterpret_cast<const void*>(uint64_t{0x300000000000}));
  EXPECT_EQ(launch(reinterpret_cast<int*>(holder), 0, 4), 0);
  auto instances = end();
  ASSERT_EQ(instances.size(), 4u);
  for (size_t i : {0, 1, 3}) EXPECT_TRUE(instances[i].info.missing.empty()) << i;
  ASSERT_EQ(instances[2].info.missing.size(), 1u);
  EXPECT_EQ(instances[2].info.missing[0],
            "the memory at 0x400000000028 holds the address 0x300000000008, memory of a test's");
}

TEST_F(SessionTest, MappedMemoryIsRecorded) {
  begin();
  Fd memory = memory_file("mapped");
  constexpr uint64_t kSize = 2 << 20;
  ASSERT_EQ(::ftruncate(memory.get(), kSize), 0);
  auto map = [&] {
    return static_cast<int*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
  };
  int* data = map();
  ASSERT_TRUE(core_->add_mapped(data, kSize, memory.get(), 0));
  EXPECT_FALSE(core_->add_mapped(data, kSize, memory.get(), 0));
  data[3] = 41;
  int count = 10;
  void* arguments[] = {static_cast<void*>(&data), &count};
  LaunchRequest request;
  request.function = &stub_;
  request.arguments.list = arguments;
  // Unmapped while it is recorded: the recording has it all the same.
  core_->launch(request, [&] {
    ++data[3];
    core_->remove_mapped(data, kSize);
    return 0;
  });
  launch(data, 9);
  auto instances = end();
  ASSERT_EQ(instances.size(), 2u);
  ASSERT_EQ(instances[0].info.segments.size(), 1u);
  EXPECT_EQ(instances[0].info.segments[0].address, reinterpret_cast<uint64_t>(data));
  EXPECT_EQ(instances[0].info.segments[0].kind, bundle::SegmentKind::kHeap);
  EXPECT_TRUE(instances[0].info.missing.empty());
  EXPECT_NE(instances[0].info.prologue, instances[0].info.epilogue);
  EXPECT_TRUE(instances[1].info.segments.empty());
  EXPECT_EQ(instances[1].info.missing.size(), 1u) << "to the recorder it is memory like others now";
  ::munmap(data, kSize);
}

TEST_F(SessionTest, InstancesSayOnWhichDevice) {
  runtime_.devices = 2;
  begin();
  int* first = device_ints(10);
  auto* second = static_cast<int*>(core_->allocate(Space::kDevice, 40, 0, 1));
  EXPECT_EQ(reinterpret_cast<uint64_t>(second), memory::device_base(1));
  EXPECT_EQ(launch(first, 10), 0);
  runtime_.current_device = 1;
  EXPECT_EQ(launch(second, 10), 0) << "not alike: another device";
  std::vector<bundle::InstanceMember> instances = end();
  ASSERT_EQ(instances.size(), 2u);
  for (uint32_t device : {0u, 1u}) {
    const bundle::InstanceInfo& info = instances[device].info;
    EXPECT_EQ(info.device, device);
    ASSERT_EQ(info.segments.size(), 2u);
    EXPECT_EQ(info.segments[0].device, 0u);
    EXPECT_EQ(info.segments[1].device, 1u);
    EXPECT_EQ(info.id, bundle::instance_id(info));
  }
}

TEST_F(SessionTest, LaunchesOnDevicesBeyondTheRangesAreCounted) {
  begin();
  int* data = device_ints(10);
  runtime_.current_device = memory::kMostDevices;
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_EQ(data[0], 1) << "the launch was made";
  runtime_.current_device = 0;
  EXPECT_EQ(launch(data, 8), 0);
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(reason(), "it ran on device 8, and the first eight are recorded");
  EXPECT_EQ(capture_.unrecordable.size(), 1u);
}

TEST_F(SessionTest, ManyAllocationsAlikeAreOneEntryOfTheInstance) {
  begin();
  int* data = device_ints(8);
  constexpr uint64_t kCount = 20'000;
  for (uint64_t i = 0; i < kCount; ++i) device_ints(8);
  launch(data, 1);
  auto instances = end();
  ASSERT_EQ(instances.size(), 1u);
  const std::vector<bundle::Segment>& segments = instances[0].info.segments;
  ASSERT_EQ(segments.size(), kCount + 1);
  EXPECT_EQ(segments[kCount].address, memory::kDeviceBase + kCount * 256);
  EXPECT_EQ(segments[kCount].size, 8 * sizeof(int));
  EXPECT_LT(bundle::write(instances[0].info).size(), 1000u);
}

// What happens between a snapshot and the one that is compared with it counts, also where something was to be recorded
// in between, and could not be.
TEST_F(SessionTest, FindsWhatWasWrittenSinceTheLastSnapshot) {
  begin();
  constexpr uint64_t kInts = 3 * bundle::kBlockSize / sizeof(int);
  int* data = device_ints(kInts);
  for (uint64_t i = 0; i < kInts; ++i) data[i] = static_cast<int>(i) + 1;
  const auto at = [&](uint64_t block) { return &data[block * bundle::kBlockSize / sizeof(int)]; };
  EXPECT_EQ(launch(data, 10), 0);
  *at(1) = -1;
  EXPECT_EQ(launch(data, 10, 2), 0);
  *at(2) = -2;
  EXPECT_EQ(launch(data, 10, 3, 719), 719);
  *at(1) = -3;
  EXPECT_EQ(launch(data, 10, 4, 719), 719);
  EXPECT_EQ(launch(data, 10, 5), 0);
  const std::string expected(reinterpret_cast<const char*>(data), 3 * bundle::kBlockSize);
  auto instances = end();
  ASSERT_EQ(instances.size(), 3u);
  auto contents = [&](const bundle::State& state) {
    std::string all;
    for (const bundle::BlockReference& block : state.blocks) all += text_of(reader_->block(block.digest));
    return all;
  };
  const std::string last = contents(instances[2].epilogue);
  ASSERT_GE(last.size(), expected.size());
  EXPECT_EQ(last.substr(0, expected.size()), expected);
  EXPECT_NE(instances[1].prologue.blocks[1].digest, instances[0].epilogue.blocks[1].digest);
  EXPECT_EQ(instances[1].prologue.blocks[2].digest, instances[0].epilogue.blocks[2].digest);
  EXPECT_EQ(instances[2].prologue.blocks[0].digest, instances[1].epilogue.blocks[0].digest);
}

TEST_F(SessionTest, AFailedLaunchIsDropped) {
  begin();
  int* data = device_ints(10);
  EXPECT_EQ(launch(data, 10, 1, 719), 719);
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(reason(), "the launch failed: fake error 719");
  EXPECT_EQ(capture_.unrecordable.size(), 1u);
}

TEST_F(SessionTest, ALaunchThatIsDroppedMakesRoomForTheNext) {
  settings_.max_instances = 1;
  begin();
  int* data = device_ints(10);
  std::atomic<bool> passing{false}, go_on{false};
  std::thread other([&] {
    core_->pass("other", "no reason", [&] {
      passing = true;
      while (!go_on) std::this_thread::yield();
      return 0;
    });
  });
  while (!passing) std::this_thread::yield();
  // One is chosen, and has to wait for the other kernel's launch; meanwhile there is no room for a second one.
  std::atomic<int> launched{0};
  auto failing = [&] {
    EXPECT_EQ(launch(data, 10, 1, 77), 77);
    ++launched;
  };
  std::thread first(failing), second(failing);
  while (launched == 0) std::this_thread::yield();
  EXPECT_EQ(launched, 1);
  go_on = true;
  for (std::thread* thread : {&first, &second, &other}) thread->join();
  launch(data, 10);
  EXPECT_EQ(end().size(), 1u);
}

TEST_F(SessionTest, AnErrorOfEarlierWorkIsNotBlamedOnTheLaunch) {
  begin();
  int* data = device_ints(10);
  runtime_.status = 1;
  EXPECT_EQ(launch(data, 10), 0);
  runtime_.status = 0;
  EXPECT_TRUE(end().empty());
  EXPECT_EQ(reason(), "a launch before it failed: fake error 1");
}

TEST_F(SessionTest, LaunchesIntoGraphsAndImpossibleOnesAreNamed) {
  begin();
  int* data = device_ints(10);
  runtime_.capturing = true;
  EXPECT_EQ(launch(data, 10), 0);
  runtime_.capturing = false;
  runtime_.runnable = false;
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_EQ(core_->pass("other(int)", "cooperative launches are not recorded", [] { return 3; }), 3);
  EXPECT_TRUE(end().empty());
  EXPECT_EQ(capture_.unrecordable.size(), 3u);
}

TEST_F(SessionTest, DamagedIrIsNamed) {
  binary_ = fat_binary(add_one(), "something else");
  begin();
  EXPECT_EQ(launch(device_ints(10), 10), 0);
  EXPECT_EQ(launch(device_ints(10), 10), 0);
  EXPECT_TRUE(end().empty());
  EXPECT_NE(capture_.unrecordable.at(0).reason.find("damaged"), std::string::npos);
  EXPECT_TRUE(kernels_.empty());
}

TEST_F(SessionTest, AKernelWithoutIrIsNamed) {
  begin();
  core_->add_stub(&binary_, &runtime_, "_Z5otherv");
  LaunchRequest request;
  request.function = &runtime_;
  EXPECT_EQ(core_->launch(request, [] { return 0; }), 0);
  EXPECT_TRUE(end().empty());
  ASSERT_EQ(capture_.unrecordable.size(), 1u);
  EXPECT_EQ(capture_.unrecordable[0].kernel, "other()");
  EXPECT_NE(capture_.unrecordable[0].reason.find("mneme-inject"), std::string::npos);
}

// Of the cubin's kernel, of which the first launch is passed over.
struct CodeOnly : SessionTest {
  void launch_twice(const std::function<void()>& between) {
    settings_.skip = 1;
    runtime_.its_processor = "sm_86";
    runtime_.fetching = true;
    begin();
    core_->add_fat_binary(&image_, reinterpret_cast<const std::byte*>(image_.data()));
    core_->add_stub(&image_, &runtime_, "scale");
    int* data = device_ints(10);
    void* arguments[] = {static_cast<void*>(&data)};
    LaunchRequest request;
    request.function = &runtime_;
    request.arguments.list = arguments;
    EXPECT_EQ(core_->launch(request, [] { return 0; }), 0);
    between();
    EXPECT_EQ(core_->launch(request, [] { return 0; }), 0);
  }

  std::string image_ = record::cubin(record::parameter(0, 0, 8));
};

TEST_F(CodeOnly, IsRecorded) {
  launch_twice([] {});
  EXPECT_EQ(end().size(), 1u);
  ASSERT_EQ(kernels_.size(), 1u);
  EXPECT_EQ(kernels_[0].code, image_);
}

TEST_F(CodeOnly, ThatChangesIsNamed) {
  launch_twice([&] { ++image_.back(); });
  EXPECT_TRUE(end().empty());
  ASSERT_EQ(capture_.unrecordable.size(), 1u);
  EXPECT_EQ(capture_.unrecordable[0].reason, "its code in the application has changed since it was loaded");
}

TEST_F(SessionTest, LaunchesInsideALaunchAreTheRuntimesOwn) {
  begin();
  int* data = device_ints(10);
  int count = 10;
  void* arguments[] = {static_cast<void*>(&data), &count};
  LaunchRequest request;
  request.function = &stub_;
  request.arguments.list = arguments;
  EXPECT_EQ(core_->launch(request, [&] { return launch(data, 5); }), 0);
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(capture_.launches, 1u);
}

TEST_F(SessionTest, MemoryFreedDuringALaunchStaysInTheSnapshot) {
  begin();
  int* data = device_ints(10);
  int count = 10;
  void* arguments[] = {static_cast<void*>(&data), &count};
  LaunchRequest request;
  request.function = &stub_;
  request.arguments.list = arguments;
  core_->launch(request, [&] {
    core_->release(data);
    EXPECT_NE(device_ints(10), data);
    return 0;
  });
  EXPECT_EQ(device_ints(10), data);
  EXPECT_EQ(end().size(), 1u);
}

}  // namespace
}  // namespace mneme::capture
