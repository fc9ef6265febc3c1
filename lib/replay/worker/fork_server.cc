// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/fork_server.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/confine.h"
#include "base/error.h"
#include "base/process.h"

namespace mneme::run {
namespace {

// The process that serves the instance in hand. A child that was waited for has no thread left, and it could start no
// process: nobody writes any more to memory that it shared.
class Child {
 public:
  ~Child() { end(); }

  void start(const std::function<void()>& body) {
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw system_error("cannot start a process for the instance");
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) body();
    ::_exit(0);
  }

  void end() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  // As waitpid() gives it, of a child that seems to have ended; nothing: it has not, or there is none.
  std::optional<int> status() {
    std::optional<int> status;
    if (pid_ >= 0) status = status_of_ending(pid_);
    if (status) pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
};

std::vector<device::BlockRange> ranges_in(const std::string& bytes) {
  std::vector<device::BlockRange> ranges(bytes.size() / sizeof(device::BlockRange));
  std::memcpy(ranges.data(), bytes.data(), ranges.size() * sizeof(device::BlockRange));
  return ranges;
}

}  // namespace

void serve_in_children(Channel& parent, device::Device& device, const std::function<void(Channel)>& serve) {
  Child child;
  while (std::optional<Message> message = parent.receive()) {
    switch (message->type) {
      case MessageType::kFork: {
        Fd connection = parent.take_descriptor();
        if (message->fields.size() != 1 || !connection) return;
        child.end();
        device.keep(ranges_in(message->fields[0]));
        child.start([&] {
          parent = Channel();
          confine_to_this_process();
          serve(Channel(std::move(connection), kMaxToWorker));
        });
        break;
      }
      case MessageType::kEnd:
        child.end();
        break;
      case MessageType::kHowEnded: {
        std::optional<int> status = child.status();
        parent.send(MessageType::kEnded, {status ? raw(*status) : std::string_view()});
        break;
      }
      default:
        return;
    }
  }
}

}  // namespace mneme::run
