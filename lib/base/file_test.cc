// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace mneme {
namespace {

template <typename Function>
std::string fault_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kBadInput);
    return error.what();
  }
  return "none";
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, ClosesWhatItOwns) {
  int raw = -1;
  {
    Fd file = memory_file("x");
    raw = file.get();
    Fd other = std::move(file);
    EXPECT_EQ(other.get(), raw);
    EXPECT_FALSE(file);  // NOLINT(bugprone-use-after-move): that it is empty is the point
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
  Fd kept = memory_file("x");
  raw = kept.release();
  EXPECT_FALSE(kept);
  EXPECT_TRUE(is_open(raw));
  Fd(raw).close_checked("x");
  EXPECT_FALSE(is_open(raw));
}

TEST(File, RoundTrip) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/file", contents(100000, 'x');
  EXPECT_FALSE(file_exists(path));
  write_file(path, contents);
  EXPECT_TRUE(file_exists(path));
  EXPECT_EQ(read_file(path), contents);
  write_file(path, "shorter");
  EXPECT_EQ(read_file(path), "shorter");
}

TEST(File, FaultsNameThePathAndTheReason) {
  EXPECT_EQ(fault_of([] { read_file("/no/such/file"); }), "cannot open '/no/such/file': No such file or directory");
  EXPECT_EQ(fault_of([] { write_file("/no/such/file", "x"); }),
            "cannot write '/no/such/file': No such file or directory");
  EXPECT_EQ(fault_of([] { write_file("/dev/full", "x"); }), "cannot write '/dev/full': No space left on device");
  TemporaryFolder folder;
  write_file(folder.path() + "/large", std::string(100, 'x'));
  EXPECT_NE(fault_of([&] { read_file(folder.path() + "/large", 99); }).find("is larger than 99 bytes"),
            std::string::npos);
  EXPECT_EQ(read_file(folder.path() + "/large", 100).size(), 100u);
}

TEST(File, OpensForThisProcessOnly) {
  Fd file = open_file("/dev/null", O_RDONLY);
  EXPECT_TRUE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC);
}

TEST(File, AClosedPipeIsAFault) {
  auto before = std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  Fd write_end(ends[1]);
  ::close(ends[0]);
  EXPECT_EQ(fault_of([&] { write_all(write_end.get(), bytes_of("x"), "the output"); }),
            "cannot write the output: Broken pipe");
  std::signal(SIGPIPE, before);
}

TEST(File, ReadsExactly) {
  Fd file = memory_file("x", bytes_of("123456"));
  std::array<std::byte, 4> four;
  EXPECT_TRUE(read_exactly(file.get(), four, "x"));
  EXPECT_EQ(text_of(four), "1234");
  EXPECT_EQ(fault_of([&] { read_exactly(file.get(), four, "x"); }), "x ends in the middle of a message");
  EXPECT_FALSE(read_exactly(file.get(), four, "x"));
}

TEST(TemporaryFolder, GoesWithWhatIsInIt) {
  std::string path;
  {
    TemporaryFolder folder("mneme-test");
    path = folder.path();
    EXPECT_NE(path.find("mneme-test-"), std::string::npos);
    write_file(path + "/file", "x");
  }
  EXPECT_FALSE(file_exists(path));
}

TEST(InstalledPart, IsFoundInTheFolderGivenOrNamed) {
  TemporaryFolder folder;
  write_file(folder.path() + "/part.so", "x");
  ::setenv("MNEME_LIBDIR", folder.path().c_str(), 1);
  EXPECT_EQ(installed_part("part.so"), folder.path() + "/part.so");
  ::unsetenv("MNEME_LIBDIR");
  try {
    installed_part("no-such-part.so");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kMissing);
    EXPECT_NE(std::string(error.what()).find("no-such-part.so"), std::string::npos);
  }
}

}  // namespace
}  // namespace mneme
