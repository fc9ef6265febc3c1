// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorder's core on a fake device, talking to a session: what an application does becomes a bundle.
#include "session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "annotate/mneme/MnemeAnnotation.hpp"
#include "bundle/reader.h"
#include "memory/arena.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"
#include "recorder/core.h"
#include "recorder/fake_runtime.h"

namespace mneme::capture {
namespace {

using record::Core;
using record::FakeRuntime;
using record::LaunchRequest;
using record::Space;

constexpr char kBitcode[] = "not really bitcode";

bundle::KernelInfo add_one() {
  bundle::KernelInfo info;
  info.id = digest_of("add_one");
  info.name = "_Z7add_onePii";
  info.demangled = "add_one(int*, int)";
  info.target = "amdgcn-amd-amdhsa--gfx90a";
  info.argument_bytes = 12;
  info.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "i32", {}}};
  info.globals = {{"table", 16, 4, false}};
  info.bitcode = digest_of(kBitcode);
  return info;
}

template <typename Number>
void append(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An offload bundle with one kernel's IR, as a registration has it.
std::string fat_binary(const bundle::KernelInfo& info, std::string_view bitcode = kBitcode) {
  std::string section = objects::write_embedded(bundle::write(info), bytes_of(bitcode));
  std::string elf = objects::build_elf({{std::string(objects::kEmbeddedSection), section}});
  std::string triple = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  std::string out = "__CLANG_OFFLOAD_BUNDLE__";
  append(out, uint64_t{1});
  append(out, uint64_t{1024});
  append(out, uint64_t{elf.size()});
  append(out, uint64_t{triple.size()});
  out += triple;
  out.resize(1024, '\0');
  return out + elf;
}

class SessionTest : public ::testing::Test {
 protected:
  // Starts the session and connects a recorder to it, as a process with `rank` would.
  void begin(const char* rank = nullptr) {
    settings_.range_size = FakeRuntime::kRange;
    session_.emplace(settings_, capture_);
    queue_.add([](bundle::Writer& writer) {
      bundle::BundleInfo info;
      info.device = "host";
      writer.add(std::string(bundle::kBundleMember), bundle::write(info));
    });
    session_->start();
    ::setenv(record::kSocketVariable, session_->socket_name().c_str(), 1);
    if (rank) ::setenv("PMI_RANK", rank, 1);
    std::unique_ptr<record::Connection> connection = record::Connection::open();
    ::unsetenv("PMI_RANK");
    if (!connection) return;
    core_ = std::make_unique<Core>(runtime_, std::move(connection));
    core_->add_fat_binary(&binary_, reinterpret_cast<const std::byte*>(binary_.data()));
    core_->add_stub(&binary_, &stub_, "_Z7add_onePii");
  }

  // One launch of add_one over `data` on the fake device.
  int launch(int* data, int count, uint32_t grid = 1, int status = 0) {
    void* arguments[] = {static_cast<void*>(&data), &count};
    LaunchRequest request;
    request.function = &stub_;
    request.grid = {grid, 1, 1};
    request.arguments.list = arguments;
    return core_->launch(request, [&] {
      if (status == 0) {
        for (int i = 0; i < count; ++i) ++data[i];
      }
      return status;
    });
  }

  int* device_ints(uint64_t count) { return static_cast<int*>(core_->allocate(Space::kDevice, count * sizeof(int))); }

  // The application ends; what the bundle then has.
  std::vector<bundle::InstanceMember> end() {
    core_.reset();
    session_->close();
    session_->join();
    queue_.finish();
    writer_.add(std::string(bundle::kSummaryMember), bundle::write(capture_.summary));
    writer_.finish();
    ::lseek(file_.get(), 0, SEEK_SET);
    reader_.emplace(file_.get(), "test", bundle::Memory::kDecode);
    std::vector<bundle::InstanceMember> instances;
    while (std::optional<bundle::Item> item = reader_->next()) {
      if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) instances.push_back(*instance);
      if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) kernels_.push_back(*kernel);
    }
    EXPECT_FALSE(reader_->truncated()) << reader_->truncation();
    return instances;
  }

  std::string reason() const { return capture_.summary.skipped.empty() ? "" : capture_.summary.skipped[0].reason; }

  std::string binary_ = fat_binary(add_one());
  int stub_ = 0;
  FakeRuntime runtime_;
  Fd file_ = memory_file("bundle");
  bundle::Writer writer_{file_.get(), "test"};
  BundleQueue queue_{writer_};
  Capture capture_{queue_};
  SessionSettings settings_;
  std::optional<Session> session_;
  std::unique_ptr<Core> core_;
  std::optional<bundle::Reader> reader_;
  std::vector<bundle::KernelMember> kernels_;
};

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
  capture_.kernels.emplace("^sub");
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
  core_->annotate(data, {sizeof(mneme_annotation_v1), 5, 2, 0, 0, "data"});
  launch(data, 10);
  auto instances = end();
  ASSERT_EQ(instances.size(), 1u);
  ASSERT_EQ(instances[0].info.segments.size(), 2u);
  EXPECT_NE(instances[0].info.segments[0].annotation.find("\"tag\":\"data\""), std::string::npos);
  EXPECT_EQ(instances[0].info.segments[1].symbol, "table");
  EXPECT_EQ(instances[0].info.segments[1].kind, bundle::SegmentKind::kGlobal);
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

