// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What programs call that are compiled for a default stream of each thread's (--default-stream per-thread): a stream
// that is null is the calling thread's own.
#include "hostgpu/cuda/cuda.h"

namespace mneme::hostgpu::cuda {
namespace {

// What was given to the thread's own stream has been done.
Error done(hipError_t status) {
  return error(status != hipSuccess ? status : hipStreamSynchronize(hipStreamPerThread));
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

// ---- launches ----

Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments);
Error cudaFreeAsync(void* pointer, hipStream_t stream);
Error cudaMallocAsync(void** pointer, size_t size, hipStream_t stream);
Error cudaMallocFromPoolAsync(void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream);
Error cudaStreamGetDevice(hipStream_t stream, int* device);
Error cudaStreamGetId(hipStream_t stream, unsigned long long* id);

Error cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                            hipStream_t stream) {
  return error(hipLaunchKernel(function, grid, block, arguments, shared, own_stream(stream)));
}
Error __cudaLaunchKernel_ptsz(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                              hipStream_t stream) {
  return cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared, stream);
}
Error cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                       hipStream_t stream) {
  return error(
      hipLaunchCooperativeKernel(function, grid, block, arguments, static_cast<unsigned>(shared), own_stream(stream)));
}
Error cudaLaunchKernelExC_ptsz(const LaunchConfig* config, const void* function, void** arguments) {
  if (!config) return kInvalidValue;
  LaunchConfig own_config = *config;
  own_config.stream = mneme::vendor::per_thread(config->stream);
  return cudaLaunchKernelExC(&own_config, function, arguments);
}
Error cudaLaunchHostFunc_ptsz(hipStream_t stream, hipHostFn_t function, void* data) {
  return error(hipLaunchHostFunc(own_stream(stream), function, data));
}
Error cudaGraphLaunch_ptsz(hipGraphExec_t graph, hipStream_t stream) {
  return error(hipGraphLaunch(graph, own_stream(stream)));
}

// ---- memory ----

Error cudaMallocAsync_ptsz(void** pointer, size_t size, hipStream_t stream) {
  return cudaMallocAsync(pointer, size, own_stream(stream));
}
Error cudaMallocFromPoolAsync_ptsz(void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream) {
  return cudaMallocFromPoolAsync(pointer, size, pool, own_stream(stream));
}
Error cudaFreeAsync_ptsz(void* pointer, hipStream_t stream) { return cudaFreeAsync(pointer, own_stream(stream)); }

Error cudaMemcpyAsync_ptsz(void* to, const void* from, size_t size, int kind, hipStream_t stream) {
  return error(hipMemcpyAsync(to, from, size, kind_of(kind), own_stream(stream)));
}
Error cudaMemcpy2DAsync_ptsz(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                             size_t height, int kind, hipStream_t stream) {
  return error(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind_of(kind), own_stream(stream)));
}
Error cudaMemcpy3DAsync_ptsz(const hipMemcpy3DParms* box, hipStream_t stream) {
  return error(hipMemcpy3DAsync(box, own_stream(stream)));
}
Error cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, size_t size, size_t offset, int kind,
                                   hipStream_t stream) {
  return error(hipMemcpyToSymbolAsync(symbol, from, size, offset, kind_of(kind), own_stream(stream)));
}
Error cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, size_t size, size_t offset, int kind,
                                     hipStream_t stream) {
  return error(hipMemcpyFromSymbolAsync(to, symbol, size, offset, kind_of(kind), own_stream(stream)));
}
Error cudaMemcpy_ptds(void* to, const void* from, size_t size, int kind) {
  return done(hipMemcpyAsync(to, from, size, kind_of(kind), hipStreamPerThread));
}
Error cudaMemcpy2D_ptds(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        int kind) {
  return done(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind_of(kind), hipStreamPerThread));
}
Error cudaMemcpy3D_ptds(const hipMemcpy3DParms* box) { return done(hipMemcpy3DAsync(box, hipStreamPerThread)); }
Error cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, size_t size, size_t offset, int kind) {
  return done(hipMemcpyToSymbolAsync(symbol, from, size, offset, kind_of(kind), hipStreamPerThread));
}
Error cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, size_t size, size_t offset, int kind) {
  return done(hipMemcpyFromSymbolAsync(to, symbol, size, offset, kind_of(kind), hipStreamPerThread));
}

