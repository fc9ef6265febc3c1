// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every tool between two pipes does: open its input and output, select, pass the rest on.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "bundle/reader.h"
#include "bundle/writer.h"
#include "cli/expression.h"
#include "cli/options.h"

namespace mneme::cli {

// --kernel REGEX (on the demangled name) and --instance PREFIX (of the hash).
class Selection {
 public:
  void add_options(Options& options);
  void check();  // after parse(): throws Error on a bad expression or prefix
  bool kernel(const bundle::KernelInfo& kernel) const;
  // Of a selected kernel. Throws Error when the prefix fits a second instance.
  bool instance(const Digest& instance) const;
  bool everything() const { return kernel_.empty() && instance_.empty(); }
  std::vector<std::string> kernel_words() const;  // that give another tool the same selection of kernels
  bool selects_instances() const { return !instance_.empty(); }
  // Call at the end, before the archive is finished: throws Error when nothing was selected.
  void check_met() const;

 private:
  std::string kernel_, instance_;
  std::optional<Expression> expression_;
  mutable bool kernel_met_ = false;
  mutable std::optional<Digest> instance_met_;
  mutable std::vector<std::string> others_;  // kernels that did not match, for the message
};

// That --kernel selects none of these, of which the first few are named.
Error no_kernel_matches(const std::string& expression, const std::vector<std::string>& others);

// Standard output or -o FILE. Refuses to write a bundle to a terminal, and to overwrite an Input.
class Output {
 public:
  enum class Kind { kBundle, kOther };
  explicit Output(Kind kind = Kind::kBundle) : kind_(kind) {}
  // A file that was made and never cleared goes: nothing came of it. Where an exception ends the tool before anything
  // of a bundle was written, a pipe on standard output gets an empty archive, which says that this tool reports the
  // error; not where messages go into that pipe, too.
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void add_options(Options& options);
  const std::string& path() const { return path_; }  // empty: standard output
  void set_path(std::string path) { path_ = std::move(path); }
  void set_kind(Kind kind) { kind_ = kind; }
  void open();  // after the inputs were opened
  // The same in two steps: what a file has is still there after the first.
  void open_uncleared();
  void clear();
  int fd() const {  // which is written to from then on
    taken_ = true;
    return fd_.get();
  }
  const std::string& name() const { return name_; }
  bool is_file() const { return !path_.empty() && path_ != "-"; }
  void close();  // checked

 private:
  friend void check_is_free(const std::string& path, const Output& output);

  Kind kind_;
  std::string path_, name_;
  Fd fd_;
  mutable bool taken_ = false;
  bool only_made_ = false;  // the file was not there before, and has not been cleared
};

// Standard input, or a file. Refuses a terminal. While it lives, no Output overwrites it.
class Input {
 public:
  Input() = default;
  explicit Input(std::string path) : path_(std::move(path)) {}
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  void add_options(Options& options);  // the file argument
  bool is_standard() const { return path_.empty() || path_ == "-"; }
  void open();
  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }

 private:
  std::string path_, name_;
  Fd fd_;
};

// A file that is read besides the input, or later, or nothing: no output is to overwrite it either. Whether it is a
// regular file, which can be read again.
bool keep_as_input(const std::string& path);
// To be asked ahead of writing a file that is no Output: throws Error if that is an input, or what `output` writes too.
void check_is_no_input(const std::string& path);
void check_is_free(const std::string& path, const Output& output);

// The bundle.json that a tool writes: the input's, with this tool's provenance line added. It is of the input's format
// version: a tool that adds what needs a newer one raises it.
bundle::BundleInfo with_provenance(bundle::BundleInfo info, const std::string& tool, const Options& options);

// Whether the input is whole: the reader met no cut, and no tool ahead of it in the pipe failed.
bool is_whole(const bundle::Reader& reader, const std::optional<bundle::Summary>& summary);

// Writes summary.json (marked truncated if the reader met a cut), ends the archive and closes the output. Only then,
// for what came before is whole and can be used, throws Error with the reader's sentence if it met a cut, or Reported
// if a tool failed ahead of it in the pipe.
void finish(const bundle::Reader& reader, bundle::Writer& writer, Output& output,
            std::optional<bundle::Summary> summary);

}  // namespace mneme::cli
