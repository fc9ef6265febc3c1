// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

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

constexpr auto kEndPatience = 1s;

std::string_view raw(const auto& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

const std::string& name_of(const bundle::KernelInfo& kernel) {
  return kernel.demangled.empty() ? kernel.name : kernel.demangled;
}

}  // namespace

void Worker::start() {
  std::string program = installed_part(kWorkerProgram);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw system_error("cannot start the worker");
  channel_ = Channel(Fd(ends[0]), kMaxFromWorker);
  Fd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kWorkerSocket);
  char* argv[] = {program.data(), nullptr};
  int failed = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    pid_ = -1;
    throw Error::of(Exit::kMissing, "cannot run '{}': {}", program, std::strerror(failed));
  }
  foreign_ = false;

  std::string kernel = bundle::write(task_.kernel), instance = bundle::write(task_.instance.info);
  std::string prologue = bundle::write(task_.instance.prologue), epilogue = bundle::write(task_.instance.epilogue);
  std::string_view fields[] = {task_.device, kernel, instance, prologue, epilogue, raw(task_.settings)};
  send(MessageType::kInstance, fields);
  for (;;) {
    Message message = receive();
    if (message.type == MessageType::kNoDevice && message.fields.size() == 1) {
      end();
      throw Error(message.fields[0], Exit::kMissing);
    }
    if (message.type == MessageType::kReady && message.fields.size() == 1) {
      device_ = message.fields[0];
      return send_variation();
    }
    if (message.type != MessageType::kNeed) throw Failure{"the worker does not keep to its protocol"};
    answer(message);
  }
}

void Worker::end() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  channel_ = Channel();
}

Channel::Clock::time_point Worker::deadline() const {
  std::chrono::duration<double> patience = std::chrono::duration<double>(task_.timeout);
  if (!foreign_) {
    uint64_t bytes = task_.instance.prologue.blocks.size() * bundle::kBlockSize;
    patience = kOwnPatience + std::chrono::duration<double>(static_cast<double>(bytes) / kOwnBytesPerSecond);
  }
  constexpr std::chrono::duration<double> kLongest = 24h * 365;
  return Channel::Clock::now() + std::chrono::duration_cast<Channel::Clock::duration>(std::min(patience, kLongest));
}

void Worker::fail_as_ended() {
  // It closed its end: it has ended, or is about to.
  int status = 0;
  pid_t ended = 0;
  for (auto until = Channel::Clock::now() + kEndPatience; Channel::Clock::now() < until;) {
    ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended != 0) break;
    ::usleep(1000);
  }
  if (ended != pid_)
    throw Failure{fmt::format("kernel '{}' cut its process off from mneme-run", name_of(task_.kernel))};
  pid_ = -1;
  throw Failure{
      fmt::format("the process executing kernel '{}' {}", name_of(task_.kernel), describe_wait_status(status))};
}

Message Worker::receive() {
  try {
    std::optional<Message> message = channel_.receive(deadline());
    if (!message) fail_as_ended();
    if (message->type == MessageType::kRefused && message->fields.size() == 1) throw Failure{message->fields[0]};
    return std::move(*message);
  } catch (const Channel::TimedOut&) {
    if (foreign_) {
      throw Failure{fmt::format("kernel '{}' did not end within {} seconds (--timeout) and was killed",
                                name_of(task_.kernel), task_.timeout)};
    }
    throw Failure{fmt::format("the worker for kernel '{}' stopped answering and was killed", name_of(task_.kernel))};
  } catch (const Error& error) {
    throw Failure{error.what()};
  }
}

void Worker::send(MessageType type, std::span<const std::string_view> fields) {
  try {
    if (!channel_.send(type, fields, deadline())) fail_as_ended();
  } catch (const Channel::TimedOut&) {
    throw Failure{fmt::format("the worker for kernel '{}' stopped listening and was killed", name_of(task_.kernel))};
  }
}

void Worker::answer(const Message& need) {
  if (need.fields.size() != 1 || need.fields[0].size() % Digest::kSize != 0 ||
      need.fields[0].size() > kMaxFetchedAtOnce * Digest::kSize) {
    throw Failure{"the worker does not keep to its protocol"};
  }
  std::string blocks;
  for (size_t at = 0; at < need.fields[0].size(); at += Digest::kSize) {
    blocks += text_of(task_.block(Digest::load(bytes_of(need.fields[0]).data() + at)));
  }
  std::string_view fields[] = {blocks};
  send(MessageType::kBlocks, fields);
}

