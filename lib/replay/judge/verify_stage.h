// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-verify does between its input and its report, for it and for the programs that mneme-restore --executable
// makes of recordings.
#pragma once
#include <string>

#include "cli/options.h"
#include "cli/stage.h"
#include "replay/judge/judgement.h"
#include "replay/judge/overrides.h"

namespace mneme::verify {

// By which rules runs are judged: tolerances, and what else may differ.
class RuleOptions {
 public:
  void add_options(cli::Options& options);
  Rules rules(const cli::Options& options) const;  // after parse(); throws Error

 private:
  std::string nan_ = "bits", infer_kind_ = "scaled";
  bool infer_ = false, recheck_ = false, lenient_ = false;
  OverrideOptions overrides_;
};

// How runs are judged, and what report is written.
class VerifyOptions {
 public:
  explicit VerifyOptions(std::string format) : format_(std::move(format)) {}  // the default: "json" or "table"
  void add_options(cli::Options& options);
  void check(const cli::Options& options);  // after parse(); throws Error

  // Judges the bundle on the descriptor `input`, which messages call `name`, and writes the report. Throws Error.
  Exit verify(int input, const std::string& name, cli::Output& output, const cli::Selection& selection);

  const cli::FindingOptions& findings() const { return rules_.findings; }  // after check()

 private:
  std::string format_, junit_, reference_;
  double slower_ = 0;  // a factor; 0: no bound
  bool algebra_ = false;
  RuleOptions judging_;
  Rules rules_;
};

}  // namespace mneme::verify
