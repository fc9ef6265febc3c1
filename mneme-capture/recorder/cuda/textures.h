// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <array>
#include <cstdint>

#include "recorder/runtime/runtime.h"

namespace mneme::record::cuda {

// What the driver says that the handles in a launch's arguments stand for (Runtime::textures).
TexturesOfLaunch ask_for_textures(const bundle::KernelInfo& kernel, const std::string& arguments,
                                  std::vector<std::string>& missing);
// Begins to copy an array's levels to memory (Runtime::copy_array). False: the driver refused.
bool begin_to_copy(const bundle::TextureArray& array, const std::vector<void*>& levels, uint64_t address);

// What a number is the handle of, as far as the application has made such objects and not destroyed them.
struct Handled {
  bool texture = false, surface = false;
  // What the texture has beyond its border, as the application said when it made it: the driver does not say it later.
  std::array<uint32_t, 4> border = {};
};
Handled handled_by(unsigned long long object);
// Whether there are any such objects.
bool any_handled();

}  // namespace mneme::record::cuda
