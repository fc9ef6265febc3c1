// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/child_jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace mneme {
namespace {

using Clock = std::chrono::steady_clock;
using Result = ChildJobs::Result;

// What a child leaves begins with one of these letters: then its result, or its message.
constexpr char kResult = 'R', kError = 'E';

// One that runs. It leaves its answer in a file in memory, so that it need not wait until somebody reads it; that it
// has ended is seen by its end of a pipe.
class Child {
 public:
  Child(const ChildJobs& jobs, size_t number, const std::list<Child>& others);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  size_t number() const { return number_; }
  int fd() const { return end_.get(); }
  Clock::time_point deadline() const { return deadline_; }
  // None while it goes on. `silent`: it has closed its end of the pipe, so that it will be over in a moment; if it is
  // not, it plays a game, and is killed when its time is up as others are.
  std::optional<Result> result(const ChildJobs& jobs, bool silent);

 private:
  [[noreturn]] void work(const ChildJobs& jobs, const std::list<Child>& others);
  void kill();
  std::optional<int> status(bool silent);  // if it has ended
  Result answer(size_t most_bytes) const;

  size_t number_;
  Clock::time_point deadline_;
  Fd answer_, end_;
  pid_t process_ = -1;
};

Child::Child(const ChildJobs& jobs, size_t number, const std::list<Child>& others)
    : number_(number), answer_(memory_file(jobs.name)) {
  auto allowed = std::chrono::duration<double>(std::min(jobs.seconds, 1e9));
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(allowed);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
  end_ = Fd(ends[0]);
  Fd theirs(ends[1]);
  pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw system_error("cannot start a process for " + jobs.name);
  if (process_ > 0) return;
  // What it starts is killed with it, and it is with its parent.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  work(jobs, others);
}

void Child::work(const ChildJobs& jobs, const std::list<Child>& others) {
  // Not its business.
  for (const Child& other : others) {
    ::close(other.end_.get());
    ::close(other.answer_.get());
  }
  ::close(end_.get());
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // a bundle may be on its way there, of which no plug-in's words are a part
  std::string text;
  try {
    text = kResult + jobs.body(number_);
  } catch (const std::exception& error) {
    text = kError + std::string(error.what());
  }
  try {
    write_all(answer_.get(), bytes_of(text), "the result");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

std::optional<int> Child::status(bool silent) {
  int status = 0;
  for (;;) {
    pid_t ended = ::waitpid(process_, &status, WNOHANG);
    if (ended == process_) {
      process_ = -1;
      return status;
    }
    if (!silent || Clock::now() >= deadline_) return std::nullopt;
    ::usleep(100);
  }
}

void Child::kill() {
  if (process_ < 0) return;
  ::kill(-process_, SIGKILL);
  ::kill(process_, SIGKILL);  // in case it has made itself no group yet
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

Child::~Child() { kill(); }

std::optional<Result> Child::result(const ChildJobs& jobs, bool silent) {
  if (std::optional<int> ended = status(silent)) {
    if (*ended != 0) return Result{false, describe_wait_status(*ended), true};
    return answer(jobs.most_bytes);
  }
  if (Clock::now() < deadline_) return std::nullopt;
  kill();
  return Result{false, fmt::format("took longer than {:g} s", jobs.seconds), true};
}

Result Child::answer(size_t most_bytes) const {
  struct stat info{};
  if (::fstat(answer_.get(), &info) != 0) throw system_error("cannot read a result");
  if (info.st_size == 0) return {false, "gave no result", true};
  if (static_cast<size_t>(info.st_size) - 1 > most_bytes) {
    return {false, fmt::format("gave {} bytes, where at most {} may be", info.st_size - 1, most_bytes), true};
  }
  ::lseek(answer_.get(), 0, SEEK_SET);
  std::string text = read_all(answer_.get(), "a result", most_bytes + 1);
  bool done = text[0] == kResult;
  text.erase(0, 1);
  return {done, std::move(text), false};
}

// Until one of them has ended or is late.
void wait_for_one(const std::list<Child>& running, std::vector<pollfd>& polled) {
  polled.clear();
  Clock::time_point first = Clock::time_point::max();
  for (const Child& child : running) {
    polled.push_back({child.fd(), POLLIN, 0});
    first = std::min(first, child.deadline());
  }
  double left = std::chrono::duration<double, std::milli>(first - Clock::now()).count();
  int milliseconds = static_cast<int>(std::clamp(std::ceil(left), 0.0, 1e6));
  if (::poll(polled.data(), polled.size(), milliseconds) < 0 && errno != EINTR) {
    throw system_error("cannot wait for processes");
  }
}

}  // namespace

void ChildJobs::run() {
  std::list<Child> running;
  std::map<size_t, Result> waiting;  // for those ahead of them
  std::vector<pollfd> polled;
  size_t begun = 0, taken = 0;
  auto begin = [&] {
    for (; begun < count && running.size() < at_once; ++begun) running.emplace_back(*this, begun, running);
  };
  begin();
  while (taken < count) {
    wait_for_one(running, polled);
    auto child = running.begin();
    for (const pollfd& entry : polled) {
      if (std::optional<Result> result = child->result(*this, entry.revents != 0)) {
        waiting.emplace(child->number(), std::move(*result));
        child = running.erase(child);
      } else {
        ++child;
      }
    }
    begin();  // before what is ready is taken, which may take long
    for (auto next = waiting.find(taken); next != waiting.end(); next = waiting.find(++taken)) {
      Result result = std::move(next->second);
      waiting.erase(next);
      take(taken, std::move(result));
    }
  }
}

}  // namespace mneme
