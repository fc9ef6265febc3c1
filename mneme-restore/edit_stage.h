// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-restore --edit.
#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/stage.h"

namespace mneme::restore {

class EditOptions {
 public:
  void add_options(cli::Options& options);
  bool asked() const { return !path_.empty(); }
  // Reads the bundle (none: standard input), and writes the edited one. Throws Error.
  Exit write(std::vector<std::string> paths, const cli::Selection& selection, cli::Output& output,
             const cli::Options& options) const;

 private:
  std::string path_;
};

}  // namespace mneme::restore
