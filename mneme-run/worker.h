// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "bundle/reader.h"
#include "channel.h"
#include "replay.h"

namespace mneme::run {

inline constexpr int kWorkerSocket = 3;  // the worker's end
inline constexpr char kWorkerProgram[] = "mneme-run-worker";

// The process that touches the device, as mneme-run sees it. It holds one instance; when a run fails, for whatever
// reason, it is ended, and the next run is made by a fresh one.
class Worker {
 public:
  struct Task {
    const bundle::KernelInfo& kernel;
    const bundle::InstanceMember& instance;
    std::function<Bytes(const Digest&)> block;  // of the instance's memory
    std::string device;                         // "auto", "host", …
    RunSettings settings;
    double timeout = 60;                              // seconds that the kernel's own code may take at a time
    const bundle::VariantMember* baseline = nullptr;  // the recorded code, if runs are to have a baseline
  };
  struct Outcome {
    bundle::RunInfo run;
    std::map<Digest, std::string> observed;  // by digest, the blocks that differ, as replayed
  };

  explicit Worker(Task task) : task_(std::move(task)) {}
  ~Worker() { end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs one variant, and the baseline ahead of the first. Whatever the kernel does comes back as a failed run with its
  // reason, or as a baseline with the reason why there is none. Throws Error when the device is missing
  // (Exit::kMissing) or the bundle lacks a block.
  Outcome run(const bundle::VariantMember& variant);
  // The baseline, after a run, if there is one; and the blocks that it cites.
  const std::optional<bundle::Baseline>& baseline() const { return baseline_; }
  const std::map<Digest, std::string>& varying() const { return varying_; }

 private:
  struct Failure {
    std::string reason;
  };

  void start();
  void end();
  Message receive();  // throws Failure, also in place of kRefused
  void send(MessageType type, std::span<const std::string_view> fields);
  void answer(const Message& need);
  void measure();
  void send_variation();
  // Has a variant executed; `type`: kVariant or kBaseline.
  Outcome converse(MessageType type, const bundle::VariantMember& variant);
  void check(const Outcome& outcome, const bundle::VariantMember& variant) const;
  [[noreturn]] void fail_as_ended();
  Channel::Clock::time_point deadline() const;

  Task task_;
  Channel channel_;
  pid_t pid_ = -1;
  bool foreign_ = false;  // the kernel's own code is running
  std::string device_;    // as the worker named it
  std::optional<bundle::Baseline> baseline_;
  std::map<Digest, std::string> varying_;
};

}  // namespace mneme::run
