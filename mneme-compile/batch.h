// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many configurations of one kernel.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/reader.h"
#include "codegen/compile.h"
#include "other_llvm.h"
#include "wanted.h"

namespace mneme::compile {

// The variant as which what was compiled, or the reason why it was not, goes into the bundle.
bundle::VariantMember variant_of(const bundle::KernelInfo& kernel, const Wanted& wanted, codegen::Code code);
bundle::VariantMember failed_variant(const bundle::KernelInfo& kernel, const Wanted& wanted, std::string reason);

// Finds variants with the same code as one before.
class SameCode {
 public:
  // Takes the code out of the variant, if it is another's.
  void share(bundle::VariantMember& variant);

 private:
  std::map<std::string, Digest> holders_;  // by all that is alike
};

struct Batch {
  const bundle::KernelInfo& kernel;
  std::function<std::string_view(const bundle::Configuration&)> ir;  // that it is compiled from
  const std::vector<Wanted>& wanted;
  std::function<codegen::Code(const Wanted&)> code_of = {};  // of those that are Wanted::from_code
  codegen::Given given = {};
  const std::vector<OtherLlvm>* llvms = nullptr;  // that configurations may name
  size_t jobs = 1;                                // at a time
  double timeout = 0;                             // seconds for each
  // Given each in the order of `wanted`, those that failed, too; without code those that have another's. And what the
  // compiler remarks.
  std::function<void(const Wanted&, const bundle::VariantMember&, const std::vector<std::string>&)> take = {};
  // And ahead of that the code, of those that have some.
  std::function<void(const Digest& variant, const codegen::Code&)> save = {};

  // Compiles each in a confined process of its own. `same_code` knows those of batches before.
  void compile(SameCode& same_code) const;
};

}  // namespace mneme::compile
