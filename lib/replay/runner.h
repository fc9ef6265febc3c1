// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "bundle/reader.h"
#include "bundle/writer.h"
#include "cli/checks.h"
#include "cli/progress.h"
#include "cli/stage.h"
#include "replay/worker/worker.h"
#include "verify/pairing.h"

namespace mneme::run {

struct RunnerOptions {
  std::string device = "auto";
  RunSettings settings;
  double timeout = 60;
  uint32_t rounds = 1;  // in which an instance's variants are executed in turn
  bool force = false;   // also instances that are not complete
  bool verbose = false;
  cli::FindingOptions findings = {};     // which of them are wanted
  bool judged = false;                   // mneme-verify reads the runs, and reports those that failed
  std::vector<std::string> worker = {};  // the command that starts one; none: the installed one
};

// Runs the selected pairs of variant and instance as they arrive, and writes their runs.
class Runner {
 public:
  // All borrowed.
  Runner(const bundle::Reader& reader, bundle::Writer& writer, const cli::Selection& selection, RunnerOptions options);

  void take(bundle::KernelMember kernel);
  void take(bundle::VariantMember variant);
  void take(bundle::InstanceMember instance);
  // After an instance's last variant: makes what further rounds there are, and writes the runs.
  void end_instance();
  // After the last member: warns of what could not be run. Throws Error when nothing could.
  void finish() const;
  // Instances that were left out because they are not complete; each was named.
  uint64_t refused() const { return refused_; }

 private:
  struct Kernel {
    bundle::KernelInfo info;
    bool selected = false;
  };

  void refuse(const bundle::InstanceInfo& instance);
  std::string device_for(const bundle::VariantInfo& variant) const;
  // Of that device; it may not run yet.
  WorkerProcess& process(const std::string& device);
  // The variant's run of the instance in hand: executed, or told without.
  void run(const bundle::VariantMember& variant);
  void execute(const bundle::VariantMember& variant);
  // The recorded code for this device; else, to say so, that for another; nullptr if there is none.
  const bundle::VariantMember* baseline(const Digest& kernel, const std::string& device) const;
  void execute_again(const bundle::VariantMember& variant);
  // Lets go of the code of one that is run on no instance but that in hand, and has been.
  void release(const bundle::VariantInfo& variant);
  bundle::RunInfo run_without_code(const bundle::VariantInfo& variant) const;
  void store_blocks(const Worker& worker, const Worker::Outcome& outcome);
  void report(const bundle::RunInfo& run);
  void report(const bundle::Baseline& baseline);
  const std::string& name(const Digest& kernel) const;

  const bundle::Reader& reader_;
  bundle::Writer& writer_;
  const cli::Selection& selection_;
  RunnerOptions options_;
  cli::Progress progress_;

  std::map<Digest, Kernel> kernels_;
  std::map<Digest, bundle::VariantMember> variants_;  // of selected kernels
  // The recorded code, by kernel and device, where it is wanted.
  std::map<std::pair<Digest, std::string>, bundle::VariantMember> baselines_;
  std::map<Digest, uint64_t> waiting_;  // instances of a kernel that met no variant, by kernel
  verify::Pairing pairing_;
  std::optional<bundle::InstanceMember> instance_;         // in hand, if selected
  bool instance_waits_ = false;                            // it has met no variant yet
  std::map<Digest, bundle::RunInfo> executed_;             // on it, by variant
  std::vector<const bundle::VariantMember*> first_round_;  // was made with these
  std::map<std::string, WorkerProcess> processes_;         // by device
  std::map<std::string, Worker> workers_;                  // that hold it, by device
  uint64_t runs_ = 0, instances_ = 0, refused_ = 0;
};

}  // namespace mneme::run
