// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's names of what code is for: "gfx90a", "gfx90a:sramecc+:xnack-".
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace mneme::codegen::amdgpu {

struct TargetId {
  std::string processor;               // "gfx90a", "gfx11-generic"
  std::optional<bool> sramecc, xnack;  // nothing: code that runs either way
  uint32_t generation = 0;             // 9, 10, 11
  uint32_t isa_version = 0;            // as the device libraries have it: 9010, 11000
  bool generic = false;                // for several processors

  std::string text() const;  // in AMD's order
  // Such as llc takes them; empty where both may be.
  std::string features() const;
};

// As far as this LLVM has code for it that is known to be good: generations 9 to 11. Nothing for any other text.
std::optional<TargetId> parse_target_id(std::string_view text);

}  // namespace mneme::codegen::amdgpu
