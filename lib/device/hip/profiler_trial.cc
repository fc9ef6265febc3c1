// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "device/hip/profiler.h"

namespace mneme::device::hip {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;  // the runtime's own start takes some of it
constexpr useconds_t kPause = 1000;
constexpr size_t kFilled = size_t{1} << 20;
constexpr int kWorks = 0, kWrong = 1, kNone = 2;  // exit statuses; what is wrong is written

// What goes wrong with the runtime alone goes wrong again, where it is reported as it is.
void require(Result result) {
  if (result != 0) throw Error("the runtime does not work with it");
}

// Filling memory is a kernel's work.
void dispatch(Profiler& profiler, const Runtime& runtime) {
  void* memory = nullptr;
  require(runtime.hipInit(0));
  require(runtime.hipSetDevice(0));
  require(runtime.hipMalloc(&memory, kFilled));
  require(runtime.hipDeviceSynchronize());
  profiler.begin();
  require(runtime.hipMemset(memory, 1, kFilled));
  require(runtime.hipDeviceSynchronize());
  profiler.taken(nullptr);
}

int attempt(const Runtime& runtime, int to) {
  void* library = open_profiler(runtime);
  if (!library) return kNone;
  auto* profiler = new Profiler;
  try {
    profiler->set_up(library);
    dispatch(*profiler, runtime);
    return kWorks;
  } catch (const Error& error) {
    write_all(to, bytes_of(std::string_view(error.what())), "what is wrong");
    return kWrong;
  }
}

// Nobody is to hear or keep what comes of it when it ends badly.
void be_quiet() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
}

// nullopt: it had to be ended.
std::optional<int> status_of(pid_t child) {
  int status = 0;
  for (const auto until = std::chrono::steady_clock::now() + kPatience; std::chrono::steady_clock::now() < until;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    ::usleep(kPause);
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> try_profiler(const Runtime& runtime) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return "there is no pipe to try it with";
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return "there is no process to try it in";
  if (child == 0) {
    be_quiet();
    int result = kWrong;
    try {
      result = attempt(runtime, to.get());
    } catch (...) {
    }
    ::_exit(result);
  }
  to = Fd();
  const std::optional<int> status = status_of(child);
  if (!status) return "it did not end in time when it was tried";
  if (!WIFEXITED(*status)) return "a process that tried it " + describe_wait_status(*status);
  if (WEXITSTATUS(*status) == kNone) return std::nullopt;
  if (WEXITSTATUS(*status) == kWorks) return "";
  char said[256];
  const ssize_t size = ::read(from.get(), said, sizeof said);
  return size > 0 ? std::string(said, static_cast<size_t>(size)) : "a process that tried it gave up";
}

}  // namespace mneme::device::hip
