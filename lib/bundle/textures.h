// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::bundle {

// Among the globals of CUDA kernels that use textures or surfaces, with no bytes: handles stand for those, and what a
// handle stands for is not recorded.
inline constexpr char kTextures[] = "__mneme_textures";

}  // namespace mneme::bundle
