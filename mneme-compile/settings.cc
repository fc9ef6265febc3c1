// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "ir/optimize.h"

namespace mneme::compile {
namespace {

constexpr size_t kMaxVariantsFile = 64 << 20;  // bytes
constexpr uint64_t kMostJobs = 1024;

// As clang pairs them: the size levels generate code like -O2.
int codegen_level(const std::string& level) { return level == "s" || level == "z" ? 2 : std::stoi(level); }

}  // namespace

void Settings::add_options(cli::Options& options) {
  options.choice("-O", level_, {"0", "1", "2", "3", "s", "z"}, "optimise as clang does at this level (default: 3)");
  options.value("--passes", passes_, "PIPELINE", "run this pass pipeline instead, in the syntax of opt -passes=");
  options.value("--codegen-opt", codegen_, "LEVEL", "code generation level, 0 to 3 (default: what -O implies, else 3)");
  options.value("--ir", ir_file_, "FILE", "compile this IR, .ll or .bc, in place of the recorded kernel's");
  options.value("--target", target_, "TARGET",
                "what to compile for: host (this machine's CPU), host:x86-64-v2, -v3 or -v4, or an NVIDIA GPU's sm_90 "
                "and so on (default: what the recording ran on)");
  options.choice("--form", form_, {"auto", "loop", "fiber"},
                 "host device: how a block's work-items are run (default: auto)");
  options.flag("--fuse", fuse_, "allow multiply-adds to be fused, which changes results in the last bits");
  options.flag("--check-memory", check_memory_, "find out before each access to memory whether there is any");
  options.choice("--assembler", wanted_assembler_, {"auto", "ptxas", "nvjitlink", "none"},
                 "NVIDIA GPUs: what makes a cubin of the PTX (default: ptxas, else nvjitlink, where there is one)");
  options.value("--ptxas-level", ptxas_level_, "LEVEL",
                "NVIDIA GPUs: how much the assembler optimises, 0 to 3 (default: as --codegen-opt)");
  options.value("--max-registers", max_registers_, "N",
                "NVIDIA GPUs: the most registers that a thread may take, 16 to 255 (default: what the code asks for)");
  options.value("--variants", variants_file_, "FILE",
                "compile each configuration that FILE (-: standard input) has, a line of json each; the options above "
                "are for what a line does not say");
  options.value("-j,--jobs", jobs_, "N", "with --variants: how many to compile at a time (default: one for each CPU)");
  options.value("--compile-timeout", timeout_, "SECONDS",
                "with --variants: give up a configuration that takes longer (default 300)");
  options.flag("--as-recorded", as_recorded_,
               "compile the recorded code as it ran, for mneme-run --baseline only: no run is made of it");
}

Asked Settings::asked(const cli::Options& options) {
  std::string level = level_.empty() ? "3" : level_;
  bool implied = passes_.empty() && !options.given("--codegen-opt");
  Asked asked;
  bundle::Configuration& configuration = asked.configuration;
  configuration.passes = passes_.empty() ? "default<O" + level + ">" : passes_;
  configuration.codegen_opt = implied ? codegen_level(level) : static_cast<int>(codegen_);
  configuration.target = target_;
  configuration.form = form_;
  configuration.fuse = fuse_;
  configuration.check_memory = check_memory_;
  configuration.baseline = as_recorded_;
  configuration.assembler = wanted_assembler_;
  configuration.ptxas_level = static_cast<int>(ptxas_level_);
  configuration.max_registers = static_cast<uint32_t>(std::min<uint64_t>(max_registers_, UINT32_MAX));
  if (edited_ir_) configuration.ir = digest_of(*edited_ir_);
  for (const char* key : {"form", "check_memory", "assembler", "ptxas_level", "max_registers"}) {
    std::string option = std::string("--") + key;
    std::ranges::replace(option, '_', '-');
    if (options.given(option)) asked.given.insert(key);
  }
  asked.insisted = asked.given;
  return asked;
}

void Settings::check(const cli::Options& options, bool bundle_on_input) {
  if (!level_.empty() && !passes_.empty()) throw Error("give either -O or --passes, not both");
  if (passes_.empty() && options.given("--passes")) throw Error("the pipeline given with --passes is empty");
  if (as_recorded_) {
    for (const char* other : {"-O", "--passes", "--codegen-opt", "--ir", "--form", "--fuse", "--check-memory",
                              "--ptxas-level", "--max-registers", "--variants"}) {
      if (options.given(other))
        throw Error::of("--as-recorded leaves nothing to choose: {} does not go with it", other);
    }
  }
  if (codegen_ > 3) throw Error::of("--codegen-opt takes a level from 0 to 3, not {}", codegen_);
  if (ptxas_level_ > 3) throw Error::of("--ptxas-level takes a level from 0 to 3, not {}", ptxas_level_);
  if (!ir_file_.empty()) edited_ir_ = read_file(ir_file_, bundle::kMaxCodeSize);
  by_options_ = asked(options);
  ir::check_pipeline(by_options_.configuration.passes);
  if (in_bulk()) {
    if (!options.given("--jobs")) jobs_ = std::max(1u, std::thread::hardware_concurrency());
    if (jobs_ == 0 || jobs_ > kMostJobs) {
      throw Error::of("--jobs takes a number from 1 to {}, not {}", kMostJobs, jobs_);
    }
    if (timeout_ <= 0) throw Error("--compile-timeout must be more than 0 seconds");
    bool on_input = variants_file_ == "-";
    if (on_input && bundle_on_input) {
      throw Error("--variants - and the bundle cannot both come from standard input: name a file for one of them");
    }
    variants_text_ = on_input ? read_all(STDIN_FILENO, "standard input", kMaxVariantsFile)
                              : read_file(variants_file_, kMaxVariantsFile);
    variants_name_ = on_input ? "standard input" : "'" + variants_file_ + "'";
  }
  if (!target_.empty()) wanted_for(target_);
}

void Settings::set_recorded_on(const std::string& device) {
  recorded_on_ = device;
  if (target_.empty() && device != "cuda") wanted_for("");
}

const std::vector<Wanted>& Settings::wanted(const bundle::KernelInfo& kernel) {
  if (!target_.empty()) return wanted_for(target_);
  if (recorded_on_ != "cuda") return wanted_for("");
  // The GPU that it was built for.
  size_t processor = kernel.target.rfind("--");
  if (!kernel.target.starts_with("nvptx64") || processor == std::string::npos) {
    throw Error::of(
        "kernel '{}' was compiled for {}, but recorded on an NVIDIA GPU: say with --target what to compile it for",
        kernel.demangled, kernel.target);
  }
  return wanted_for("cuda:" + kernel.target.substr(processor + 2));
}

const std::vector<Wanted>& Settings::wanted_for(const std::string& target) {
  if (auto known = wanted_.find(target); known != wanted_.end()) return known->second;
  Asked defaults = by_options_;
  defaults.configuration.target = target;
  std::vector<Wanted> all;
  if (in_bulk()) {
    all = read_variants(variants_text_, variants_name_, defaults, normaliser_);
  } else {
    all.push_back(normaliser_.normalise(std::move(defaults)));
  }
  return wanted_.emplace(target, std::move(all)).first->second;
}

}  // namespace mneme::compile
