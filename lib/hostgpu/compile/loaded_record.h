// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "objects/embedded.h"

namespace mneme::hostgpu {

// The record of a kernel whose loader has decided on what the compiler left open: where its functions are. Empty: it is
// as it was compiled, and functions' addresses are made of their names. tests/fake_hip has another one.
std::string record_as_loaded(const objects::EmbeddedKernel& kernel);

// What a code object carries that is executed in its place: kernels' records, as objects/embedded.h has them. Empty:
// nothing. tests/fake_cuda has another one.
Bytes carried_kernels(Bytes image, const std::string& where);

}  // namespace mneme::hostgpu
