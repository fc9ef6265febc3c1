// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device variables as the host sees them.
#include "hostgpu/errors.h"
#include "hostgpu/kernels/registration.h"
#include "hostgpu/memory/copy.h"

namespace mneme::hostgpu {
namespace {

enum class How { kWait, kQueue };

hipError_t copy(const LinearCopyCall& call, hipStream_t stream, How how, bool per_thread) {
  return answer_on_device([&] {
    auto queue = queue_of(stream, per_thread);
    how == How::kWait ? copy_and_wait(queue, call) : copy_async(queue, call);
  });
}

hipError_t copy_to(const void* symbol, const void* from, size_t size, size_t offset, hipMemcpyKind kind,
                   hipStream_t stream = nullptr, How how = How::kWait, bool per_thread = false) {
  LinearCopyCall call{nullptr, from, size, kind, hipGraphNodeTypeMemcpyToSymbol};
  hipError_t bad = answer_on_device([&] {
    require(kind != hipMemcpyDeviceToHost && kind != hipMemcpyHostToHost, hipErrorInvalidMemcpyDirection);
    call.to = symbol_part(symbol, size, offset);
  });
  return bad == hipSuccess ? copy(call, stream, how, per_thread) : bad;
}

hipError_t copy_from(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind,
                     hipStream_t stream = nullptr, How how = How::kWait, bool per_thread = false) {
  LinearCopyCall call{to, nullptr, size, kind, hipGraphNodeTypeMemcpyFromSymbol};
  hipError_t bad = answer_on_device([&] {
    require(kind != hipMemcpyHostToDevice && kind != hipMemcpyHostToHost, hipErrorInvalidMemcpyDirection);
    call.from = symbol_part(symbol, size, offset);
  });
  return bad == hipSuccess ? copy(call, stream, how, per_thread) : bad;
}

}  // namespace

std::byte* symbol_part(const void* symbol, size_t size, size_t offset) {
  Symbol found = registered_symbol(symbol);
  require(offset <= found.size && size <= found.size - offset);
  return static_cast<std::byte*>(found.address) + offset;
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  return answer_on_device([&] {
    require(address);
    *address = registered_symbol(symbol).address;
  });
}

hipError_t hipGetSymbolSize(size_t* size, const void* symbol) {
  return answer_on_device([&] {
    require(size);
    *size = registered_symbol(symbol).size;
  });
}

hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset, hipMemcpyKind kind) {
  return copy_to(symbol, from, size, offset, kind);
}
hipError_t hipMemcpyToSymbol_spt(const void* symbol, const void* from, size_t size, size_t offset, hipMemcpyKind kind) {
  return copy_to(symbol, from, size, offset, kind, nullptr, How::kWait, true);
}
hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size, size_t offset, hipMemcpyKind kind,
                                  hipStream_t stream) {
  return copy_to(symbol, from, size, offset, kind, stream, How::kQueue);
}

hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind) {
  return copy_from(to, symbol, size, offset, kind);
}
hipError_t hipMemcpyFromSymbol_spt(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind) {
  return copy_from(to, symbol, size, offset, kind, nullptr, How::kWait, true);
}
hipError_t hipMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream) {
  return copy_from(to, symbol, size, offset, kind, stream, How::kQueue);
}

}  // extern "C"
