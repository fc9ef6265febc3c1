// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/devices.h"

#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

constinit const Devices::Calls calls{
    .get_count{kLibrary, "cudaGetDeviceCount"},
    .get{kLibrary, "cudaGetDevice"},
    .set{kLibrary, "cudaSetDevice"},
    .get_last_error{kLibrary, "cudaGetLastError"},
    .error_string{kLibrary, "cudaGetErrorString"},
    .create_event{kLibrary, "cudaEventCreateWithFlags"},
    .record_event{kLibrary, "cudaEventRecord"},
    .synchronize_event{kLibrary, "cudaEventSynchronize"},
    .copy_async{kLibrary, "cudaMemcpyAsync"},
    .set_async{kLibrary, "cudaMemsetAsync"},
    .create_stream{kLibrary, "cudaStreamCreateWithFlags"},
    .destroy_stream{kLibrary, "cudaStreamDestroy"},
    .synchronize_stream{kLibrary, "cudaStreamSynchronize"},
    .exchange_capture_mode{kLibrary, "cudaThreadExchangeStreamCaptureMode"},
    .get_limit{kLibrary, "cudaDeviceGetLimit"},
};

}  // namespace

constinit const Devices devices{calls};

}  // namespace mneme::record::cuda
