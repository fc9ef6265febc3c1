// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions by which an application waits for streams.
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {

HOOK(synchronize_device, hipDeviceSynchronize)
HOOK(synchronize_stream, hipStreamSynchronize, Stream)
HOOK(destroy_stream, hipStreamDestroy, Stream)

}  // namespace mneme::record::hip
