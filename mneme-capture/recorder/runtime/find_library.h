// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::record {

// A shared library by the name that programs are linked with ("libcudart.so.13"): what the process has loaded already,
// of whatever version, or else what the loader finds. nullptr: none. A second version would be another library, with
// nothing in it that the application made.
void* find_library(const char* name);

}  // namespace mneme::record