void Worker::send_variation() {
  if (!baseline_ || baseline_->executions == 0) return;
  bundle::RunInfo run;
  run.kernel = task_.kernel.id;
  run.instance = task_.instance.info.id;
  run.variant = task_.baseline->info.id;
  run.status = "completed";
  run.baseline = baseline_;
  std::string json = bundle::write(run), blocks;
  for (const bundle::VaryingBlock& block : baseline_->blocks) blocks += varying_.at(block.bytes);
  std::string_view fields[] = {json, blocks};
  send(MessageType::kVarying, fields);
}

Worker::Outcome Worker::converse(MessageType type, const bundle::VariantMember& variant) {
  if (pid_ < 0) start();
  std::string json = bundle::write(variant.info);
  std::string_view fields[] = {json, variant.code};
  send(type, fields);

  Outcome outcome;
  for (;;) {
    Message message = receive();
    switch (message.type) {
      case MessageType::kNeed:
        answer(message);
        break;
      case MessageType::kForeign:
      case MessageType::kOwn:
        foreign_ = message.type == MessageType::kForeign;
        break;
      case MessageType::kObserved: {
        if (message.fields.size() != 3 || message.fields[2].size() != bundle::kBlockSize) break;
        if ((outcome.observed.size() + 1) * 2 * bundle::kBlockSize > task_.settings.max_difference) break;
        Digest digest = digest_of(message.fields[2]);
        outcome.observed.emplace(digest, std::move(message.fields[2]));
        break;
      }
      case MessageType::kResult:
        if (message.fields.size() != 1) throw Failure{"the worker does not keep to its protocol"};
        try {
          outcome.run = bundle::parse_run(message.fields[0], "the worker's result");
        } catch (const Error& error) {
          throw Failure{error.what()};
        }
        check(outcome, variant);
        return outcome;
      default:
        throw Failure{"the worker does not keep to its protocol"};
    }
  }
}

// What ran in the worker may have lied; the bundle must at least be sound.
void Worker::check(const Outcome& outcome, const bundle::VariantMember& variant) const {
  const bundle::RunInfo& run = outcome.run;
  bool sound = run.kernel == task_.kernel.id && run.instance == task_.instance.info.id &&
               run.variant == variant.info.id && run.device == device_;
  const auto& epilogue = task_.instance.epilogue.blocks;
  for (const bundle::BlockDifference& block : run.blocks) {
    auto recorded =
        std::lower_bound(epilogue.begin(), epilogue.end(), block.address,
                         [](const bundle::BlockReference& b, uint64_t address) { return b.address < address; });
    bool listed = recorded != epilogue.end() && recorded->address == block.address;
    sound = sound && block.expected == (listed ? recorded->digest : bundle::zero_block_digest()) &&
            (outcome.observed.count(block.actual) || block.actual == bundle::zero_block_digest());
  }
  if (run.baseline) {
    sound = sound && run.baseline->executions == task_.settings.baseline &&
            std::ranges::all_of(run.baseline->blocks, [&](const bundle::VaryingBlock& block) {
              return outcome.observed.contains(block.bytes);
            });
  }
  if (!sound) throw Failure{fmt::format("kernel '{}' spoiled the worker's result", name_of(task_.kernel))};
}

void Worker::measure() {
  try {
    Outcome outcome = converse(MessageType::kBaseline, *task_.baseline);
    baseline_ = outcome.run.baseline.value_or(bundle::Baseline{});
    varying_ = std::move(outcome.observed);
  } catch (const Failure& failure) {
    end();
    baseline_.emplace();
    baseline_->reason = failure.reason;
  }
}

Worker::Outcome Worker::run(const bundle::VariantMember& variant) {
  if (task_.baseline && !baseline_) measure();
  try {
    Outcome outcome = converse(MessageType::kVariant, variant);
    outcome.run.baseline = baseline_;
    return outcome;
  } catch (const Failure& failure) {
    end();
    Outcome outcome;
    outcome.run.kernel = task_.kernel.id;
    outcome.run.instance = task_.instance.info.id;
    outcome.run.variant = variant.info.id;
    outcome.run.device = device_.empty() ? task_.device : device_;
    outcome.run.status = "failed";
    outcome.run.reason = failure.reason;
    outcome.run.warmup = task_.settings.warmup;
    return outcome;
  }
}

}  // namespace mneme::run
