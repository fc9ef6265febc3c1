// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace mneme::hostgpu {
namespace {

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    ::unsetenv("MNEME_KERNEL_CACHE");
    compiler_ = folder_.path() + "/compiler";
    write_file(compiler_, "one");
    kernel_.bitcode = bytes_of("bitcode");
  }
  KernelCache cache(const std::string& form = "auto", bool check_memory = false) const {
    return KernelCache(kernel_, {form, check_memory}, compiler_);
  }

  TemporaryFolder folder_{"mneme-cache"};
  std::string compiler_;
  objects::EmbeddedKernel kernel_;
};

TEST_F(Cache, GivesBackWhatWasAdded) {
  EXPECT_FALSE(cache().find());
  std::string path = cache().add("code");
  EXPECT_TRUE(path.starts_with(folder_.path() + "/mneme/")) << path;
  auto found = cache().find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, "code");
  EXPECT_EQ(found->path, path);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/mneme")) {
    EXPECT_EQ(entry.path().string(), path) << "nothing is left over";
  }
}

TEST_F(Cache, DependsOnEverythingThatTheCodeDoes) {
  cache().add("code");
  EXPECT_FALSE(cache("loop").find());
  EXPECT_FALSE(cache("auto", true).find());
  kernel_.bitcode = bytes_of("bitcodf");
  EXPECT_FALSE(cache().find());
  kernel_.bitcode = bytes_of("bitcode");
  kernel_.info.wave_size = 32;
  EXPECT_FALSE(cache().find());
  kernel_.info.wave_size = 64;
  kernel_.info.command = {"clang++", "-g"};
  EXPECT_TRUE(cache().find()) << "the IR is the same";
  write_file(compiler_, "another compiler");
  EXPECT_FALSE(cache().find());
}

TEST_F(Cache, DoesNotTrustDamagedFiles) {
  std::string path = cache().add("code");
  std::string file = read_file(path);
  file[0] ^= 1;
  write_file(path, file);
  EXPECT_FALSE(cache().find());
  write_file(path, "");
  EXPECT_FALSE(cache().find());
}

TEST_F(Cache, CanBeSwitchedOffOrBeUnusable) {
  ::setenv("MNEME_KERNEL_CACHE", "off", 1);
  EXPECT_EQ(cache().add("code"), "");
  EXPECT_FALSE(cache().find());
  ::unsetenv("MNEME_KERNEL_CACHE");
  ::setenv("XDG_CACHE_HOME", (compiler_ + "/not-a-folder").c_str(), 1);
  EXPECT_EQ(cache().add("code"), "");
  EXPECT_FALSE(cache().find());
}

TEST_F(Cache, FallsBackToHome) {
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", folder_.path().c_str(), 1);
  EXPECT_TRUE(cache().add("code").starts_with(folder_.path() + "/.cache/mneme/"));
}

}  // namespace
}  // namespace mneme::hostgpu
