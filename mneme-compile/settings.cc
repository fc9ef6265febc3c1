// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include "base/error.h"
#include "base/file.h"
#include "codegen/compile.h"
#include "codegen/host/host.h"
#include "ir/optimize.h"

namespace mneme::compile {
namespace {

constexpr uint64_t kLeastRegisters = 16, kMostRegisters = 255;  // as the assembler has them

// As clang pairs them: the size levels generate code like -O2.
int codegen_level(const std::string& level) { return level == "s" || level == "z" ? 2 : std::stoi(level); }

}  // namespace

void Settings::add_options(cli::Options& options) {
  options.choice("-O", level_, {"0", "1", "2", "3", "s", "z"}, "optimise as clang does at this level (default: 3)");
  options.value("--passes", passes_, "PIPELINE", "run this pass pipeline instead, in the syntax of opt -passes=");
  options.value("--codegen-opt", codegen_, "LEVEL", "code generation level, 0 to 3 (default: what -O implies, else 3)");
  options.value("--ir", ir_file_, "FILE", "compile this IR, .ll or .bc, in place of the recorded kernel's");
  options.value("--target", target_, "TARGET",
                "what to compile for: host:x86-64-v2, -v3 or -v4, or an NVIDIA GPU's sm_90 and so on (default: this "
                "machine's CPU)");
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
  options.flag("--as-recorded", as_recorded_,
               "compile the recorded code as it ran, for mneme-run --baseline only: no run is made of it");
}

void Settings::check(const cli::Options& options) {
  if (!level_.empty() && !passes_.empty()) throw Error("give either -O or --passes, not both");
  if (passes_.empty() && options.given("--passes")) throw Error("the pipeline given with --passes is empty");
  std::string level = level_.empty() ? "3" : level_;
  configuration_.passes = passes_.empty() ? "default<O" + level + ">" : passes_;
  if (as_recorded_) {
    for (const char* other : {"-O", "--passes", "--codegen-opt", "--ir", "--form", "--fuse", "--check-memory",
                              "--ptxas-level", "--max-registers"}) {
      if (options.given(other))
        throw Error::of("--as-recorded leaves nothing to choose: {} does not go with it", other);
    }
  }
  if (codegen_ > 3) throw Error::of("--codegen-opt takes a level from 0 to 3, not {}", codegen_);
  bool implied = passes_.empty() && !options.given("--codegen-opt");
  configuration_.codegen_opt = implied ? codegen_level(level) : static_cast<int>(codegen_);
  configuration_.target = target_.empty() ? codegen::host::default_target() : codegen::target_named(target_);
  configuration_.form = form_;
  configuration_.fuse = fuse_;
  configuration_.check_memory = check_memory_;
  configuration_.baseline = as_recorded_;
  if (!ir_file_.empty()) {
    edited_ir_ = read_file(ir_file_, bundle::kMaxCodeSize);
    configuration_.ir = digest_of(*edited_ir_);
  }
  ir::check_pipeline(configuration_.passes);
  choose_assembler(options);
}

void Settings::choose_assembler(const cli::Options& options) {
  bool nvidia = configuration_.target.starts_with("cuda:");
  if (!nvidia && wanted_assembler_ != "auto" && wanted_assembler_ != "none") {
    throw Error::of("--assembler {} is for NVIDIA's GPUs, not for --target {}", wanted_assembler_,
                    configuration_.target);
  }
  if (nvidia && wanted_assembler_ != "none") assembler_ = codegen::nvptx::find_assembler(wanted_assembler_);
  for (const char* option : {"--ptxas-level", "--max-registers"}) {
    if (!options.given(option) || assembler_) continue;
    if (!nvidia) throw Error::of("{} is for NVIDIA's GPUs, not for --target {}", option, configuration_.target);
    throw Error::of(
        "{} is for an assembler, ptxas or nvJitLink, and {}: the GPU's driver, which compiles PTX when it is run, "
        "chooses by itself",
        option, wanted_assembler_ == "none" ? "--assembler none asks for none" : "there is none on this machine");
  }
  if (ptxas_level_ > 3) throw Error::of("--ptxas-level takes a level from 0 to 3, not {}", ptxas_level_);
  bool limits = options.given("--max-registers");
  if (limits && (max_registers_ < kLeastRegisters || max_registers_ > kMostRegisters)) {
    throw Error::of("--max-registers takes a number from {} to {}, not {}", kLeastRegisters, kMostRegisters,
                    max_registers_);
  }
  if (!assembler_) return;
  configuration_.assembler = assembler_->kind;
  configuration_.ptxas_level =
      options.given("--ptxas-level") ? static_cast<int>(ptxas_level_) : configuration_.codegen_opt;
  configuration_.max_registers = static_cast<uint32_t>(max_registers_);
}

}  // namespace mneme::compile
