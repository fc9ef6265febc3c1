// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/compiled_input.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/process.h"

extern char** environ;

namespace mneme::run {
namespace {

// What is compiled is for mneme-run to say, not for variables that were meant for a mneme-compile ahead of it: of those
// it gets where its parts are, and what says for which launches, for what, and how to go about it.
constexpr std::string_view kOurs = "MNEME_";
constexpr std::string_view kPassedOn[] = {"MNEME_LIBDIR", "MNEME_TARGET",          "MNEME_ASSEMBLER",
                                          "MNEME_JOBS",   "MNEME_COMPILE_TIMEOUT", "MNEME_VERBOSE"};
constexpr std::string_view kSelecting[] = {"MNEME_KERNEL", "MNEME_INSTANCE"};

std::vector<char*> environment(bool selects) {
  std::vector<char*> passed_on;
  for (char** entry = environ; *entry; entry++) {
    std::string_view text = *entry, name = text.substr(0, text.find('='));
    bool known = std::ranges::find(kPassedOn, name) != std::end(kPassedOn) ||
                 (selects && std::ranges::find(kSelecting, name) != std::end(kSelecting));
    if (known || !name.starts_with(kOurs)) passed_on.push_back(*entry);
  }
  passed_on.push_back(nullptr);
  return passed_on;
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

CompiledInput::CompiledInput(int input, const std::string& what, const std::vector<std::string>& arguments,
                             bool selects)
    : what_("mneme-compile " + what) {
  std::vector<std::string> words = {installed_part("mneme-compile"), what, "--output=-"};
  words.insert(words.end(), arguments.begin(), arguments.end());
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
  int failed = ::posix_spawn(&process_, argv[0], &actions, nullptr, argv.data(), environment(selects).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    process_ = -1;
    throw Error::of(Exit::kMissing, "cannot run '{}': {}", words[0], std::strerror(failed));
  }
}

CompiledInput::~CompiledInput() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  wait_for(process_);
}

void CompiledInput::finish() {
  // What follows the archive's end, so that it need not fail for want of a reader.
  char rest[4096];
  while (::read(output_.get(), rest, sizeof rest) > 0) {
  }
  check_end();
}

void CompiledInput::check_end() {
  if (process_ < 0) return;
  pollfd entry{output_.get(), POLLIN, 0};
  if (::poll(&entry, 1, 0) != 1 || (entry.revents & POLLIN)) return;  // it goes on
  int status = wait_for(std::exchange(process_, -1));
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) return;
  throw Error(what_ + " " + describe_wait_status(status), static_cast<Exit>(WEXITSTATUS(status)));
}

}  // namespace mneme::run
