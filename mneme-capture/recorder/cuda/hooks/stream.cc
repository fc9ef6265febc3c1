// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime and of its driver by which an application waits for streams, makes contexts, and
// resets devices.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

CALL(Status, cudaGetDevice, int*)

namespace {

// Of a context that it names, of which the recorder knows no streams.
Status synchronize_context(CudaRuntime& runtime, const Real& real, Context context) {
  return context && context != devices.context() ? real() : synchronize_device(runtime, real);
}

Status create_context(CudaRuntime& runtime, const Real& real, Context* context, ...) {
  const Status status = real();
  if (status == kSuccess && context) runtime.add_context(*context);
  return status;
}

// What is the recorder's own goes first: afterwards another one may be at the same place.
Status destroy_context(CudaRuntime& runtime, const Real& real, Context context) {
  runtime.remove_context(context);
  return real();
}

Status reset(CudaRuntime& runtime, const Real& real, int device) {
  if (runtime.recorder()) runtime.forget_primary(device);
  return real();
}
Status retain(CudaRuntime& runtime, const Real& real, Context* context, int device) {
  const Status status = real();
  if (status == kSuccess && context) runtime.note_primary(device, *context);
  return status;
}

Status reset_current(CudaRuntime& runtime, const Real& real) {
  int device = 0;
  if (!runtime.recorder() || next::cudaGetDevice(&device) != kSuccess) return real();
  runtime.forget_primary(device);
  const Status status = real();
  runtime.adopt_again();
  return status;
}

}  // namespace

HOOK(synchronize_device, cudaDeviceSynchronize)
HOOK_PTSZ(synchronize_stream, cudaStreamSynchronize, Stream)
HOOK(destroy_stream, cudaStreamDestroy, Stream)
HOOK(reset_current, cudaDeviceReset)

HOOK(synchronize_device, cuCtxSynchronize)
HOOK(synchronize_context, cuCtxSynchronize_v2, Context)
HOOK_PTSZ(synchronize_stream, cuStreamSynchronize, Stream)
HOOK(destroy_stream, cuStreamDestroy_v2, Stream)

HOOK(create_context, cuCtxCreate_v2, Context*, unsigned, int)
HOOK(create_context, cuCtxCreate_v3, Context*, const void*, int, unsigned, int)
HOOK(create_context, cuCtxCreate_v4, Context*, const void*, unsigned, int)
HOOK(destroy_context, cuCtxDestroy_v2, Context)
HOOK(reset, cuDevicePrimaryCtxReset_v2, int)
HOOK(retain, cuDevicePrimaryCtxRetain, Context*, int)

}  // namespace mneme::record::cuda
