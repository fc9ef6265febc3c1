// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of NVIDIA's processors runs what.
#pragma once
#include <string_view>

namespace mneme::objects {

struct CudaProcessor {
  unsigned number = 0;  // 90; 0: it is none
  char kind = 0;        // 'a': what is for this one is for no other; 'f': for its family
  unsigned generation() const { return number / 10; }
};

// At the end of the text: "sm_90a", "nvptx64-nvidia-cuda--sm_90a".
CudaProcessor cuda_processor(std::string_view text);

// As NVIDIA's driver chooses: whether a cubin for the one runs on the device, and whether PTX for it is compiled for
// that.
bool runs_on(const CudaProcessor& cubin, const CudaProcessor& device);
bool compiles_for(const CudaProcessor& ptx, const CudaProcessor& device);

}  // namespace mneme::objects
