// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/detached_command.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "memory/own_region.h"

// A program that is executed gets back SIGCHLD as its exit signal, and would be the application's to reap. So there
// are two processes: a go-between, which never executes anything and whose end makes no signal, and under it the
// command. The go-between shares our memory while this thread waits for it, as after vfork.

// glibc's clone() by a name that ThreadSanitizer does not put its own in the place of, which takes the child for one with
// memory of its own.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept;

namespace mneme::hostgpu {
namespace {

constexpr size_t kStackSize = 64 * 1024;
constexpr int kFirstFree = 3;

struct Job {
  int input, output, errors;  // all at kFirstFree or above
  char* const* argv;
  char* const* environment;
  std::byte* command_stack;
  // The results.
  int start_error = 0;
  int status = 0;
};

struct Stack {
  Stack() : memory(memory::map_own(kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK)) {
    if (memory == MAP_FAILED) throw system_error("cannot start the compiler");
  }
  ~Stack() { ::munmap(memory, kStackSize); }
  std::byte* top() const { return static_cast<std::byte*>(memory) + kStackSize; }
  void* memory;
};

// In the two children only what is safe after vfork is called; all signals are blocked.
int command(void* argument) {
  auto* job = static_cast<Job*>(argument);
  if (::dup2(job->input, 0) < 0 || ::dup2(job->output, 1) < 0 || ::dup2(job->errors, 2) < 0) {
    job->start_error = errno;
    ::_exit(127);
  }
  ::close_range(kFirstFree, ~0u, 0);
  struct sigaction as_usual{};
  as_usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &as_usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(job->argv[0], job->argv, job->environment);
  job->start_error = errno;
  ::_exit(127);
}

// Keeps only what the command needs: a pipe of the application's must not stay open because of us.
void close_others(const Job& job) {
  int first = std::min({job.input, job.output, job.errors}), last = std::max({job.input, job.output, job.errors});
  if (first > 0) ::close_range(0, static_cast<unsigned>(first) - 1, 0);
  for (int fd = first + 1; fd < last; ++fd) {
    if (fd != job.input && fd != job.output && fd != job.errors) ::close(fd);
  }
  ::close_range(static_cast<unsigned>(last) + 1, ~0u, 0);
}

int go_between(void* argument) {
  auto* job = static_cast<Job*>(argument);
  close_others(*job);
  // Should the application ignore SIGCHLD, we do not.
  struct sigaction as_usual{};
  as_usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &as_usual, nullptr);
  pid_t pid = ::__clone(command, job->command_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, job);
  if (pid < 0) {
    job->start_error = errno;
    ::_exit(1);
  }
  while (::waitpid(pid, &job->status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

std::vector<std::string> clean_environment() {
  std::vector<std::string> kept;
  for (const char* name : {"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "MNEME_LIBDIR", "MNEME_VERIFY_PASSES"}) {
    if (const char* value = std::getenv(name)) kept.push_back(std::string(name) + "=" + value);
  }
  return kept;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Close together and out of the way of 0, 1 and 2, which may be closed in the application.
Fd out_of_the_way(Fd file) {
  Fd moved(::fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstFree));
  if (!moved) throw system_error("cannot start the compiler");
  return moved;
}

std::string contents(const Fd& file) {
  ::lseek(file.get(), 0, SEEK_SET);
  return read_all(file.get(), "a file in memory");
}

}  // namespace

CommandResult run_detached(const std::vector<std::string>& argv, Bytes input) {
  Fd in = out_of_the_way(memory_file("stdin", input));
  ::lseek(in.get(), 0, SEEK_SET);
  Fd out = out_of_the_way(memory_file("stdout"));
  Fd err = out_of_the_way(memory_file("stderr"));
  std::vector<std::string> environment = clean_environment();
  std::vector<char*> arguments = pointers(argv), variables = pointers(environment);
  Stack go_between_stack, command_stack;
  Job job{in.get(), out.get(), err.get(), arguments.data(), variables.data(), command_stack.top()};

  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  constexpr int kNoSignal = 0;
  pid_t pid = ::__clone(go_between, go_between_stack.top(), CLONE_VM | CLONE_VFORK | kNoSignal, &job);
  int failed = pid < 0 ? errno : 0;
  if (pid >= 0) {
    while (::waitpid(pid, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (failed || job.start_error) {
    throw Error::of(Exit::kMissing, "cannot run '{}': {}", argv[0], std::strerror(failed ? failed : job.start_error));
  }
  return {job.status, contents(out), contents(err)};
}

}  // namespace mneme::hostgpu
