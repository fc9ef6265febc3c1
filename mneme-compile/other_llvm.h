// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Another release of LLVM, by its tools opt and llc. Each runs confined.
//
//   GPUs   own compiler up to the pipeline ─▶ IR for that release ─▶ opt ─▶ llc ─▶ own linker, or assembler of PTX
//   host   device IR for that release ─▶ opt ─▶ own compiler, with a short pipeline
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "confined.h"
#include "wanted.h"

namespace mneme::compile {

class OtherLlvm {
 public:
  // Its folder, or that folder's bin. Throws Error for what is none, and for releases before 16.
  explicit OtherLlvm(const std::string& path);

  const std::string& version() const { return version_; }  // "16.0.6", as a configuration has it

  // Throws Error with what a tool says, which names what it does not know.
  codegen::Code compile(const bundle::KernelInfo& kernel, std::string_view ir,
                        const bundle::Configuration& configuration, const codegen::Given& given) const;

 private:
  std::string run(const bundle::KernelInfo& kernel, std::vector<std::string> command, const std::string& input) const;
  std::string optimise(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration,
                       const std::string& text) const;

  std::string bin_, version_;
  unsigned major_ = 0;
};

// By this LLVM, or the one of `llvms` that the configuration names; with the assembler that it wants.
codegen::Code compile_wanted(const bundle::KernelInfo& kernel, std::string_view ir, const Wanted& wanted,
                             const codegen::Given& given, const std::vector<OtherLlvm>& llvms);

}  // namespace mneme::compile
