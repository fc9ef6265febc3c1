// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-restore --tuned.
#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/stage.h"
#include "replay/judge/verify_stage.h"

namespace mneme::restore {

class TunedOptions {
 public:
  void add_options(cli::Options& options);
  bool asked() const { return tuned_; }
  // After parse(). Throws Error.
  void check(const cli::Options& options, bool other_output);

  // Reads the bundles (none: standard input), and writes the tuned one. Throws Error.
  Exit write(std::vector<std::string> paths, const cli::Selection& selection, cli::Output& output,
             const cli::Options& options) const;

 private:
  bool tuned_ = false;
  std::string deploy_, reference_ = "recorded";
  verify::RuleOptions judging_;
};

}  // namespace mneme::restore