Error cudaMemsetAsync_ptsz(void* to, int value, size_t size, hipStream_t stream) {
  return error(hipMemsetAsync(to, value, size, own_stream(stream)));
}
Error cudaMemset2DAsync_ptsz(void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  return error(hipMemset2DAsync(to, pitch, value, width, height, own_stream(stream)));
}
Error cudaMemset3DAsync_ptsz(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream) {
  return error(hipMemset3DAsync(to, value, extent, own_stream(stream)));
}
Error cudaMemset_ptds(void* to, int value, size_t size) {
  return done(hipMemsetAsync(to, value, size, hipStreamPerThread));
}
Error cudaMemset2D_ptds(void* to, size_t pitch, int value, size_t width, size_t height) {
  return done(hipMemset2DAsync(to, pitch, value, width, height, hipStreamPerThread));
}
Error cudaMemset3D_ptds(hipPitchedPtr to, int value, hipExtent extent) {
  return done(hipMemset3DAsync(to, value, extent, hipStreamPerThread));
}

// ---- streams and events ----

Error cudaStreamSynchronize_ptsz(hipStream_t stream) { return error(hipStreamSynchronize(own_stream(stream))); }
Error cudaStreamQuery_ptsz(hipStream_t stream) { return error(hipStreamQuery(own_stream(stream))); }
Error cudaStreamWaitEvent_ptsz(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return error(hipStreamWaitEvent(own_stream(stream), event, flags));
}
Error cudaStreamGetFlags_ptsz(hipStream_t stream, unsigned* flags) {
  return error(hipStreamGetFlags(own_stream(stream), flags));
}
Error cudaStreamGetDevice_ptsz(hipStream_t stream, int* device) {
  return cudaStreamGetDevice(own_stream(stream), device);
}
Error cudaStreamGetId_ptsz(hipStream_t stream, unsigned long long* id) {
  return cudaStreamGetId(own_stream(stream), id);
}
Error cudaStreamGetPriority_ptsz(hipStream_t stream, int* priority) {
  return error(hipStreamGetPriority(own_stream(stream), priority));
}
Error cudaStreamAddCallback_ptsz(hipStream_t stream, hipStreamCallback_t callback, void* data, unsigned flags) {
  return error(hipStreamAddCallback(own_stream(stream), callback, data, flags));
}
Error cudaStreamAttachMemAsync_ptsz(hipStream_t stream, void* pointer, size_t size, unsigned flags) {
  return error(hipStreamAttachMemAsync(own_stream(stream), pointer, size, flags));
}
Error cudaStreamBeginCapture_ptsz(hipStream_t stream, int mode) {
  return error(hipStreamBeginCapture(own_stream(stream), static_cast<hipStreamCaptureMode>(mode)));
}
Error cudaStreamEndCapture_ptsz(hipStream_t stream, hipGraph_t* graph) {
  return error(hipStreamEndCapture(own_stream(stream), graph));
}
Error cudaStreamIsCapturing_ptsz(hipStream_t stream, hipStreamCaptureStatus* status) {
  return error(hipStreamIsCapturing(own_stream(stream), status));
}
Error cudaEventRecord_ptsz(hipEvent_t event, hipStream_t stream) {
  return error(hipEventRecord(event, own_stream(stream)));
}
Error cudaEventRecordWithFlags_ptsz(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return flags ? kNotSupported : cudaEventRecord_ptsz(event, stream);
}

}  // extern "C"
