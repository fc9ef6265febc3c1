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

[[noreturn]] void answer(int to, const std::function<std::string()>& body) {
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

}  // namespace mneme
