// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options that have to do with checks (docs/checks.md), of several tools.
#pragma once
#include <string>
#include <vector>

#include "bundle/checks.h"
#include "cli/options.h"

namespace mneme::cli {

inline constexpr char kCheckOption[] = "--check";

// The value of --check LIST; nothing where it is empty. Throws Error.
bundle::WantedChecks wanted_checks(const std::string& list);

// --suppress FILE and --warp-synchronous: findings that are not wanted.
class FindingOptions {
 public:
  void add_options(Options& options);
  void read();  // after parse(); throws Error
  // The same for the host device's runtime (hostgpu/kernels/findings.h): "MNEME_SUPPRESS=…".
  std::vector<std::string> variables() const;
  bool wants(const bundle::Finding& finding, const std::string& kernel) const;
  void drop_unwanted(std::vector<bundle::Finding>& findings, const std::string& kernel) const;

 private:
  std::string file_;
  bool warp_synchronous_ = false;
  bundle::Suppressions suppressions_;
};

}  // namespace mneme::cli
