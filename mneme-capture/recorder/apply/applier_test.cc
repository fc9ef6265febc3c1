// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/apply/applier.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "recorder/runtime/fake_runtime.h"

namespace mneme::record {
namespace {

constexpr int kFails = 17;
constexpr char kCode[] = "code";

// Events that are there at once.
class FakeDevices final : public Devices {
 public:
  int get_count(int* count) const override { return *count = 1, 0; }
  int get(int* device) const override { return *device = 0, 0; }
  int synchronize() const override { return 0; }
  const char* error_string(int) const override { return "fake"; }
  int create_event(void** event, unsigned) const override { return *event = this_(), ++events, 0; }
  int record_event(void*, void* stream) const override { return stream ? kFails : 0; }
  int synchronize_event(void*) const override { return 0; }
  int query_event(void*) const override { return queried; }
  int elapsed(float* milliseconds, void*, void*) const override { return *milliseconds = 1, 0; }
  int destroy_event(void*) const override { return --events, 0; }
  int copy_async(void*, const void*, size_t, int, void*) const override { return 0; }
  int set_async(void*, int, size_t, void*) const override { return 0; }
  int create_stream(void**, unsigned) const override { return 0; }
  int destroy_stream(void*) const override { return 0; }
  int synchronize_stream(void*) const override { return 0; }
  int wait_for_event(void*, void*) const override { return 0; }
  int is_capturing(void*, int*) const override { return 0; }
  int exchange_capture_mode(int*) const override { return 0; }
  int get_limit(size_t*, int) const override { return 0; }
  int register_host(void*, size_t, unsigned) const override { return 0; }
  int unregister_host(void*) const override { return 0; }
  void forget_error() const override {}
  int enter(int) const override { return 0; }
  void leave(int) const override {}

  mutable int events = 0;  // that there are
  int queried = 0;         // what asking for one answers

 private:
  void* this_() const { return const_cast<FakeDevices*>(this); }
};

struct Variant final : LoadedVariant {
  explicit Variant(const int& status) : status(status) {}
  int launch(const LaunchRequest&) override { return status; }
  void unload() override { ++unloaded; }
  static inline int unloaded = 0;
  const int& status;
};

class VariantRuntime final : public FakeRuntime {
 public:
  bool runs(const std::string& target, int) override { return target == "cuda:sm_90"; }
  std::unique_ptr<LoadedVariant> load_variant(const VariantCode& variant) override {
    ++loads;
    if (refuses) throw Error("the fake device takes none");
    EXPECT_EQ(text_of(variant.code), kCode);
    failed = variant.failed;
    return std::make_unique<Variant>(variant_status);
  }

  std::function<void(bool own_code, const std::string& fault)> failed;
  int loads = 0, variant_status = 0;
  bool refuses = false;
};

void add_member(std::string& tar, const std::string& name, const std::string& contents) {
  std::string header(512, '\0');
  name.copy(header.data(), 100);
  std::snprintf(header.data() + 124, 12, "%011zo", contents.size());
  header[156] = '0';
  std::string("ustar").copy(header.data() + 257, 5);
  tar += header + contents + std::string((512 - contents.size() % 512) % 512, '\0');
}

// A bundle that chooses code for one kernel.
class Applying : public testing::Test {
 protected:
  Applying() {
    info_.name = "kernel";
    info_.id = digest_of("kernel");
    info_.argument_bytes = 4;
    info_.arguments = {{0, 4, "scalar", "i32", {}, "value"}};
    bundle::VariantInfo variant;
    variant.kernel = info_.id;
    variant.configuration.target = "cuda:sm_90";
    variant.id = bundle::variant_id(info_.id, variant.configuration);
    variant.code = "code.cubin";
    variant.code_digest = digest_of(kCode);
    bundle::Choice choice;
    choice.kernel = info_.id;
    choice.device = "cuda";
    choice.target = "cuda:sm_90";
    choice.grid = {2, 1, 1};
    choice.block = {32, 1, 1};
    choice.variant = variant.id;
    choice.ratio = 2;
    choice.instances = 1;
    choice.id = bundle::choice_id(choice);
    std::string& tar = tar_;
    add_member(tar, "kernels/" + info_.id.hex() + "/kernel.json", bundle::write(info_));
    const std::string folder = "variants/" + info_.id.hex() + "/" + variant.id.hex();
    add_member(tar, folder + "/variant.json", bundle::write(variant));
    add_member(tar, folder + "/code.cubin", kCode);
    add_member(tar, bundle::choice_name(info_.id, choice.id), bundle::write(choice));
    tar += std::string(1024, '\0');
    path_ = testing::TempDir() + "applier_test." + std::to_string(::getpid());
    write(tar);
    ::setenv(kApplyVariable, path_.c_str(), 1);
    request_.function = this;
    request_.grid = {2, 1, 1};
    request_.block = {32, 1, 1};
  }
  ~Applying() override {
    ::unlink(path_.c_str());
    for (const char* name : {kApplyVariable, kApplyMeasureVariable, kApplyCheckVariable}) ::unsetenv(name);
  }

