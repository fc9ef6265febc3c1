// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/private_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace mneme::memory {
namespace {

constexpr uint64_t kSize = 3 * 4096;

// In a child: makes the memory private, changes it, and tells whether it saw what was there.
bool child_does_well(char* memory, int file) {
  pid_t child = ::fork();
  if (child == 0) {
    if (!make_private(memory, kSize, PROT_READ | PROT_WRITE, file)) ::_exit(1);
    if (memory[0] != 'a' || memory[4096] != 0 || memory[kSize - 1] != 'z') ::_exit(2);
    memory[0] = memory[4096] = 'c';
    ::_exit(memory[0] == 'c' ? 0 : 3);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(PrivateMemory, IsTheChildsOwn) {
  Fd file = zeroed_memory_file("shared", kSize);
  auto* memory = static_cast<char*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  ASSERT_NE(memory, MAP_FAILED);
  memory[0] = 'a';
  memory[kSize - 1] = 'z';
  EXPECT_TRUE(child_does_well(memory, file.get()));
  EXPECT_TRUE(child_does_well(memory, -1)) << "copied, without the descriptor";
  EXPECT_EQ(memory[0], 'a');
  EXPECT_EQ(memory[4096], 0);
  ::munmap(memory, kSize);
}

TEST(PrivateMemory, CopiesLeaveZerosAlone) {
  std::vector<char> from(3 * 4096 + 10, 0), to(from.size(), 0);
  from[5000] = 1;
  from.back() = 2;
  copy_sparse(to.data() + 3, from.data() + 3, from.size() - 3);
  EXPECT_EQ(from, to);
}

TEST(FileIdentity, IsLostWithTheDescriptor) {
  Fd file = memory_file("x"), other = memory_file("y");
  FileIdentity identity(file.get());
  EXPECT_TRUE(identity.is(file.get()));
  EXPECT_FALSE(identity.is(other.get()));
  EXPECT_FALSE(identity.is(-1));
  EXPECT_FALSE(FileIdentity(-1).is(-1));
}

}  // namespace
}  // namespace mneme::memory
