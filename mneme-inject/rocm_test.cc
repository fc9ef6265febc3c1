// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rocm.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace mneme::inject {
namespace {

namespace fs = std::filesystem;

// With a folder that stands for ROCm's, and a script that stands for the compiler.
class Rocm : public testing::Test {
 protected:
  Rocm() {
    for (const char* name : {"ROCM_PATH", "HIP_PATH", "HIP_DEVICE_LIB_PATH"}) ::unsetenv(name);
    ::setenv("XDG_CACHE_HOME", (folder_.path() + "/cache").c_str(), 1);
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
    fs::create_directories(libraries());
    for (const char* name : {"ocml.bc", "oclc_isa_version_906.bc", "oclc_isa_version_90a.bc"}) {
      write_file(libraries() + "/" + name, "ROCm's");
    }
    compiler("#!/bin/sh\necho run >> " + log() + "\nfor last; do :; done\ncat > $last\n");
  }
  ~Rocm() override {
    for (const char* name : {"XDG_CACHE_HOME", "TMPDIR"}) ::unsetenv(name);
  }

  std::string rocm() const { return folder_.path() + "/rocm"; }
  std::string libraries() const { return rocm() + "/amdgcn/bitcode"; }
  std::string log() const { return folder_.path() + "/log"; }
  void compiler(const std::string& script) {
    write_file(folder_.path() + "/clang", script);
    ::chmod((folder_.path() + "/clang").c_str(), 0755);
  }

  std::string named(std::vector<std::string> processors) {
    Invocation invocation;
    invocation.rocm_path = rocm();
    invocation.processors = std::move(processors);
    return device_libraries_to_name(invocation, folder_.path() + "/clang");
  }

  TemporaryFolder folder_;
};

TEST_F(Rocm, LibrariesThatHaveTheProcessorStay) {
  EXPECT_EQ(named({}), "");
  EXPECT_EQ(named({"gfx906", "gfx90a:xnack+"}), "");
  EXPECT_EQ(named({"gfx803"}), "") << "Mneme has no code for it";
  EXPECT_FALSE(fs::exists(log()));
}

TEST_F(Rocm, WhatSaysTheProcessorIsMade) {
  const std::string view = named({"gfx906", "gfx942:xnack-"});
  ASSERT_NE(view, "");
  EXPECT_EQ(read_file(view + "/ocml.bc"), "ROCm's");
  EXPECT_EQ(read_file(view + "/oclc_isa_version_90a.bc"), "ROCm's");
  for (auto [name, number] : {std::pair{"942", " i32 9402,"}, {"1100", " i32 11000,"}, {"11-generic", " i32 11003,"}}) {
    EXPECT_NE(read_file(fmt::format("{}/oclc_isa_version_{}.bc", view, name)).find(number), std::string::npos) << name;
  }
  const std::string runs = read_file(log());
  EXPECT_EQ(named({"gfx1100"}), view);
  EXPECT_EQ(named({"native"}), view);
  EXPECT_EQ(read_file(log()), runs) << "once";
  EXPECT_FALSE(fs::exists(libraries() + "/oclc_isa_version_942.bc")) << "ROCm's folder is left as it is";
}

TEST_F(Rocm, SoIsWhatSaysTheVersionOfCodeObjects) {
  Invocation invocation;
  invocation.rocm_path = rocm();
  invocation.processors = {"gfx90a"};
  invocation.code_object = "5";
  EXPECT_EQ(device_libraries_to_name(invocation, folder_.path() + "/clang"), "");
  invocation.code_object = "6";
  const std::string view = device_libraries_to_name(invocation, folder_.path() + "/clang");
  EXPECT_NE(read_file(view + "/oclc_abi_version_600.bc").find("@__oclc_ABI_version = "), std::string::npos);
}

TEST_F(Rocm, ADamagedFolderIsMadeAgain) {
  const std::string view = named({"gfx942"});
  fs::remove(view + "/oclc_isa_version_942.bc");
  EXPECT_EQ(named({"gfx942"}), view);
  EXPECT_TRUE(fs::exists(view + "/oclc_isa_version_942.bc"));
}

TEST_F(Rocm, ACompilerThatCannotSaysSo) {
  compiler("#!/bin/sh\necho 'no such target' >&2\nexit 1\n");
  try {
    named({"gfx942"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("that the device libraries in " + libraries() + " lack"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("no such target"), std::string::npos);
  }
  compiler("#!/bin/sh\nfor last; do :; done\ncat > $last\n");
  EXPECT_NE(named({"gfx942"}), "") << "nothing is left of the attempt";
}

TEST_F(Rocm, AnotherFolderThatIsNamedStays) {
  Invocation invocation;
  invocation.processors = {"gfx942"};
  invocation.names_device_libraries = true;
  EXPECT_EQ(device_libraries_to_name(invocation, folder_.path() + "/clang"), "");
}

}  // namespace
}  // namespace mneme::inject
