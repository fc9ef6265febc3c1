// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "confined.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace mneme::compile {
namespace {

constexpr char kFailed = 'E';  // then the message
// Else the first letter of the form, then the code.

[[noreturn]] void child(int result, const bundle::KernelInfo& kernel, std::string_view ir,
                        const bundle::Configuration& configuration) {
  std::string answer;
  try {
    confine_process();
    codegen::host::Result compiled = codegen::host::compile(kernel, ir, configuration);
    answer = compiled.form[0] + compiled.code;
  } catch (const std::exception& error) {
    answer = kFailed + std::string(error.what());
  }
  try {
    write_all(result, bytes_of(answer), "the compiled kernel");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

codegen::host::Result compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                                       const bundle::Configuration& configuration) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
  Fd from(ends[0]), to(ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) throw system_error("cannot start a compiling process");
  if (pid == 0) child(to.get(), kernel, ir, configuration);
  to = Fd();
  std::string answer = read_all(from.get(), "the compiled kernel");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || answer.empty()) {
    throw Error::of("compiling the kernel '{}' with '{}' {}", kernel.demangled, configuration.passes,
                    describe_wait_status(status));
  }
  char kind = answer[0];
  answer.erase(0, 1);
  if (kind == kFailed) throw Error(answer);
  return {std::move(answer), kind == 'l' ? "loop" : "coroutine"};
}

}  // namespace mneme::compile
