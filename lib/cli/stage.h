// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every tool between two pipes does: open its input and output, select, pass the rest on.
#pragma once
#include <memory>
#include <regex>
#include <string>

#include "base/file.h"
#include "bundle/reader.h"
#include "bundle/writer.h"
#include "cli/options.h"

namespace mneme::cli {

// --kernel REGEX (unanchored, on the demangled name) and --instance PREFIX (of the hash).
class Selection {
 public:
  void add_options(Options& options);
  void check();  // after parse(): throws Error on a bad expression or prefix
  bool kernel(const bundle::KernelInfo& kernel) const;
  bool instance(const Digest& instance) const;
  bool everything() const { return kernel_.empty() && instance_.empty(); }
  // Call at the end with what was met: throws Error when nothing was selected, or when a prefix fits two.
  void check_met() const;

 private:
  std::string kernel_, instance_;
  std::optional<std::regex> expression_;
  mutable bool met_ = false;
  mutable std::vector<Digest> fitting_;
};

// Standard output or -o FILE. Refuses to write a bundle to a terminal.
class Output {
 public:
  void add_options(Options& options);
  void open(bool bundle = true);
  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }
  bool is_file() const { return !path_.empty(); }
  void close();  // checked

 private:
  std::string path_, name_;
  Fd fd_;
};

// Standard input, or the file argument. Refuses a terminal.
class Input {
 public:
  void add_options(Options& options);
  void open();
  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }

 private:
  std::string path_, name_;
  Fd fd_;
};

// The bundle.json that a tool writes: the input's, with this tool's provenance line added.
bundle::BundleInfo with_provenance(bundle::BundleInfo info, const std::string& tool, const Options& options);

// Writes summary.json (marked truncated if the reader met a cut), ends the archive, closes the output, and
// tells the exit status: kSuccess, or, after a warning with the reader's sentence, kBadInput.
Exit finish(const bundle::Reader& reader, bundle::Writer& writer, Output& output,
            std::optional<bundle::Summary> summary);

}  // namespace mneme::cli
