// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace mneme {
namespace {

// The child's answer is one of these letters, then its result or its message.
constexpr char kResult = 'R';
constexpr char kError = 'E';

constexpr int kCannotRun = 127;  // as shells have it

[[noreturn]] void answer(int to, const std::function<std::string()>& body) {
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // a bundle may be on its way there, of which no plug-in's words are a part
  std::string text;
  try {
    confine_process();
    text = kResult + body();
  } catch (const std::exception& error) {
    text = kError + std::string(error.what());
  }
  try {
    write_all(to, bytes_of(text), "the result");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

std::string run_confined(const std::string& what, const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
  Fd from(ends[0]), to(ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) throw system_error("cannot start a confined process");
  if (pid == 0) answer(to.get(), body);
  to = Fd();
  std::string text = read_all(from.get(), "a confined process's result");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || text.empty()) throw Error::of("{} {}", what, describe_wait_status(status));
  bool failed = text[0] == kError;
  text.erase(0, 1);
  if (failed) throw Error(text);
  return text;
}

CommandResult run_confined_command(const std::vector<std::string>& argv, const std::string& input) {
  Fd in = memory_file("stdin", bytes_of(input)), err = memory_file("stderr");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
  Fd from(ends[0]), to(ends[1]);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = ::fork();
  if (pid < 0) throw system_error("cannot start a confined process");
  if (pid == 0) {
    ::dup2(in.get(), STDIN_FILENO);
    ::dup2(to.get(), STDOUT_FILENO);
    ::dup2(err.get(), STDERR_FILENO);
    confine_to_programs();
    ::execvp(words[0], words.data());
    ::_exit(kCannotRun);
  }
  to = Fd();
  CommandResult result;
  result.output = read_all(from.get(), "the output of " + argv[0]);
  while (::waitpid(pid, &result.status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == kCannotRun) {
    throw Error::of(Exit::kMissing, "cannot run '{}'", argv[0]);
  }
  ::lseek(err.get(), 0, SEEK_SET);
  result.errors = read_all(err.get(), "the errors of " + argv[0]);
  return result;
}

}  // namespace mneme
