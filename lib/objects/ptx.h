// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What PTX says of its kernels and variables by their declarations, as far as a launch needs it:
//
//   .visible .entry scale(.param .u64 .ptr .align 1 data, .param .align 8 .b8 by[16]) { … }
//   .const .align 4 .b8 factors[16];
//
// The text may be a stranger's. What it declares in ways that are not understood is passed over.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::objects {

// Where a parameter lies in a kernel's argument bytes.
struct Parameter {
  uint32_t offset = 0, size = 0;  // bytes
  bool operator==(const Parameter&) const = default;
};
using Parameters = std::vector<Parameter>;

// Whether the text begins as PTX does: with .version behind comments.
bool is_ptx(std::string_view text);

// How many units it is of, one behind the other (embedded.h, linked_ptx).
size_t units_of_ptx(std::string_view text);

// The processor that it is for: "sm_90"; empty: it does not say.
std::string processor_of_ptx(std::string_view text);

// Of the kernel of that name; nullopt: there is none, or its declaration is not understood.
std::optional<Parameters> parameters_in_ptx(std::string_view text, std::string_view kernel);

// Variables in global and constant memory.
std::vector<bundle::Global> variables_in_ptx(std::string_view text);

// The same lines with other kernels only declared, where this one is defined: files of a library have hundreds, each of
// which takes its time to be understood.
std::string ptx_of_kernel(std::string_view text, std::string_view kernel);

}  // namespace mneme::objects
