// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a rehearsal finds out about real kernels is in recorded_test.py.
#include "rehearsal/rehearsal.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace mneme::capture {
namespace {

using bundle::PointerPlace;
using namespace std::chrono_literals;

bundle::KernelInfo following(std::vector<PointerPlace> places) {
  bundle::KernelInfo kernel;
  kernel.pointers = {{{{-1, {}, 0, 0, {}}}}, {std::move(places)}};
  return kernel;
}

TEST(ReachesFurther, WhereArgumentsDoNotTellAll) {
  EXPECT_FALSE(reaches_further(bundle::KernelInfo{}));
  EXPECT_FALSE(reaches_further(following({{-1, {}, 8, 0, {}}})));
  EXPECT_FALSE(reaches_further(following({{-1, {}, 8, 16, {}}})));
  EXPECT_TRUE(reaches_further(following({{0, {}, 8, 0, {}}})));        // behind the first pointer
  EXPECT_TRUE(reaches_further(following({{-1, "table", 0, 8, {}}})));  // in a variable
  EXPECT_TRUE(reaches_further(following({})));                         // nobody knows
}

// A launch that cannot be tried.
class Untried : public ::testing::Test {
 protected:
  Rehearsed rehearse_it(std::chrono::milliseconds patience = 10s) {
    static const auto kPool = std::make_shared<bundle::BlockPool>(UINT64_MAX);
    class NoMemory final : public MemoryView {
      Bytes at(uint64_t, uint64_t, std::byte*) const override { return {}; }
      bool untouched(uint64_t, uint64_t) const override { return true; }
    };
    Snapshot memory = Snapshot::take({}, NoMemory(), nullptr, kPool);
    return rehearse({json_, bitcode_, instance_, memory, {}, ordinary_, outside_}, patience);
  }

  bundle::InstanceInfo instance_;
  std::string json_ = "{}", bitcode_ = "no bitcode";
  std::vector<record::MemoryRange> ordinary_;
  std::vector<record::OutsideMemory> outside_;
};

TEST_F(Untried, SaysNothingOfTheRecording) {
  EXPECT_FALSE(rehearse_it().known);
  TemporaryFolder empty;
  ::setenv("MNEME_LIBDIR", empty.path().c_str(), 1);
  EXPECT_FALSE(rehearse_it().known);
  // One that answers nothing, and one that answers what is no answer.
  for (const char* script : {"#!/bin/sh\nexit 0\n", "#!/bin/sh\necho nonsense\n"}) {
    write_file(empty.path() + "/mneme-rehearse", script);
    ASSERT_EQ(std::system(("chmod +x " + empty.path() + "/mneme-rehearse").c_str()), 0);
    EXPECT_FALSE(rehearse_it().known);
  }
  ::unsetenv("MNEME_LIBDIR");
}

TEST_F(Untried, IsNotWaitedForForever) {
  TemporaryFolder folder;
  write_file(folder.path() + "/mneme-rehearse", "#!/bin/sh\nexec sleep 1000\n");
  ASSERT_EQ(std::system(("chmod +x " + folder.path() + "/mneme-rehearse").c_str()), 0);
  ::setenv("MNEME_LIBDIR", folder.path().c_str(), 1);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(rehearse_it(100ms).known);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 500s);
  ::unsetenv("MNEME_LIBDIR");
}

}  // namespace
}  // namespace mneme::capture
