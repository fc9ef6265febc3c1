// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program that holds a recording has of each kernel besides the variants of its bundle: code that is run only
// where an option asks for it. The program has no compiler, so it is compiled when the program is written.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bundle/reader.h"

namespace mneme::restore {

// As it lies in the program's file: empty where there is none.
std::string pack(const std::vector<bundle::VariantMember>& variants);
// Throws Error on what pack() did not make. `name` is what messages call the file.
std::vector<bundle::VariantMember> unpack(std::string_view packed, const std::string& name);

}  // namespace mneme::restore
