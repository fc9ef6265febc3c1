// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>

#include "bundle/format.h"
#include "cli/options.h"

namespace mneme::compile {

// The command line's part of a replay configuration.
class Settings {
 public:
  void add_options(cli::Options& options);
  // After parse(): throws Error on values that contradict each other, on a pipeline that LLVM rejects,
  // and on a file of --ir that cannot be read.
  void check(const cli::Options& options);

  // What to compile each selected kernel to.
  const bundle::Configuration& configuration() const { return configuration_; }
  const std::optional<std::string>& edited_ir() const { return edited_ir_; }

 private:
  std::string level_, passes_, ir_file_, target_, form_ = "auto";
  uint64_t codegen_ = 3;
  bool fuse_ = false, check_memory_ = false, as_recorded_ = false;
  bundle::Configuration configuration_;
  std::optional<std::string> edited_ir_;
};

}  // namespace mneme::compile
