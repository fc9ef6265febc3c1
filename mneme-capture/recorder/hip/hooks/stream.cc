// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions by which an application waits for streams, as it finds them first: what was released in their order
// is free then.
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error()> next_device_synchronize(kLibrary, "hipDeviceSynchronize");
constinit Next<Error(Stream)> next_stream_synchronize(kLibrary, "hipStreamSynchronize");
constinit Next<Error(Stream)> next_stream_destroy(kLibrary, "hipStreamDestroy");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipDeviceSynchronize() {
  Core* waiting = core();
  uint64_t mark = waiting ? waiting->mark() : 0;
  Error status = next_device_synchronize.call_or(kNotSupported);
  // Of several devices it has waited for one.
  if (waiting && status == kSuccess && runtime().device_count() == 1) waiting->waited(mark);
  return status;
}

Error hipStreamSynchronize(Stream stream) {
  Core* waiting = core();
  uint64_t mark = waiting ? waiting->mark() : 0;
  Error status = next_stream_synchronize.call_or(kNotSupported, stream);
  if (waiting && status == kSuccess) waiting->waited(mark, stream);
  return status;
}

Error hipStreamDestroy(Stream stream) {
  if (Core* recorder = core()) recorder->forget_stream(stream);
  return next_stream_destroy.call_or(kNotSupported, stream);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
