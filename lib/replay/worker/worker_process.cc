// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/process.h"

extern char** environ;

namespace mneme::run {
namespace {

using namespace std::chrono_literals;

// What the worker's own work may take: it is not the kernel's time, but it must end.
constexpr auto kOwnPatience = 60s;
constexpr uint64_t kOwnBytesPerSecond = 50 << 20;

constexpr auto kLeastWait = 10ms;  // until it is looked at again

constexpr size_t kFilledAtOnce = 2;  // slots

// The same descriptor under a number that is none of the worker's, so that giving it one of those overwrites nothing.
Fd out_of_the_way(Fd file) {
  Fd moved(::fcntl(file.get(), F_DUPFD_CLOEXEC, kWorkerPhase + 1));
  if (!moved) throw system_error("cannot start the worker");
  return moved;
}

Channel::Clock::time_point later(Channel::Clock::time_point begin, std::chrono::duration<double> patience) {
  constexpr std::chrono::duration<double> kLongest = 24h * 365;
  return begin + std::chrono::duration_cast<Channel::Clock::duration>(std::min(patience, kLongest));
}

// Where a system is hardly set up there is no /dev/null.
Fd empty_input() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot start the worker");
  Fd closed(ends[1]);
  return Fd(ends[0]);
}

}  // namespace

void WorkerProcess::start() {
  if (pid_ >= 0) return;
  if (program_.empty()) program_ = {installed_part(kWorkerProgram)};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw system_error("cannot start the worker");
  channel_ = Channel(Fd(ends[0]), kMaxFromWorker);
  Fd theirs = out_of_the_way(Fd(ends[1]));
  // A new one for each process: of one that has ended, others that the kernel made may be left.
  staging_ = std::make_unique<Staging>(device_ == "host" || device_ == "auto");
  Fd nothing = out_of_the_way(empty_input());
  phase_ = std::make_unique<Phase>();
  Fd memory = out_of_the_way(Fd(::dup(staging_->file()))), phase = out_of_the_way(Fd(::dup(phase_->file())));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, nothing.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kWorkerSocket);
  posix_spawn_file_actions_adddup2(&actions, memory.get(), kWorkerStaging);
  posix_spawn_file_actions_adddup2(&actions, phase.get(), kWorkerPhase);
  std::vector<char*> argv;
  for (std::string& word : program_) argv.push_back(word.data());
  argv.push_back(nullptr);
  int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    pid_ = -1;
    throw Error::of(Exit::kMissing, "cannot run '{}': {}", program_[0], std::strerror(failed));
  }
  number_++;
  forks_ = false;
  named_.clear();
  std::string_view ranges(reinterpret_cast<const char*>(ranges_.data()), ranges_.size() * sizeof ranges_[0]);
  std::string_view fields[] = {device_, raw(settings_), ranges};
  // So little fits into the socket; should it have ended already, that shows when it is waited for.
  channel_.send(MessageType::kDevice, fields);
}

void WorkerProcess::await_device() {
  if (!named_.empty()) return;
  Message message = receive();
  if (message.type == MessageType::kNoDevice && message.fields.size() == 1) {
    end();
    if (device_ == "host") throw Error(message.fields[0], Exit::kMissing);
    throw Error::of(Exit::kMissing,
                    "there is no {} GPU to run this on ({}): variants of mneme-compile --target host run on the CPU, "
                    "by --device auto",
                    device_ == "hip" ? "AMD" : "NVIDIA", message.fields[0]);
  }
  if (message.type != MessageType::kHere || message.fields.size() != 2 || message.fields[1].size() != 1) {
    throw Failure{"the worker does not keep to its protocol"};
  }
  named_ = message.fields[0];
  forks_ = message.fields[1][0] != 0;
}

void WorkerProcess::begin_instance(std::span<const device::BlockRange> ranges) {
  if (!forks_) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw system_error("cannot reach the worker");
  child_ = Channel(Fd(ends[0]), kMaxFromWorker);
  Fd theirs(ends[1]);
  phase_->begin(false);  // what a child before left
  std::string_view fields[] = {text_of(std::as_bytes(ranges))};
  try {
    if (!channel_.send(MessageType::kFork, fields, own_deadline(), theirs.get())) fail_as_process_ended();
  } catch (const TimedOut&) {
    fail_as_stuck("listening");
  }
  number_++;
}

void WorkerProcess::end_instance() {
  if (!child_) return;
  child_ = Channel();
  filler_.rest();
  filling_.clear();
  if (!channel_.send(MessageType::kEnd, {})) end();
}

void WorkerProcess::recover(const Failure& failure) {
  if (child_) return end_instance();
  if (!failure.goes_on) end();
}

