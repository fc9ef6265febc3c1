// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>

#include "bundle/format.h"
#include "cli/options.h"
#include "codegen/nvptx/assembler.h"

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
  // What makes a cubin of the PTX; nothing where the code stays what the compiler gives.
  const std::optional<codegen::nvptx::Assembler>& assembler() const { return assembler_; }

 private:
  void choose_assembler(const cli::Options& options);

  std::string level_, passes_, ir_file_, target_, form_ = "auto", wanted_assembler_ = "auto";
  uint64_t codegen_ = 3, ptxas_level_ = 3, max_registers_ = 0;
  bool fuse_ = false, check_memory_ = false, as_recorded_ = false;
  bundle::Configuration configuration_;
  std::optional<std::string> edited_ir_;
  std::optional<codegen::nvptx::Assembler> assembler_;
};

}  // namespace mneme::compile
