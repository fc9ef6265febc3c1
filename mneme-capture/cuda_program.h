// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::capture {

// Whether what a command starts is a CUDA program: it, or a library that the loader gives it, holds device code for
// NVIDIA's GPUs or needs CUDA's runtime or driver. Each word of the command that names a program counts, since the
// first may only start another one (mpirun, env, numactl). What a script starts, or a program loads by itself, is not
// known.
bool starts_cuda_program(const std::vector<std::string>& command);

}  // namespace mneme::capture
