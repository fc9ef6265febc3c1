// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "replay/replay.h"
#include "replay/worker/channel.h"
#include "replay/worker/filler.h"
#include "replay/worker/phase.h"
#include "replay/worker/staging.h"

namespace mneme::run {

inline constexpr int kWorkerSocket = 3, kWorkerStaging = 4, kWorkerPhase = 5;  // the worker's ends
inline constexpr char kWorkerProgram[] = "mneme-run-worker";

// The process that touches a device, for as long as it is of use: to make a GPU ready takes longer than most kernels,
// and so does starting a process. It serves instance after instance itself until a run fails. Where kernels run as part
// of a process it forks: a child of its own serves each instance (fork_server.h).
class WorkerProcess {
 public:
  // The worker cannot give a result, for this reason. Call recover() then.
  struct Failure {
    std::string reason;
    bool goes_on = false;  // what serves the instance can serve others
  };

  // `device`: "auto", "host", …; `ranges`: where the recording had device memory; `timeout`: seconds that the kernel's
  // own code may take at a time; `program`: the command that starts it, the installed worker if there is none.
  WorkerProcess(std::string device, RunSettings settings, std::vector<device::BlockRange> ranges, double timeout,
                std::vector<std::string> program = {})
      : device_(std::move(device)),
        settings_(settings),
        ranges_(std::move(ranges)),
        timeout_(timeout),
        program_(std::move(program)) {}
  ~WorkerProcess() { end(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Lets it make the device ready, and does not wait for that. Nothing happens if it runs already. Throws Error.
  void start();
  // Waits for it. Throws Failure; Error (Exit::kMissing) when the device is missing.
  void await_device();
  // An instance with memory in these ranges is about to be sent. Throws Failure, Error.
  void begin_instance(std::span<const device::BlockRange> ranges);
  // Nothing more is asked about it.
  void end_instance();
  // Ends what a failed run may have spoiled: the instance's child, or the process.
  void recover(const Failure& failure);
  void end();

  // Of what serves the instance in hand: a process, or one's child. 0: there is none.
  uint64_t number() const { return pid_ < 0 ? 0 : number_; }
  const RunSettings& settings() const { return settings_; }
  // As the worker named it, once it has; else as it was asked for.
  const std::string& device() const { return named_.empty() ? device_ : named_; }
  // Whether it serves instances itself, one after another, and what a kernel leaves on its device is there for the
  // next.
  bool serves_itself() const { return !named_.empty() && !forks_; }

  // What it is busy with from now on, for sentences and deadlines.
  void set_task(const std::string& kernel, uint64_t bytes);
  // Throw Failure; receive() also in place of kRefused and kFailed, and where the peer has ended, which send() does not
  // tell.
  void send(MessageType type, std::span<const std::string_view> fields);
  Message receive();
  // Has the first slots hold these blocks, where they stay for the instance; false: they are to be asked for. Throws
  // what `block` does.
  bool fill(std::string_view digests, const Filler::Block& block);
  // Answers kNeed, or the ones before while more come. Throws also what `block` does.
  void answer(Message need, const Filler::Block& block);
  // No more blocks are needed for a while.
  void rest() { filler_.rest(); }

 private:
  // The other end of what serves the instance.
  Channel& server() { return forks_ ? child_ : channel_; }
  [[noreturn]] void fail_as_ended();
  [[noreturn]] void fail_as_child_ended();
  [[noreturn]] void fail_as_process_ended();
  [[noreturn]] void fail_with_status(int status);
  [[noreturn]] void fail_as_stuck(const char* what);
  // Until when the worker's own work, from then on, may take.
  Channel::Clock::time_point own_deadline(Channel::Clock::time_point begin = Channel::Clock::now()) const;
  // Returns when it sends something or is gone; throws Failure when it, or the kernel, takes too long.
  void await_message();

  std::string device_, named_;
  RunSettings settings_;
  std::vector<device::BlockRange> ranges_;
  double timeout_;
  std::vector<std::string> program_;
  bool forks_ = false;

  Channel channel_;  // to the process
  Channel child_;    // to the child that serves the instance, if there is one
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<Phase> phase_;
  std::deque<uint32_t> filling_;  // slots that the worker waits for
  Filler filler_;
  pid_t pid_ = -1;
  uint64_t number_ = 0;
  std::string kernel_;
  uint64_t bytes_ = 0;
};

}  // namespace mneme::run