  void write(const std::string& tar) const {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    std::fwrite(tar.data(), 1, tar.size(), file);
    std::fclose(file);
  }
  Applier& applier() {
    if (!applier_) applier_ = Applier::open(runtime_, devices_);
    return *applier_;
  }
  Applier::Hit* find(const LaunchRequest& request) {
    return applier().find(request, 0, [&] {
      ++asked_;
      return LaunchedKernel{&info_, "kernel()", {program_}, nullptr};
    });
  }
  // By the application's own code, which ends with that status, or by the variant.
  int launch(int own_status = 0) {
    Applier::Hit* hit = find(request_);
    own_ = false;
    auto own = [&] {
      own_ = true;
      return own_status;
    };
    return hit ? applier().launch(*hit, request_, own) : own();
  }

  bundle::KernelInfo info_;
  std::string path_, tar_;
  VariantRuntime runtime_;
  FakeDevices devices_;
  LaunchRequest request_;
  void* program_ = &info_;
  int asked_ = 0;
  bool own_ = false;
  std::unique_ptr<Applier> applier_;
};

TEST_F(Applying, LaunchesThatHaveTheKey) {
  EXPECT_EQ(launch(), 0);
  EXPECT_FALSE(own_);
  request_.grid.x = 3;
  launch();
  EXPECT_TRUE(own_);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(runtime_.loads, 1);
}

TEST_F(Applying, AnyNumberOfFunctions) {
  std::vector<char> functions(5000);
  for (int round = 0; round < 2; ++round) {
    for (char& function : functions) {
      request_.function = &function;
      ASSERT_TRUE(find(request_));
    }
  }
  EXPECT_EQ(asked_, 5000);
}

TEST_F(Applying, CodeThatGoesIsAskedForAgain) {
  launch();
  applier().forget(program_);
  launch();
  EXPECT_FALSE(own_);
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(runtime_.loads, 2);
}

TEST_F(Applying, ALaunchThatFailsIsTheApplicationsOwn) {
  runtime_.variant_status = kFails;
  EXPECT_EQ(launch(kFails), kFails);  // whichever of the two fails
  EXPECT_TRUE(own_);
  EXPECT_EQ(launch(), 0);
  EXPECT_TRUE(own_);
  runtime_.variant_status = 0;
  EXPECT_EQ(launch(), 0);
  EXPECT_TRUE(own_) << "it is taken out";
}

TEST_F(Applying, WhatCannotBeLoadedIsTriedOnce) {
  runtime_.refuses = true;
  launch();
  EXPECT_TRUE(own_);
  launch();
  EXPECT_EQ(runtime_.loads, 1);
}

TEST_F(Applying, WhatDiffersStaysOut) {
  ::setenv(kApplyCheckVariable, "1", 1);
  Applier::Hit* hit = find(request_);
  ASSERT_TRUE(hit && applier().takes_check(*hit));
  EXPECT_FALSE(applier().takes_check(*hit));
  applier().checked(*hit, true, "it differs");
  applier().forget(program_);
  EXPECT_FALSE(find(request_)) << "its code has come again";
}

TEST_F(Applying, GraphsHaveNoneWhileLaunchesAreChecked) {
  auto in_graph = [&] {
    return applier().find_in_graph(request_, 0,
                                   [&] { return LaunchedKernel{&info_, "kernel()", {program_}, nullptr}; });
  };
  EXPECT_TRUE(in_graph().hit);
  ::setenv(kApplyCheckVariable, "1", 1);
  applier_.reset();
  const Applier::InGraph node = in_graph();
  EXPECT_TRUE(node.kernel && !node.hit);
  EXPECT_THAT(node.reason, testing::HasSubstr("cannot be checked"));
}

TEST_F(Applying, EventsAreUsedAgain) {
  ::setenv(kApplyMeasureVariable, "1", 1);
  for (int i = 0; i < 10; ++i) {
    launch();
    EXPECT_EQ(own_, i % 2 == 0);
  }
  EXPECT_EQ(devices_.events, 2);
  devices_.queried = 600;  // none is ready
  for (int i = 0; i < 3; ++i) launch();
  EXPECT_EQ(devices_.events, 8);
  devices_.queried = kFails;  // as of a device that was reset
  launch();
  EXPECT_EQ(devices_.events, 8);
  request_.stream = this;  // of another context
  launch();
  EXPECT_EQ(devices_.events, 6);
}

// Nobody has looked at it before where mneme-restore --deploy's script names it.
TEST_F(Applying, DamagedBundlesEndInASentence) {
  std::mt19937 random(1);
  auto below = [&](size_t most) { return random() % most; };
  int refused = 0;
  constexpr int kTimes = 1000;
  for (int i = 0; i < kTimes; ++i) {
    std::string tar = tar_;
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      const size_t at = below(tar.size()), size = 1 + below(600);
      switch (below(5)) {
        case 0:
          tar.resize(at + 1);
          break;
        case 1:
          tar.erase(at, size);
          break;
        case 2:
          tar.insert(at, tar.substr(below(tar.size()), size));
          break;
        case 3:  // where a header has numbers
          tar[std::min(tar.size() - 1, at / 512 * 512 + 100 + below(160))] = static_cast<char>('0' + below(10));
          break;
        default:
          tar[at] = static_cast<char>(random());
      }
      if (tar.empty()) tar = "x";
    }
    write(tar);
    try {
      const Choices choices(path_);
      EXPECT_LE(choices.size(), 2U);
    } catch (const Error& error) {
      EXPECT_STRNE(error.what(), "");
      ++refused;
    }
  }
  EXPECT_GT(refused, kTimes / 4);
}

TEST_F(Applying, TakesChoicesOfTheKernelsThatAreNamed) {
  const std::string other = digest_of("other").hex();
  EXPECT_EQ(Choices(path_, other + "," + info_.id.hex()).size(), 1U);
  const Choices none(path_, other);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_FALSE(none.knows("kernel"));
}

TEST_F(Applying, VariantsGoWithTheirModules) {
  const int before = Variant::unloaded;
  launch();
  applier().unload(program_);
  EXPECT_EQ(Variant::unloaded, before) << "it is still there";
  applier().forget(program_);
  applier().unload(program_);
  applier().unload(program_);
  EXPECT_EQ(Variant::unloaded, before + 1);
  launch();
  EXPECT_EQ(runtime_.loads, 2) << "it has come again";
}

TEST_F(Applying, LaunchesThatFailWhileTheyRun) {
  EXPECT_EQ(launch(), 0);
  runtime_.failed(true, "it used address 0x10");
  runtime_.failed(true, "");
  EXPECT_EQ(launch(), 0);
  EXPECT_TRUE(own_) << "it is out";
}

TEST_F(Applying, ThreadsFindWhileCodeComesAndGoes) {
  applier();
  std::atomic<bool> done{false};
  std::atomic<int> launches{0};
  std::vector<std::thread> threads;
  std::vector<char> functions(64);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      LaunchRequest request = request_;
      for (int n = 0; !done; ++n) {
        request.function = &functions[static_cast<size_t>(n) % functions.size()];
        Applier::Hit* hit =
            applier_->find(request, 0, [&] { return LaunchedKernel{&info_, "kernel()", {program_}, nullptr}; });
        ASSERT_TRUE(hit);
        ASSERT_EQ(applier_->launch(*hit, request, [] { return 0; }), 0);
        ++launches;
      }
    });
  }
  for (int i = 0; i < 100 || launches < 2000; ++i) {
    applier_->forget(program_);
    applier_->forget_context(this);
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mneme::record
