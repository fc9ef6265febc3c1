// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "verify/choice.h"

namespace mneme::verify {

// --segment, --dtype, --kind, --norm, --threshold, --scale and --policies: tolerances in place of what was recorded.
class OverrideOptions {
 public:
  void add_options(cli::Options& options);
  // After parse(): the file's, then the command line's. Throws Error.
  std::vector<Override> overrides(const cli::Options& options) const;

 private:
  std::vector<std::string> segments_, types_, kinds_, norms_, thresholds_, scales_;
  std::string file_;
};

// From a file of one json object a line, with keys named as the options are. Throws Error naming the line.
std::vector<Override> parse_overrides(std::string_view text, const std::string& where);

// Throws Error if one named a segment that no run had.
void check_met(const std::vector<Override>& overrides);

}  // namespace mneme::verify
