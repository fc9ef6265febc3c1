// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handles of textures and surfaces are numbers of 64 bits among a kernel's arguments, or in memory. What uses them
// tells:
//
//   ld.param.u64 %rd1, [k_param_1];  …  tex.1d.v4.f32.s32 {…}, [%rd1, {%r1}];         the argument k_param_1
//   ld.global.u64 %rd2, [%rd7];      …  sust.b.2d.b32.trap [%rd2, {%r3, %r4}], {…};   from elsewhere
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::objects {

// As KernelInfo has them. nullopt: nothing tells, because the text has no such kernel, is not understood, or the kernel
// calls functions of its own.
std::optional<std::vector<bundle::Handle>> handles_in_ptx(std::string_view text, std::string_view kernel);

// Whether anything in the text uses textures or surfaces.
bool uses_textures_in_ptx(std::string_view text);

}  // namespace mneme::objects
