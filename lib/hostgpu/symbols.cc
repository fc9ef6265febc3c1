// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device variables as the host sees them.
#include "hostgpu/copy.h"
#include "hostgpu/errors.h"
#include "hostgpu/registration.h"
#include "hostgpu/streams.h"

namespace mneme::hostgpu {
namespace {

std::byte* part(const void* symbol, size_t size, size_t offset) {
  Symbol found = registered_symbol(symbol);
  require(offset <= found.size && size <= found.size - offset);
  return static_cast<std::byte*>(found.address) + offset;
}

hipError_t copy_to(const void* symbol, const void* from, size_t size, size_t offset, hipMemcpyKind kind,
                   hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    require(kind != hipMemcpyDeviceToHost && kind != hipMemcpyHostToHost, hipErrorInvalidMemcpyDirection);
    copy(part(symbol, size, offset), from, size, kind);
  });
}

hipError_t copy_from(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind,
                     hipStream_t stream = nullptr) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] {
    require(kind != hipMemcpyHostToDevice && kind != hipMemcpyHostToHost, hipErrorInvalidMemcpyDirection);
    copy(to, part(symbol, size, offset), size, kind);
  });
}

}  // namespace
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
  return copy_to(symbol, from, size, offset, kind);
}
hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size, size_t offset, hipMemcpyKind kind,
                                  hipStream_t stream) {
  return copy_to(symbol, from, size, offset, kind, stream);
}

hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind) {
  return copy_from(to, symbol, size, offset, kind);
}
hipError_t hipMemcpyFromSymbol_spt(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind) {
  return copy_from(to, symbol, size, offset, kind);
}
hipError_t hipMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream) {
  return copy_from(to, symbol, size, offset, kind, stream);
}

}  // extern "C"
