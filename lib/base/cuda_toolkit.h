// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>

namespace mneme {

// A CUDA toolkit on this machine.
struct CudaToolkit {
  std::string path;  // absolute
  int version = 0;   // CUDA_VERSION, as its cuda.h has it: 13000
  bool operator==(const CudaToolkit&) const = default;
};

// The toolkit to use: in `named` (--cuda-path) if that is given, else where CUDA_PATH or CUDA_HOME say, else
// in the usual places, the newest first, else where nvcc in PATH is.
std::optional<CudaToolkit> find_cuda_toolkit(const std::string& named);

// The folder of its shared runtime library; empty if that is not there, but may be where the linker looks anyway.
std::string runtime_library_folder(const CudaToolkit& toolkit);

}  // namespace mneme
