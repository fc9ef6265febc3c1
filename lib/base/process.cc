// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/file.h"

extern char** environ;

namespace mneme {
namespace {

bool runs(const std::string& path) {
  std::error_code ignored;
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, ignored);
}

std::string followed(const std::string& path) {
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

constexpr auto kEndPatience = std::chrono::seconds(1);

}  // namespace

std::optional<int> status_of_ending(pid_t child) {
  const auto until = std::chrono::steady_clock::now() + kEndPatience;
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    if (std::chrono::steady_clock::now() >= until) return std::nullopt;
    ::usleep(1000);
  }
}

std::string describe_wait_status(int status) {
  if (WIFEXITED(status)) return fmt::format("exited with status {}", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    const char* name = ::sigabbrev_np(signal);
    return fmt::format("was killed by SIG{} ({})", name ? name : std::to_string(signal), ::strsignal(signal));
  }
  return fmt::format("ended with wait status {}", status);
}

std::string resolve_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return runs(name) ? followed(name) : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (runs(file)) return followed(file);
  }
  return "";
}

CommandResult run_command(const std::vector<std::string>& argv, const std::string& input) {
  // Files in memory, not pipes: no deadlock whatever the order of reads and writes.
  Fd in = memory_file("stdin", bytes_of(input));
  Fd out = memory_file("stdout");
  Fd err = memory_file("stderr");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.get(), 2);
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  int failed = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) throw Error::of(Exit::kMissing, "cannot run '{}': {}", argv[0], std::strerror(failed));
  CommandResult result;
  while (::waitpid(pid, &result.status, 0) < 0 && errno == EINTR) {
  }
  ::lseek(out.get(), 0, SEEK_SET);
  ::lseek(err.get(), 0, SEEK_SET);
  result.output = read_all(out.get(), "the output of " + argv[0]);
  result.errors = read_all(err.get(), "the errors of " + argv[0]);
  return result;
}

}  // namespace mneme
