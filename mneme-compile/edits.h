// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IR in place of the recorded: of a source file that was edited (--source), or of a file that was built anew (--from).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bundle/reader.h"

namespace mneme::compile {

// What a stranger's command line may have this machine do.
struct Trust {
  std::string compiler;  // by name or path; empty: the recorded one, by its name
  bool plugins = false;  // those that the command names are loaded
};

class Edits {
 public:
  // Throws Error where the file cannot be read, or has no kernels. A source file is compiled once for each command.
  static Edits from_binary(const std::string& path);
  static Edits from_source(const std::string& path, Trust trust);

  // The file's IR of a recorded kernel. Throws Error where it has no such kernel, or one that takes other arguments,
  // and with what the compiler says.
  std::string ir_of(const bundle::KernelInfo& kernel);

 private:
  struct Kernel {
    bundle::KernelInfo info;
    std::string ir;
  };
  using Kernels = std::vector<Kernel>;

  const Kernels& kernels_for(const bundle::KernelInfo& kernel);

  std::string path_;
  bool is_source_ = false;
  Trust trust_;
  Kernels kernels_;                          // of a binary
  std::map<std::string, Kernels> compiled_;  // of a source, by command
};

// The command by which a source file is compiled in place of the recorded one, so that the records of its kernels
// (objects/embedded.h) are what it prints. Throws Error for a command that names no clang, and for options that have
// the compiler run other code, unless they are trusted.
std::vector<std::string> source_command(const bundle::KernelInfo& kernel, const std::string& path, const Trust& trust);

// Throws Error where the kernel's arguments do not lie where the recorded ones do.
void check_arguments(const bundle::KernelInfo& recorded, const bundle::KernelInfo& found, const std::string& path);

}  // namespace mneme::compile
