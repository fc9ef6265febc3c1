// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of Mneme's own kernels, which the build makes (codegen/compile_kernels.cc) and puts into programs: that of
// several kernels in one file, by name. What is in it is trusted.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace mneme::objects {

std::string pack_code(const std::map<std::string, std::string>& codes);
// Of the kernel of that name, within the pack. Throws Error if there is none.
Bytes packed_code(Bytes pack, std::string_view kernel);

// For AMD's GPUs there has to be code for each processor. Of packs with the same kernels for one each, by its name
// ("gfx90a"), this makes one in which each kernel's code is one of clang's offload bundles: of that, AMD's runtime
// takes what is for the GPU that there is. Compressed, as all are much alike.
std::string bundle_packs(const std::map<std::string, std::string>& packs);
// The pack that is compressed so.
std::string unpacked(Bytes bundled);

}  // namespace mneme::objects
