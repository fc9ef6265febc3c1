// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bundle/reader.h"
#include "replay/worker/worker_process.h"

namespace mneme::run {

// One instance on a device, as mneme-run sees it. When a run fails, for whatever reason, the process that made it is
// ended, and the next run is made by a fresh one.
class Worker {
 public:
  struct Task {
    const bundle::KernelInfo& kernel;
    const bundle::InstanceMember& instance;
    Filler::Block block;                              // of the instance's memory
    const bundle::VariantMember* baseline = nullptr;  // the recorded code, if runs are to have a baseline
  };
  struct Outcome {
    bundle::RunInfo run;
    std::map<Digest, std::string> observed;  // by digest, the blocks that differ, as replayed
  };

  // `process` is borrowed, and for nobody else while this lives.
  Worker(Task task, WorkerProcess& process) : task_(std::move(task)), process_(process) {}
  ~Worker();
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
  using Failure = WorkerProcess::Failure;

  // Has the instance placed on the device by the process there is, unless it was.
  void place();
  std::vector<device::BlockRange> ranges() const;
  std::string prologue_blocks() const;
  void send_variation();
  void measure();
  void recover(const Failure& failure);
  // Why code for its target runs on no such device, or not on this one; empty: it does.
  std::string why_not_here(const bundle::VariantMember& variant) const;
  Outcome failed(const bundle::VariantMember& variant, const std::string& reason) const;
  // Has a variant executed; `type`: kVariant or kBaseline.
  Outcome converse(MessageType type, const bundle::VariantMember& variant);
  void check(const Outcome& outcome, const bundle::VariantMember& variant) const;

  Task task_;
  WorkerProcess& process_;
  uint64_t placed_ = 0;     // number of the process that holds the instance
  bool ready_ = false;      // it has said that it does
  bool allocates_ = false;  // code of this instance's did, perhaps
  std::optional<bundle::Baseline> baseline_;
  std::map<Digest, std::string> varying_;
};

}  // namespace mneme::run
