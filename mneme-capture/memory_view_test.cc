// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory_view.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "bundle/format.h"
#include "process_memory.h"

namespace mneme::capture {
namespace {

using bundle::kBlockSize;

constexpr uint64_t kBase = 0x400000000000;
constexpr uint64_t kPage = 4096;

Fd memory_of(uint64_t size) {
  Fd memory = memory_file("test");
  EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(size)), 0);
  return memory;
}

std::string text(Bytes bytes) { return std::string(text_of(bytes)); }

TEST(ApplicationMemory, ShowsWhatOthersWrite) {
  Fd memory = memory_of(2 * kBlockSize);
  int writer = ::dup(memory.get());
  ApplicationMemory view;
  view.add(kBase, 2 * kBlockSize, std::move(memory));
  EXPECT_TRUE(view.untouched(kBase, kBlockSize));
  ASSERT_EQ(::pwrite(writer, "hello", 5, kBlockSize + 10), 5);
  ::close(writer);
  EXPECT_TRUE(view.untouched(kBase, kBlockSize));
  EXPECT_FALSE(view.untouched(kBase + kBlockSize, kBlockSize));
  EXPECT_EQ(text(view.at(kBase + kBlockSize + 10, 5, nullptr)), "hello");
  EXPECT_EQ(view.at(kBase + kBlockSize, 2 * kBlockSize, nullptr).size(), kBlockSize);
  EXPECT_TRUE(view.at(kBase + 2 * kBlockSize, 1, nullptr).empty());
  EXPECT_TRUE(view.at(kBase - 1, 1, nullptr).empty());
  view.remove(kBase);
  EXPECT_TRUE(view.at(kBase, 1, nullptr).empty());
}

TEST(ApplicationMemory, RefusesWhatCannotBe) {
  ApplicationMemory view;
  EXPECT_THROW(view.add(kBase, 2 * kBlockSize, memory_of(kBlockSize)), Error) << "shorter than said";
  view.add(kBase, kBlockSize, memory_of(kBlockSize));
  EXPECT_THROW(view.add(kBase, kBlockSize, memory_of(kBlockSize)), Error);
  EXPECT_THROW(view.add(kBase - kBlockSize, 2 * kBlockSize, memory_of(2 * kBlockSize)), Error);
  EXPECT_THROW(view.add(UINT64_MAX - 10, kBlockSize, memory_of(kBlockSize)), Error);
  EXPECT_THROW(view.add(2 * kBase, kBlockSize, Fd()), Error) << "of a process that cannot be read";
}

TEST(ApplicationMemory, KnowsDigestsUntilItForgets) {
  ApplicationMemory view;
  view.tell(kBase, {digest_of("a"), digest_of("b")});
  view.tell(kBase + 4 * kBlockSize, {digest_of("c")});
  EXPECT_EQ(view.known(kBase + kBlockSize), digest_of("b"));
  EXPECT_EQ(view.known(kBase + 4 * kBlockSize), digest_of("c"));
  for (uint64_t unknown : {kBase - kBlockSize, kBase + 1, kBase + 2 * kBlockSize, kBase + 5 * kBlockSize}) {
    EXPECT_FALSE(view.known(unknown));
  }
  view.forget();
  EXPECT_FALSE(view.known(kBase));
}

TEST(ApplicationMemory, KnowsWhatWasNotWrittenUntilItForgets) {
  ApplicationMemory view;
  view.tell_unwritten({{kBase, 2 * kBlockSize}, {kBase + 4 * kBlockSize, kBlockSize + 100}});
  for (uint64_t known : {0, 1, 4}) EXPECT_TRUE(view.unwritten(kBase + known * kBlockSize)) << known;
  for (uint64_t unknown : {2, 3, 5, 6}) EXPECT_FALSE(view.unwritten(kBase + unknown * kBlockSize)) << unknown;
  EXPECT_FALSE(view.unwritten(kBase - kBlockSize));
  view.forget();
  EXPECT_FALSE(view.unwritten(kBase));
}

// A process that has four pages, of which the second is not to be read, and sleeps.
class Sleeper {
 public:
  Sleeper()
      : pages_(static_cast<char*>(
            ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::memset(pages_, 'a', 4 * kPage);
    process_ = ::fork();
    if (process_ == 0) {
      ::munmap(pages_ + kPage, kPage);
      ::pause();
      ::_exit(0);
    }
    // Until it has unmapped the page.
    for (char byte = 'a'; byte == 'a'; ::usleep(100)) {
      read_memory(process_, address() + kPage, 1, reinterpret_cast<std::byte*>(&byte));
    }
  }
  ~Sleeper() {
    end();
    ::munmap(pages_, 4 * kPage);
  }
  void end() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    process_ = 0;
  }
  pid_t process() const { return process_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(pages_); }

 private:
  char* pages_;
  pid_t process_ = -1;
};

TEST(ApplicationMemory, ReadsAProcessesOwnMemory) {
  Sleeper sleeper;
  EXPECT_TRUE(can_read(sleeper.process(), sleeper.address(), "aaaa", 4));
  EXPECT_FALSE(can_read(sleeper.process(), sleeper.address(), "aaab", 4));
  EXPECT_FALSE(can_read(0, sleeper.address(), "aaaa", 4));
  ApplicationMemory view(sleeper.process());
  view.add(sleeper.address(), 4 * kPage, Fd());
  std::string room(4 * kPage, 'x');
  auto* out = reinterpret_cast<std::byte*>(room.data());
  Bytes bytes = view.at(sleeper.address() + 1, 4 * kPage, out);
  EXPECT_EQ(bytes.data(), out);
  ASSERT_EQ(bytes.size(), 4 * kPage - 1);
  EXPECT_EQ(text(bytes.first(kPage - 1)), std::string(kPage - 1, 'a'));
  EXPECT_EQ(text(bytes.subspan(kPage - 1, kPage)), std::string(kPage, '\0')) << "what is not there counts as zeros";
  EXPECT_EQ(text(bytes.subspan(2 * kPage - 1)), std::string(2 * kPage, 'a'));
  EXPECT_FALSE(view.untouched(sleeper.address(), kPage));
  uint64_t address = sleeper.address();
  sleeper.end();
  EXPECT_THROW(view.at(address, kPage, out), ProcessGone);
}

}  // namespace
}  // namespace mneme::capture
