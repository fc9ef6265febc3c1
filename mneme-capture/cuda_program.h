// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::capture {

// Whose GPUs a program is for.
enum class ProgramKind { kCuda, kHip, kUnknown };

// Of what a command starts: a CUDA program, or a library that the loader gives it, holds device code for NVIDIA's GPUs
// or needs CUDA's runtime or driver; a HIP program likewise, and if it knows both it is that. Each word of the command
// that names a program counts, since the first may only start another one (mpirun, env, numactl), and one for CUDA
// settles it. What a script starts, or a program loads by itself, is not known.
ProgramKind kind_of_programs(const std::vector<std::string>& command);

// The first of these words that names a CUDA program with the runtime in itself (libcudart_static, nvcc's default), of
// which a recorder sees nothing; empty if there is none. `folder`, if one is given, comes first in LD_LIBRARY_PATH.
std::string with_static_cudart(const std::vector<std::string>& command, const std::string& folder = {});

// Libraries in `folder` in place of which the loader gives these programs others, though the folder comes first in
// LD_LIBRARY_PATH: those of a place that was linked into a program as DT_RPATH (Spack's are; --disable-new-dtags).
std::vector<std::string> overruled_libraries(const std::vector<std::string>& command, const std::string& folder);

}  // namespace mneme::capture
