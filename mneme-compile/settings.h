// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "bundle/format.h"
#include "cli/options.h"
#include "edits.h"
#include "lines.h"
#include "other_llvm.h"
#include "recorded_code.h"
#include "wanted.h"

namespace mneme::compile {

// What the command line says of how to compile.
class Settings {
 public:
  void add_options(cli::Options& options);
  // After parse(): throws Error on values that contradict each other, on a pipeline of the command line's that LLVM
  // rejects, and on a file that cannot be read. `bundle_on_input`: standard input is not free for variants.
  void check(const cli::Options& options, bool bundle_on_input);

  // What the bundle was recorded on ("host", "cuda", …), which is what to compile for by default; before what follows.
  // Throws Error as check() does, as far as it could not yet.
  void set_recorded_on(const std::string& device);

  // Before wanted(). Of a kernel without IR, and of PTX that --ir gives, IR is made where it is wanted: then the kernel
  // has its bitcode and what is known by it, and still its code. Where code is taken as it is, the kernel has what its
  // IR, or PTX, tells of stores. Throws Error where has_edits() and the file gives no IR of it.
  void prepare(bundle::KernelMember& kernel);
  // What to compile a selected kernel to: of the command line's own configuration, one; else those of --variants.
  // Throws Error where that is not known, or cannot be.
  std::vector<Wanted> wanted(const bundle::KernelInfo& kernel);
  // The lines of --variants, as far as they were there from the beginning.
  const std::vector<Asked>& asked() const { return asked_; }
  bool in_bulk() const { return !variants_file_.empty(); }
  // Whether lines of --variants are compiled as they come; then wanted() has those that have come.
  bool follows() const { return !answers_file_.empty(); }
  Lines& lines() { return *lines_; }
  // Takes such a line. Throws Error where it is no configuration that this kernel could be compiled with.
  Wanted take(const Line& line, const bundle::KernelInfo& kernel);
  // What --code gives; null: nothing.
  const GivenCode* given_code() const { return given_code_ ? &*given_code_ : nullptr; }
  // What became of it, to whom it may concern.
  void answer(const std::string& text) const { write_all(answers_.get(), bytes_of(text), "'" + answers_file_ + "'"); }
  // Whether a variant may be launched otherwise than was recorded, or be for one instance only.
  bool launches_otherwise() const;
  // Where to put each variant's texts; empty: nowhere.
  const std::string& texts_folder() const { return texts_folder_; }
  // Whether code objects for AMD's GPUs carry what they were made of.
  bool embeds_ir() const { return embeds_ir_; }
  // Passes of the host device's compiler after which the IR is printed.
  const std::vector<std::string>& print_after() const { return print_after_; }
  // The IR to compile in place of a kernel's, behind prepare(); null: its own.
  const std::string* edited_ir(const Digest& kernel) const;
  // Whether --ir gives IR of one kernel; and whether a file gives that of all selected kernels which it has.
  bool has_one_ir() const { return edited_ir_.has_value(); }
  bool has_edits() const { return edits_.has_value(); }
  // Those of --llvm.
  const std::vector<OtherLlvm>& llvms() const { return llvms_; }
  uint64_t jobs() const { return jobs_; }
  double timeout() const { return timeout_; }

 private:
  Asked asked(const cli::Options& options);
  void set_launch_bounds(bundle::Configuration& configuration) const;
  void open_variants(bool bundle_on_input);
  void check_target();
  bool on_gpu() const { return recorded_on_ == "cuda" || recorded_on_ == "hip"; }
  // The target of what names none; empty: this machine's CPU.
  std::string target_for(const bundle::KernelInfo& kernel) const;
  void name_ir(const bundle::KernelInfo& kernel, Wanted& wanted) const;
  const std::vector<Wanted>& wanted_for(const std::string& target);
  // What the command line wants beside code, where no target has it. Throws Error.
  void check_outputs(const std::vector<Wanted>& all) const;
  Wanted wanted_by_code(const bundle::KernelInfo& kernel, const Asked& asked);
  bool wants_ir(const bundle::KernelInfo& kernel) const;
  void lift(bundle::KernelMember& kernel);
  // Whether there is no IR to be compiled.
  bool takes_code(const bundle::KernelInfo& kernel) const { return given_code_ || !has_ir(kernel); }

  std::string checks_, level_, passes_, ir_file_, code_file_, target_, form_ = "auto", wanted_assembler_ = "auto",
                                                              variants_file_;
  uint64_t codegen_ = 3, ptxas_level_ = 3, max_registers_ = 0, code_object_ = 0, jobs_ = 0;
  std::string cpu_, features_, launch_bounds_, fast_math_, attributes_, grid_, block_, specialize_args_, texts_folder_;
  std::vector<std::string> plugins_, print_after_;
  uint64_t unroll_threshold_ = 0, inline_threshold_ = 0, opt_bisect_ = 0, shared_mem_ = 0;
  double timeout_ = 300;
  bool fuse_ = false, no_fuse_ = false, check_memory_ = false, algebra_ = false, as_recorded_ = false,
       specialize_dims_ = false, embeds_ir_ = false;
  std::string recorded_on_, variants_name_, answers_file_;
  std::vector<Asked> asked_;  // by the lines of --variants
  std::optional<Lines> lines_;
  Fd answers_;
  Asked by_options_;
  Normaliser normaliser_;
  std::map<std::string, std::vector<Wanted>> wanted_;  // by the target where none is named
  std::optional<std::string> edited_ir_;
  std::string source_file_, binary_file_;
  Trust trust_;
  std::vector<std::string> llvm_paths_;
  std::vector<OtherLlvm> llvms_;
  std::optional<Edits> edits_;
  std::map<Digest, std::string> edited_;      // kernels' IR of edits_
  std::map<Digest, std::string> unliftable_;  // kernels: why there is no IR of their PTX
  std::optional<GivenCode> given_code_;
};

}  // namespace mneme::compile
