// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA functions by which an application waits for streams.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

HOOK(synchronize_device, cudaDeviceSynchronize)
HOOK_PTSZ(synchronize_stream, cudaStreamSynchronize, Stream)
HOOK(destroy_stream, cudaStreamDestroy, Stream)

}  // namespace mneme::record::cuda
