// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"

namespace mneme {
namespace {

// Runs `body` in a process of its own, which it may limit as it likes; its result, or the signal that killed it.
template <typename Body>
int in_another_process(Body body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// From here on memfd_create is not permitted.
bool forbid_files_in_memory() {
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{std::size(rules), rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool can_be_written(const Fd& file, size_t size) {
  struct stat about{};
  if (::fstat(file.get(), &about) != 0 || about.st_size != static_cast<off_t>(size)) return false;
  auto* bytes = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  if (bytes == MAP_FAILED || bytes[size - 1] != 0) return false;
  std::memset(bytes, 1, size);
  return ::munmap(bytes, size) == 0;
}

TEST(MemoryFile, HoldsContentsOrZeros) {
  EXPECT_EQ(read_all(memory_file("x", bytes_of("contents")).get(), "x"), "contents");
  EXPECT_TRUE(can_be_written(zeroed_memory_file("x", 3 << 20), 3 << 20));
}

TEST(MemoryFile, WorksWhereFilesInMemoryAreForbidden) {
  EXPECT_EQ(in_another_process([] {
              if (!forbid_files_in_memory()) return 1;
              if (::memfd_create("x", 0) >= 0) return 2;
              if (read_all(memory_file("x", bytes_of("contents")).get(), "x") != "contents") return 3;
              return can_be_written(zeroed_memory_file("x", 3 << 20), 3 << 20) ? 0 : 4;
            }),
            0);
}

TEST(MemoryFile, CanBeSetAsideForAConfinedProcess) {
  EXPECT_EQ(in_another_process([] {
              if (!forbid_files_in_memory()) return 1;
              confine_process();
              if (::open("/tmp/x", O_CREAT | O_RDWR, 0600) >= 0) return 2;
              Fd first = memory_file("x", bytes_of("first")), second = memory_file("x", bytes_of("second"));
              if (read_all(first.get(), "x") != "first") return 3;
              return read_all(second.get(), "x") == "second" ? 0 : 4;
            }),
            0);
}

TEST(MemoryFile, ALimitOnFilesIsAFaultNotASignal) {
  EXPECT_EQ(in_another_process([] {
              rlimit limit{1 << 20, 1 << 20};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              if (largest_file() != 1 << 20) return 1;
              if (!can_be_written(zeroed_memory_file("x", 1 << 20), 1 << 20)) return 2;
              try {
                zeroed_memory_file("x", (1 << 20) + 1);
              } catch (const Error& error) {
                return std::string(error.what()).find("ulimit -f") == std::string::npos ? 3 : 0;
              }
              return 4;
            }),
            0);
}

}  // namespace
}  // namespace mneme
