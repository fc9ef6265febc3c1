// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/write_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bundle/format.h"
#include "recorder/memory/device_writes.h"

namespace mneme::record {
namespace {

using bundle::kBlockSize;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Runs = std::vector<std::pair<uint64_t, uint64_t>>;  // addresses, and bytes

constexpr uint64_t kRegion = 2 << 20, kPage = 4096;

// Memory that is watched, two regions and a part of a third one: shared, or the process's own.
class WriteWatchTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr uint64_t kSize = 2 * kRegion + 5 * kBlockSize;
  static constexpr int kAccess = PROT_READ | PROT_WRITE;

  bool is_shared() const { return GetParam(); }

  void SetUp() override {
    if (!PageScan::make_protector()) GTEST_SKIP() << "this system notes no writes (Linux 6.7 does, where it may)";
    void* got = is_shared() ? ::mmap(nullptr, kSize + kBlockSize, kAccess, MAP_SHARED, file_.get(), 0)
                            : ::mmap(nullptr, kSize + kBlockSize, kAccess, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(got, MAP_FAILED);
    auto address = reinterpret_cast<uint64_t>(got);
    base_ = (address + kBlockSize - 1) / kBlockSize * kBlockSize;
    watch_.add({base_, kSize});
  }
  void TearDown() override {
    if (base_) ::munmap(at(0), kSize);
  }

  char* at(uint64_t offset) const { return reinterpret_cast<char*>(base_ + offset); }
  Runs look() {
    Runs runs;
    for (const MemoryRange& run : watch_.look()) runs.emplace_back(run.address, run.size);
    return runs;
  }
  void write_all() { std::memset(at(0), 'x', kSize); }
  // Everything was written, and the watch has looked.
  void settle() {
    write_all();
    EXPECT_THAT(look(), IsEmpty());
  }
  std::pair<uint64_t, uint64_t> blocks(uint64_t first, uint64_t count) const {
    return {base_ + first * kBlockSize, count * kBlockSize};
  }
  std::pair<uint64_t, uint64_t> all() const { return {base_, kSize}; }

  Fd file_ = zeroed_memory_file("watched", kSize + kBlockSize);
  uint64_t base_ = 0;
  WriteWatch watch_;
};

std::string name_of(const ::testing::TestParamInfo<bool>& info) { return info.param ? "Shared" : "Own"; }
INSTANTIATE_TEST_SUITE_P(Of, WriteWatchTest, ::testing::Bool(), name_of);

TEST_P(WriteWatchTest, KnowsWhatNobodyHasWrittenSince) {
  EXPECT_THAT(look(), IsEmpty()) << "no page of it is there yet";
  settle();
  EXPECT_THAT(look(), ElementsAre(all()));
  *at(3 * kBlockSize + 70) = 'x';  // the value that it had: written all the same
  *at(kRegion - 1) = 'y';
  EXPECT_THAT(look(), ElementsAre(blocks(0, 3), blocks(4, 27), blocks(32, 37)));
  EXPECT_THAT(look(), ElementsAre(all()));
  EXPECT_EQ(*at(kRegion - 1), 'y');
}

TEST_P(WriteWatchTest, SeesWhatTheSystemWrites) {
  settle();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  ASSERT_EQ(::write(pipe[1], "abc", 3), 3);
  ASSERT_EQ(::read(pipe[0], at(kBlockSize), 3), 3);
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_THAT(look(), ElementsAre(blocks(0, 1), blocks(2, 67)));

  // As another process does, such as one of an MPI job on the same machine.
  const pid_t parent = ::getpid();
  if (const pid_t child = ::fork(); child == 0) {
    char text[] = "def";
    iovec from{text, 3}, to{at(2 * kBlockSize), 3};
    ::_exit(::process_vm_writev(parent, &from, 1, &to, 1, 0) == 3 ? 0 : 1);
  } else {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (status != 0) GTEST_SKIP() << "processes may not write to each other's memory here";
  }
  EXPECT_EQ(std::memcmp(at(2 * kBlockSize), "def", 3), 0);
  EXPECT_THAT(look(), ElementsAre(blocks(0, 2), blocks(3, 66)));
}

// As where memory is short: a page that is not mapped any more has no note of who wrote to it.
TEST_P(WriteWatchTest, BelievesNothingOfPagesThatAreOutOfSight) {
  settle();
  *at(5 * kBlockSize) = 'z';
  ASSERT_EQ(::madvise(at(4 * kBlockSize), 2 * kBlockSize, MADV_DONTNEED), 0);
  EXPECT_EQ(*at(5 * kBlockSize), is_shared() ? 'z' : 0);
  for (const auto& [address, size] : look()) {
    EXPECT_FALSE(address <= base_ + 5 * kBlockSize && address + size > base_ + 5 * kBlockSize);
  }
}

TEST_P(WriteWatchTest, LeavesAloneForAWhileWhatIsWrittenAgainAndAgain) {
  settle();
  auto write_region = [&] { std::memset(at(kRegion), 'y', kRegion); };
  auto is_known = [&] {
    bool known = false;
    for (const auto& [address, size] : look()) {
      EXPECT_EQ(address <= base_, address == base_);
      known |= address <= base_ + kRegion && address + size >= base_ + 2 * kRegion;
    }
    return known;
  };
  write_region();
  EXPECT_FALSE(is_known());
  EXPECT_FALSE(is_known()) << "though nobody wrote to it: it is not watched";
  EXPECT_FALSE(is_known()) << "it is watched from here on";
  EXPECT_TRUE(is_known());

  // The longer, the more often that is so.
  int looks = 0;
  for (int times = 0; times < 6; ++times) {
    write_region();
    for (looks = 1; !is_known(); ++looks) ASSERT_LT(looks, 100);
  }
  EXPECT_GT(looks, 20);
  EXPECT_LT(looks, 40);
  *at(kRegion) = 'z';
  EXPECT_FALSE(is_known());
}

TEST_P(WriteWatchTest, KnowsNothingOnceItsDescriptorIsClosed) {
  settle();
  for (int number = 3; number < 2000; ++number) {
    if (number != file_.get()) ::close(number);
  }
  *at(0) = 'y';
  EXPECT_THAT(look(), IsEmpty());
  write_all();
  EXPECT_THAT(look(), IsEmpty());
}

TEST_P(WriteWatchTest, WatchesWhatOverlapsOnlyOnce) {
  settle();
  watch_.add({base_ + kRegion, kRegion});
  write_all();
  EXPECT_THAT(look(), IsEmpty());
  *at(kRegion) = 'y';
  EXPECT_THAT(look(), ElementsAre(blocks(33, 31)));
}

TEST_P(WriteWatchTest, LeavesAloneWhatWasRemoved) {
  settle();
  watch_.remove({base_, kSize});
  EXPECT_THAT(look(), IsEmpty());
  // Somebody else may have them noted now, which they may not while we do.
  const Fd other = PageScan::make_protector();
  EXPECT_TRUE(PageScan::can_protect(other.get(), {base_, kSize}));
  watch_.remove({base_, kSize});
}

// As an allocator does that gives memory back and takes it again: nothing says so to whoever watched it.
TEST_P(WriteWatchTest, KnowsNothingOfWhatTookItsPlace) {
  settle();
  void* part = at(kRegion);
  ASSERT_EQ(::munmap(part, kRegion), 0);
  EXPECT_THAT(look(), ElementsAre(blocks(0, 32), blocks(64, 5)));
  ASSERT_EQ(::mmap(part, kRegion, kAccess, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), part);
  std::memset(part, 'y', kRegion);
  for (int times = 0; times < 5; ++times) {
    for (const auto& [address, size] : look()) {
      EXPECT_TRUE(address + size <= base_ + kRegion || address >= base_ + 2 * kRegion);
    }
  }
}

TEST_P(WriteWatchTest, WatchesAgainAfterItForgot) {
  settle();
  watch_.forget();
  EXPECT_THAT(look(), IsEmpty());
  watch_.add({base_, kSize});
  settle();
  EXPECT_THAT(look(), ElementsAre(all()));
}

// A buffer of io_uring's stands for all memory that devices hold: what they write, no page table notes.
TEST_P(WriteWatchTest, KnowsNothingWhilePagesArePinned) {
  settle();
  std::array<unsigned, 30> parameters{};
  Fd ring(static_cast<int>(::syscall(SYS_io_uring_setup, 1, parameters.data())));
  if (!ring) GTEST_SKIP() << "this system has no io_uring, or forbids it";
  iovec buffer{at(0), kPage};
  constexpr int kRegisterBuffers = 0;
  ASSERT_EQ(::syscall(SYS_io_uring_register, ring.get(), kRegisterBuffers, &buffer, 1), 0);
  ASSERT_TRUE(devices_may_write());
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(look(), IsEmpty());
  constexpr int kUnregisterBuffers = 1;
  ASSERT_EQ(::syscall(SYS_io_uring_register, ring.get(), kUnregisterBuffers, nullptr, 0), 0);
  ring = Fd();
  for (int times = 0; times < 100 && devices_may_write(); ++times) ::usleep(10'000);
  EXPECT_THAT(look(), IsEmpty()) << "what was written before";
  EXPECT_THAT(look(), ElementsAre(all()));
}

// Of these not all is known that writes to memory; of others it is.
TEST_P(WriteWatchTest, KnowsNothingWhileUnusualSocketsOrDevicesAreOpen) {
  settle();
  {
    const Fd null(::open("/dev/null", O_RDWR)), status(::open("/proc/self/status", O_RDONLY));
    const Fd local(::socket(AF_UNIX, SOCK_STREAM, 0)), internet(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_THAT(look(), ElementsAre(all()));
    Fd other(::socket(AF_ALG, SOCK_SEQPACKET, 0));
    if (!other) other = Fd(::socket(AF_VSOCK, SOCK_STREAM, 0));
    if (!other) other = Fd(::open("/dev/fuse", O_RDWR));
    if (!other) GTEST_SKIP() << "this system has none of them, or forbids them";
    EXPECT_THAT(look(), IsEmpty());
  }
  EXPECT_THAT(look(), IsEmpty()) << "what was written before";
  EXPECT_THAT(look(), ElementsAre(all()));
}

// While a disk writes what is read from a file, pages are pinned, and nothing says so but the file.
TEST_P(WriteWatchTest, KnowsNothingWhileFilesAreOpenThatDisksWriteFrom) {
  settle();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  EXPECT_THAT(look(), ElementsAre(all()));
  ASSERT_EQ(::fcntl(pipe[0], F_SETFL, O_DIRECT), 0);  // files of some systems are not to be had so
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(look(), IsEmpty());
  for (int end : pipe) ::close(end);
  EXPECT_THAT(look(), IsEmpty()) << "what was written before";
  EXPECT_THAT(look(), ElementsAre(all()));
}

}  // namespace
}  // namespace mneme::record
