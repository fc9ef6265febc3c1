// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace mneme {
namespace {

// What `attempt` gives in a confined child: the confinement cannot be undone, so the test itself is not confined.
int in_confined_child(const std::function<int()>& attempt) {
  pid_t pid = ::fork();
  if (pid == 0) {
    confine_process();
    ::_exit(attempt());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << describe_wait_status(status);
  return WEXITSTATUS(status);
}

// The error of a call that returns -1; 0 if it worked.
int error_of(long result) { return result < 0 ? errno : 0; }

bool system_has_seccomp() {
  return in_confined_child([] { return ::prctl(PR_GET_SECCOMP) == 2; }) == 1;
}

class Confine : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(system_has_seccomp()); }
  TemporaryFolder folder_;
};

TEST_F(Confine, ReadingWorks) {
  std::string path = folder_.path() + "/file";
  write_file(path, "contents");
  EXPECT_EQ(in_confined_child([&] { return read_file(path) == "contents" ? 0 : 1; }), 0);
}

TEST_F(Confine, WritingToWhatIsOpenWorks) {
  Fd file = memory_file("result");
  EXPECT_EQ(in_confined_child([&] { return error_of(::write(file.get(), "x", 1)); }), 0);
}

TEST_F(Confine, OpeningForWritingFails) {
  std::string path = folder_.path() + "/file";
  write_file(path, "contents");
  for (int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_WRONLY | O_APPEND, O_WRONLY | O_CREAT | O_TRUNC}) {
    EXPECT_EQ(in_confined_child([&] { return error_of(::open(path.c_str(), flags, 0666)); }), EPERM) << flags;
  }
  EXPECT_EQ(in_confined_child([&] { return error_of(::creat(path.c_str(), 0666)); }), EPERM);
  EXPECT_EQ(read_file(path), "contents");
}

TEST_F(Confine, ChangingFoldersFails) {
  std::string path = folder_.path() + "/file", other = folder_.path() + "/other";
  write_file(path, "contents");
  EXPECT_EQ(in_confined_child([&] { return error_of(::unlink(path.c_str())); }), EPERM);
  EXPECT_EQ(in_confined_child([&] { return error_of(::rename(path.c_str(), other.c_str())); }), EPERM);
  EXPECT_EQ(in_confined_child([&] { return error_of(::mkdir(other.c_str(), 0777)); }), EPERM);
  EXPECT_EQ(in_confined_child([&] { return error_of(::truncate(path.c_str(), 0)); }), EPERM);
  EXPECT_EQ(in_confined_child([&] { return error_of(::symlink(path.c_str(), other.c_str())); }), EPERM);
}

TEST_F(Confine, TheNetworkFails) {
  for (int family : {AF_INET, AF_INET6, AF_UNIX}) {
    EXPECT_EQ(in_confined_child([&] { return error_of(::socket(family, SOCK_STREAM, 0)); }), EPERM) << family;
  }
}

TEST_F(Confine, OtherProgramsAndProcessesAreOutOfReach) {
  EXPECT_EQ(in_confined_child([] { return error_of(::execl("/bin/true", "true", nullptr)); }), EPERM);
  EXPECT_EQ(in_confined_child([] { return error_of(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }), EPERM);
}

TEST_F(Confine, AProcessKeptToItselfStartsThreadsOnly) {
  auto kept = [](const std::function<int()>& attempt) {
    return in_confined_child([&] {
      confine_to_this_process();
      return attempt();
    });
  };
  auto error_of_start = [](auto start) {
    return [start] {
      long child = start();
      if (child == 0) ::_exit(0);
      return error_of(child);
    };
  };
  EXPECT_EQ(kept(error_of_start([] { return long{::fork()}; })), EPERM);
  EXPECT_EQ(kept(error_of_start([] { return ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0); })), EPERM);
#ifdef SYS_vfork
  EXPECT_EQ(kept(error_of_start([] { return ::syscall(SYS_vfork); })), EPERM);
#endif
  EXPECT_EQ(kept(error_of_start([] {
              clone_args how{};
              how.exit_signal = SIGCHLD;
              return ::syscall(SYS_clone3, &how, sizeof how);
            })),
            ENOSYS);
  EXPECT_EQ(kept([] {
              int ran = 0;
              std::thread([&] { ran = 1; }).join();
              return ran;
            }),
            1);
  EXPECT_EQ(kept([] { return error_of(::execl("/bin/true", "true", nullptr)); }), EPERM);
}

