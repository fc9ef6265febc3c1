// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA functions by which an application waits for streams, as it finds them first: what was released in their
// order is free then.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Error()> next_device_synchronize(kLibrary, "cudaDeviceSynchronize");
constinit Next<Error(Stream)> next_stream_synchronize(kLibrary, "cudaStreamSynchronize");
constinit Next<Error(Stream)> next_stream_synchronize_ptsz(kLibrary, "cudaStreamSynchronize_ptsz");
constinit Next<Error(Stream)> next_stream_destroy(kLibrary, "cudaStreamDestroy");

template <class Real>
Error wait_for(Stream stream, const Real& real) {
  Core* waiting = recorder();
  uint64_t mark = waiting ? waiting->mark() : 0;
  Error status = real();
  if (waiting && status == kSuccess) waiting->waited(mark, stream);
  return status;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error cudaDeviceSynchronize() {
  Core* waiting = recorder();
  uint64_t mark = waiting ? waiting->mark() : 0;
  Error status = next_device_synchronize.call_or(kNotSupported);
  // Of several devices it has waited for one.
  if (waiting && status == kSuccess && runtime().device_count() == 1) waiting->waited(mark);
  return status;
}

Error cudaStreamSynchronize(Stream stream) {
  return wait_for(stream, [&] { return next_stream_synchronize.call_or(kNotSupported, stream); });
}

Error cudaStreamSynchronize_ptsz(Stream stream) {
  return wait_for(per_thread(stream), [&] { return next_stream_synchronize_ptsz.call_or(kNotSupported, stream); });
}

Error cudaStreamDestroy(Stream stream) {
  if (Core* core = recorder()) core->forget_stream(stream);
  return next_stream_destroy.call_or(kNotSupported, stream);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
