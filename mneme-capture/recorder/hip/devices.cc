// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/devices.h"

#include "recorder/hip/runtime.h"

namespace mneme::record::hip {
namespace {

constinit const Devices::Calls calls{
    .get_count{kLibrary, "hipGetDeviceCount"},
    .get{kLibrary, "hipGetDevice"},
    .set{kLibrary, "hipSetDevice"},
    .get_last_error{kLibrary, "hipGetLastError"},
    .error_string{kLibrary, "hipGetErrorString"},
    .create_event{kLibrary, "hipEventCreateWithFlags"},
    .record_event{kLibrary, "hipEventRecord"},
    .synchronize_event{kLibrary, "hipEventSynchronize"},
    .copy_async{kLibrary, "hipMemcpyAsync"},
    .set_async{kLibrary, "hipMemsetAsync"},
    .create_stream{kLibrary, "hipStreamCreateWithFlags"},
    .destroy_stream{kLibrary, "hipStreamDestroy"},
    .synchronize_stream{kLibrary, "hipStreamSynchronize"},
    .exchange_capture_mode{kLibrary, "hipThreadExchangeStreamCaptureMode"},
    .get_limit{kLibrary, "hipDeviceGetLimit"},
};

}  // namespace

constinit const Devices devices{calls};

}  // namespace mneme::record::hip
