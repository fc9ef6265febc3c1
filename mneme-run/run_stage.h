// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-run does between its input and its output, for it and for the programs that mneme-restore --executable
// makes of recordings.
#pragma once
#include <cstdint>
#include <string>

#include "cli/options.h"
#include "cli/stage.h"
#include "runner.h"

namespace mneme::run {

inline constexpr uint64_t kMostExecutions = 1'000'000;

// How replays are made: the options that need nothing but compiled variants.
class ReplayOptions {
 public:
  void add_options(cli::Options& options);
  // After parse(). Throws Error.
  RunnerOptions checked(const cli::Options& options);

 private:
  RunnerOptions runner_;
  uint64_t warmup_ = runner_.settings.warmup, iterations_ = runner_.settings.iterations, rounds_ = runner_.rounds;
  std::string cache_ = "warm";
};

// Runs what the bundle on the descriptor `input`, which messages call `name`, has, and writes it with the runs;
// with the recorded memory if `keep`. `tool` is what its line in the provenance says. Throws Error.
Exit replay(int input, const std::string& name, cli::Output& output, const std::string& tool,
            const cli::Options& options, const cli::Selection& selection, const RunnerOptions& settings, bool keep);

}  // namespace mneme::run
