// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace mneme::restore {
namespace {

using testing::HasSubstr;

struct Program : testing::Test {
  TemporaryFolder folder;
  std::string path = folder.path() + "/program";
  std::string executable = read_file("/proc/self/exe");

  void SetUp() override {
    Fd file = open_file(path, O_WRONLY | O_CREAT);
    begin_program(file.get(), "it", "/proc/self/exe");
    write_all(file.get(), bytes_of("the recording"), "it");
    ProgramParts parts = end_program(file.get(), "it", "more");
    EXPECT_EQ(parts.on_demand - parts.bundle, 13u);
    EXPECT_EQ(parts.end - parts.on_demand, 4u);
    EXPECT_GE(parts.bundle, executable.size());
  }
  // What is read as its recording, or the sentence.
  std::string recording() {
    Fd file = open_file(path, O_RDONLY);
    try {
      ProgramParts parts = seek_bundle(file.get(), "it");
      EXPECT_EQ(on_demand_of(file.get(), "it", parts), "more");
      return read_all(file.get(), "it").substr(0, parts.on_demand - parts.bundle);
    } catch (const Error& error) {
      return error.what();
    }
  }
  void change(const std::function<void(std::string&)>& change) {
    std::string bytes = read_file(path);
    change(bytes);
    write_file(path, bytes);
  }
};

TEST_F(Program, HoldsTheRecording) {
  EXPECT_EQ(recording(), "the recording");
  EXPECT_TRUE(read_file(path).starts_with(executable));
  EXPECT_EQ(::access(path.c_str(), X_OK), 0);
}

TEST_F(Program, TheExecutableAloneHoldsNone) {
  change([&](std::string& bytes) { bytes = executable; });
  EXPECT_THAT(recording(), HasSubstr("holds no recording"));
}

TEST_F(Program, EachByteCounts) {
  std::string whole = read_file(path);
  size_t header = whole.size() - 4 - 13 - 64;
  for (size_t at : {size_t{0x28}, size_t{0x2f}, size_t{100}, executable.size() / 2, header, header + 8, header + 16,
                    header + 24, header + 32, header + 48, header + 60, header + 64, whole.size() - 1}) {
    write_file(path, whole);
    change([&](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ 4); });
    EXPECT_THAT(recording(), HasSubstr(at >= header + 8 && at < header + 12 ? "does not know" : "again")) << at;
  }
}

TEST_F(Program, EachLengthIsNoticed) {
  std::string whole = read_file(path);
  for (size_t size : {whole.size() - 1, whole.size() - 4, whole.size() - 17, whole.size() - 18, executable.size() + 1,
                      executable.size() / 2, size_t{100}, size_t{10}, size_t{0}}) {
    write_file(path, whole.substr(0, size));
    EXPECT_THAT(recording(), testing::AnyOf(HasSubstr("again"), HasSubstr("holds no recording"))) << size;
  }
  write_file(path, whole + "x");
  EXPECT_THAT(recording(), HasSubstr("goes on"));
}

TEST_F(Program, OneThatWasNotEndedHoldsNone) {
  Fd file = open_file(path, O_WRONLY | O_TRUNC);
  begin_program(file.get(), "it", "/proc/self/exe");
  write_all(file.get(), bytes_of("the recording"), "it");
  EXPECT_THAT(recording(), HasSubstr("never whole"));
}

TEST_F(Program, OnlyFilesAndExecutablesWillDo) {
  Fd null = open_file("/dev/null", O_WRONLY);
  EXPECT_THROW(begin_program(null.get(), "it", "/proc/self/exe"), Error);
  Fd file = open_file(path, O_WRONLY | O_TRUNC);
  EXPECT_THROW(begin_program(file.get(), "it", "/etc/passwd"), Error);
}

}  // namespace
}  // namespace mneme::restore
