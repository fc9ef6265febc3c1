// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-run does between its input and its output, for it and for the programs that mneme-restore --executable
// makes of recordings.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/stage.h"
#include "replay/runner.h"

namespace mneme::run {

inline constexpr uint64_t kMostExecutions = 1'000'000;

// How replays are made.
class ReplayOptions {
 public:
  void add_options(cli::Options& options);
  // After parse(). Throws Error.
  RunnerOptions checked(const cli::Options& options);
  // Whether variants that check accesses to memory are wanted, too. To have them, and for a baseline the recorded code,
  // is the caller's.
  bool checks_memory() const { return check_memory_; }

 private:
  RunnerOptions runner_;
  uint64_t warmup_ = runner_.settings.warmup, iterations_ = runner_.settings.iterations, rounds_ = runner_.rounds;
  uint64_t baseline_ = 0;
  bool check_memory_ = false;
  std::string cache_ = "warm";
};

// Runs what the bundle on the descriptor `input`, which messages call `name`, has, and writes it with the runs;
// with the recorded memory if `keep`. `further` are variants to run besides those that the bundle has. `tool` is what
// its line in the provenance says. Throws Error.
Exit replay(int input, const std::string& name, cli::Output& output, const std::string& tool,
            const cli::Options& options, const cli::Selection& selection, const RunnerOptions& settings, bool keep,
            const std::vector<bundle::VariantMember>& further = {});

}  // namespace mneme::run