TEST_F(SessionTest, AnErrorOfEarlierWorkIsNotBlamedOnTheLaunch) {
  begin();
  int* data = device_ints(10);
  runtime_.status = 1;
  EXPECT_EQ(launch(data, 10), 0);
  runtime_.status = 0;
  EXPECT_TRUE(end().empty());
  EXPECT_EQ(reason(), "what ran before it failed: fake error 1");
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
    core_->release(data, Core::Wait::kWholeDevice);
    EXPECT_NE(device_ints(10), data);
    return 0;
  });
  EXPECT_EQ(device_ints(10), data);
  EXPECT_EQ(end().size(), 1u);
}

TEST_F(SessionTest, OneProcessIsRecorded) {
  begin();
  EXPECT_EQ(record::Connection::open(), nullptr);
  EXPECT_EQ(launch(device_ints(10), 10), 0);
  EXPECT_EQ(end().size(), 1u);
}

TEST_F(SessionTest, AProcessThatLaunchedNothingLeavesItsPlace) {
  begin();
  core_.reset();
  std::unique_ptr<record::Connection> next;
  for (int i = 0; i < 1000 && !next; ++i) {  // until the session has seen the end of the first
    next = record::Connection::open();
    ::usleep(1000);
  }
  EXPECT_NE(next, nullptr);
  next.reset();
  EXPECT_TRUE(end().empty());
}

TEST_F(SessionTest, AnotherRankIsRefused) {
  begin("1");
  EXPECT_EQ(core_, nullptr);
  EXPECT_TRUE(end().empty());
}

TEST_F(SessionTest, TheRankAskedForIsRecorded) {
  settings_.rank = 1;
  begin("1");
  ASSERT_NE(core_, nullptr);
  launch(device_ints(10), 10);
  EXPECT_EQ(end().size(), 1u);
}

TEST_F(SessionTest, WithoutItsParentTheApplicationGoesOn) {
  begin();
  int* data = device_ints(10);
  session_->abort();
  session_->join();
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_EQ(data[9], 1);
  EXPECT_FALSE(core_->recording());
  EXPECT_EQ(core_->allocate(Space::kDevice, 10), nullptr) << "the vendor's own allocation serves from now on";
  EXPECT_EQ(core_->release(data, Core::Wait::kWholeDevice), 0) << "but what was given out is taken back";
  core_.reset();
}

}  // namespace
}  // namespace mneme::capture
