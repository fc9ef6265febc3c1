// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "channel.h"
#include "filler.h"
#include "replay.h"
#include "staging.h"

namespace mneme::run {

inline constexpr int kWorkerSocket = 3, kWorkerStaging = 4;  // the worker's ends
inline constexpr char kWorkerProgram[] = "mneme-run-worker";

// The process that touches a device. To make a GPU ready takes longer than most kernels, so one process serves instance
// after instance until a run fails. Where kernels run as part of the process it serves one: whatever a kernel leaves
// behind in it must not decide about the next one.
class WorkerProcess {
 public:
  // Why a run is not to be had from it; it is to be ended then, unless it goes on, without the instance.
  struct Failure {
    std::string reason;
    bool goes_on = false;
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
  void end();

  // Changes with each process; 0: there is none.
  uint64_t number() const { return pid_ < 0 ? 0 : number_; }
  const RunSettings& settings() const { return settings_; }
  // As the worker named it, once it has; else as it was asked for.
  const std::string& device() const { return named_.empty() ? device_ : named_; }
  bool serves_many() const { return serves_many_; }

  // What it is busy with from now on, for sentences and deadlines.
  void set_task(const std::string& kernel, uint64_t bytes);
  void set_foreign(bool foreign) { foreign_ = foreign; }  // the kernel's own code is running
  // Throw Failure; receive() also in place of kRefused and kFailed.
  void send(MessageType type, std::span<const std::string_view> fields);
  Message receive();
  // Answers kNeed, or the ones before while more come. Throws also what `block` does.
  void answer(Message need, const Filler::Block& block);
  // No more blocks are needed for a while.
  void rest() { filler_.rest(); }

 private:
  [[noreturn]] void fail_as_ended();
  Channel::Clock::time_point deadline() const;

  std::string device_, named_;
  RunSettings settings_;
  std::vector<device::BlockRange> ranges_;
  double timeout_;
  std::vector<std::string> program_;
  bool serves_many_ = false;

  Channel channel_;
  std::unique_ptr<Staging> staging_;
  std::deque<uint32_t> filling_;  // slots that the worker waits for
  Filler filler_;
  pid_t pid_ = -1;
  uint64_t number_ = 0;
  bool foreign_ = false;
  std::string kernel_;
  uint64_t bytes_ = 0;
};

}  // namespace mneme::run