TEST_F(Confine, AProcessKeptToItselfSendsSignalsToItselfOnly) {
  auto kept = [](const std::function<int()>& attempt) {
    return in_confined_child([&] {
      confine_to_this_process();
      return attempt();
    });
  };
  EXPECT_EQ(kept([] { return error_of(::kill(::getppid(), 0)); }), EPERM);
  EXPECT_EQ(kept([] { return error_of(::kill(0, 0)); }), EPERM);
  EXPECT_EQ(kept([] { return error_of(::kill(-1, 0)); }), EPERM);
  EXPECT_EQ(kept([] { return error_of(::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0)); }), EPERM);
  EXPECT_EQ(kept([] { return error_of(::syscall(SYS_tkill, ::getppid(), 0)); }), EPERM);
  EXPECT_EQ(kept([] { return error_of(::syscall(SYS_rt_sigqueueinfo, ::getppid(), 0, nullptr)); }), EPERM);
  EXPECT_EQ(kept([] { return error_of(::syscall(SYS_rt_tgsigqueueinfo, ::getppid(), ::getppid(), 0, nullptr)); }),
            EPERM);
  EXPECT_EQ(kept([] { return error_of(::syscall(SYS_pidfd_send_signal, 0, 0, nullptr, 0)); }), EPERM);
  EXPECT_EQ(kept([] { return error_of(::kill(::getpid(), 0)); }), 0);
  EXPECT_EQ(kept([] {
              std::signal(SIGUSR1, [](int) { ::_exit(3); });
              std::raise(SIGUSR1);
              return 0;
            }),
            3);
}

TEST_F(Confine, NoDescriptorIsTakenFromAnotherProcess) {
  int parent = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  if (parent < 0) GTEST_SKIP() << "this system has no pidfd_open";
  EXPECT_EQ(in_confined_child([&] { return error_of(::syscall(SYS_pidfd_getfd, parent, 0, 0)); }), EPERM);
  ::close(parent);
}

bool system_has_landlock() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

TEST_F(Confine, ProgramsRunConfined) {
  std::string path = folder_.path() + "/file";
  write_file(path, "contents");
  CommandResult result =
      run_confined_command({"sh", "-c", "cat > /dev/stdout; echo trouble >&2; exit 3"}, "some input");
  EXPECT_EQ(result.output, "some input");
  EXPECT_EQ(result.errors, "trouble\n");
  EXPECT_EQ(describe_wait_status(result.status), "exited with status 3");
  EXPECT_NE(run_confined_command({"rm", path}, "").status, 0);
  EXPECT_NE(run_confined_command({"mkdir", path + "s"}, "").status, 0);
  EXPECT_EQ(run_confined_command({"cat", path}, "").output, "contents");
  EXPECT_THROW(run_confined_command({"mneme-no-such-program"}, ""), Error);
  if (!system_has_landlock()) GTEST_SKIP() << "this system has no Landlock: such programs can write to files";
  run_confined_command({"sh", "-c", "echo more >> " + path + "; echo > " + path + "2"}, "");
  EXPECT_EQ(read_file(path), "contents");
  EXPECT_FALSE(file_exists(path + "2"));
}

TEST_F(Confine, NoCoreIsDumpedAndNoPrivilegeGained) {
  EXPECT_EQ(in_confined_child([] {
              rlimit core{1, 1};
              ::getrlimit(RLIMIT_CORE, &core);
              return core.rlim_max == 0 && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace mneme
