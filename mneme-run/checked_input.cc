// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checked_input.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/process.h"

extern char** environ;

namespace mneme::run {
namespace {

// Of no use to know how fast, and all levels give the same bits.
constexpr char kLevel[] = "-O1";

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

CheckedInput::CheckedInput(int input, const std::vector<std::string>& selection) {
  std::vector<std::string> words = {installed_part("mneme-compile"), "--check-memory", kLevel, "--output=-"};
  words.insert(words.end(), selection.begin(), selection.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot start mneme-compile");
  output_ = Fd(ends[0]);
  Fd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  int failed = ::posix_spawn(&process_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    process_ = -1;
    throw Error::of(Exit::kMissing, "cannot run '{}': {}", words[0], std::strerror(failed));
  }
}

CheckedInput::~CheckedInput() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  wait_for(process_);
}

void CheckedInput::finish() {
  // What follows the archive's end, so that it need not fail for want of a reader.
  char rest[4096];
  while (::read(output_.get(), rest, sizeof rest) > 0) {
  }
  check_end();
}

void CheckedInput::check_end() {
  if (process_ < 0) return;
  output_ = Fd();  // should it still write, it ends
  int status = wait_for(std::exchange(process_, -1));
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) return;
  throw Error("mneme-compile --check-memory " + describe_wait_status(status), static_cast<Exit>(WEXITSTATUS(status)));
}

}  // namespace mneme::run