void WorkerProcess::end() {
  if (pid_ >= 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  channel_ = Channel();
  child_ = Channel();
  filler_.rest();
  filling_.clear();
  staging_.reset();
  phase_.reset();
}

void WorkerProcess::set_task(const std::string& kernel, uint64_t bytes) {
  kernel_ = kernel;
  bytes_ = bytes;
}

Channel::Clock::time_point WorkerProcess::own_deadline(Channel::Clock::time_point begin) const {
  return later(begin, kOwnPatience + std::chrono::duration<double>(static_cast<double>(bytes_) / kOwnBytesPerSecond));
}

// The kernel's code may begin at any moment: the worker is looked at again before that could have taken too long.
void WorkerProcess::await_message() {
  const std::chrono::duration<double> timeout(timeout_);
  const Channel::Clock::time_point begin = Channel::Clock::now();
  for (;;) {
    const Phase::State phase = phase_->state();
    const auto now = Channel::Clock::now();
    const auto since = phase.since > now ? begin : phase.since;  // a kernel may have spoiled it
    const auto limit = phase.foreign ? later(since, timeout) : own_deadline(std::max(begin, since));
    if (server().has_message(std::min(limit, later(now, std::max<decltype(timeout)>(timeout, kLeastWait))))) return;
    if (Channel::Clock::now() < limit || phase_->state() != phase) continue;
    if (!phase.foreign) fail_as_stuck("answering");
    throw Failure{
        fmt::format("kernel '{}' did not end within {} seconds (--timeout) and was killed", kernel_, timeout_)};
  }
}

void WorkerProcess::fail_as_ended() { forks_ ? fail_as_child_ended() : fail_as_process_ended(); }

// Whatever closed its end has ended, or is about to.

void WorkerProcess::fail_as_process_ended() {
  std::optional<int> status = status_of_ending(pid_);
  if (!status) throw Failure{fmt::format("kernel '{}' cut its process off from mneme-run", kernel_)};
  pid_ = -1;
  end();
  fail_with_status(*status);
}

void WorkerProcess::fail_as_child_ended() {
  std::optional<Message> message;
  if (channel_.send(MessageType::kHowEnded, {}, own_deadline())) message = channel_.receive(own_deadline());
  if (!message) fail_as_process_ended();  // what takes too long, our caller notices
  if (message->type == MessageType::kRefused && message->fields.size() == 1) {
    end();
    throw Failure{message->fields[0]};
  }
  int status = 0;
  if (message->type != MessageType::kEnded || message->fields.size() != 1 ||
      message->fields[0].size() != sizeof status) {
    throw Failure{fmt::format("kernel '{}' cut its process off from mneme-run", kernel_)};
  }
  std::memcpy(&status, message->fields[0].data(), sizeof status);
  fail_with_status(status);
}

// All of it is ended: it could be the process that the child could not be ended by.
void WorkerProcess::fail_as_stuck(const char* what) {
  end();
  throw Failure{fmt::format("the worker for kernel '{}' stopped {} and was killed", kernel_, what)};
}

void WorkerProcess::fail_with_status(int status) {
  throw Failure{fmt::format("the process executing kernel '{}' {}", kernel_, describe_wait_status(status))};
}

void WorkerProcess::send(MessageType type, std::span<const std::string_view> fields) {
  try {
    // False where the peer has ended: it may have said why, and receive() reads that first.
    server().send(type, fields, own_deadline());
  } catch (const TimedOut&) {
    fail_as_stuck("listening");
  }
}

Message WorkerProcess::receive() {
  try {
    await_message();
    std::optional<Message> message = server().receive(own_deadline());
    if (!message) fail_as_ended();
    if (message->type == MessageType::kRefused && message->fields.size() == 1) throw Failure{message->fields[0]};
    if (message->type == MessageType::kFailed && message->fields.size() == 1) throw Failure{message->fields[0], true};
    return std::move(*message);
  } catch (const TimedOut&) {
    fail_as_stuck("answering");
  } catch (const Error& error) {
    throw Failure{error.what()};
  }
}

bool WorkerProcess::fill(std::string_view digests, const Filler::Block& block) {
  constexpr size_t kSlotDigests = Staging::kSlotBlocks * Digest::kSize;
  // Of an instance before, a child may look at a slot until it has ended, but it cannot write there.
  if (!forks_ || staging_->known(0).empty() || digests.size() > kSlotDigests * Staging::kMostHeld) return false;
  for (uint32_t slot = 0; !digests.empty(); slot++) {
    std::string_view part = digests.substr(0, kSlotDigests);
    filler_.begin(staging_->slot(slot), std::string(part), block, staging_->known(slot));
    filler_.finish();
    digests.remove_prefix(part.size());
  }
  return true;
}

void WorkerProcess::answer(Message need, const Filler::Block& block) {
  uint32_t slot = Staging::kSlots;
  if (need.fields.size() == 2 && need.fields[0].size() == sizeof slot) {
    std::memcpy(&slot, need.fields[0].data(), sizeof slot);
  }
  if (slot >= Staging::kSlots || need.fields[1].size() % Digest::kSize != 0 ||
      need.fields[1].size() > Staging::kSlotBlocks * Digest::kSize) {
    throw Failure{"the worker does not keep to its protocol"};
  }
  if (std::ranges::find(filling_, slot) != filling_.end()) throw Failure{"the worker does not keep to its protocol"};
  filler_.begin(staging_->slot(slot), std::move(need.fields[1]), block, staging_->known(slot));
  filling_.push_back(slot);
  while (!filling_.empty() && (filling_.size() >= kFilledAtOnce || !server().has_message())) {
    filler_.finish();
    uint32_t filled = filling_.front();
    filling_.pop_front();
    std::string_view fields[] = {raw(filled)};
    send(MessageType::kBlocks, fields);
  }
}

}  // namespace mneme::run
