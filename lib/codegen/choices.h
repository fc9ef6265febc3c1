// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A configuration's texts in the one form that they are written and hashed in. All throw Error, in words that go on
// from the key's or option's name: "takes …, not 'x'". Free of LLVM's headers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bundle/format.h"

namespace mneme::codegen {

// Lists with commas between them, each entry once, in an order of their own.
std::string normal_fast_math(const std::string& flags);  // "contract,reassoc"; "fast" is all
// Functions' attributes, with spaces between: "noinline", "key=value".
std::string normal_attributes(const std::string& attributes);
// Of a target's processor: "+avx512vnni,-fma", in the order given, the last of each.
std::string normal_features(const std::string& features, const std::string& target);
void check_cpu(const std::string& cpu, const std::string& target);
// "all", or arguments counted from 0, and behind them those by name: "0,2", "1,alpha".
std::string normal_arguments(const std::string& arguments);
// With the numbers in place of the kernel's names; others stay.
std::string numbered_arguments(const bundle::KernelInfo& kernel, const std::string& arguments);

// Which arguments of the kernel are meant; "all" is those that are no pointers. Throws Error, in a whole sentence, on
// one that the kernel does not have, telling what it has.
std::vector<size_t> arguments_named(const bundle::KernelInfo& kernel, const std::string& arguments);

// Whether code depends on the values of the launch that it is compiled for.
inline bool is_specialised(const bundle::Configuration& configuration) {
  return !configuration.specialize_args.empty() || configuration.specialize_dims;
}

}  // namespace mneme::codegen
