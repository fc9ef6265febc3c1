// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an application prefers of a stream: kept for it, and without effect here.
#include <cstring>
#include <mutex>
#include <span>

#include "hostgpu/cuda/cuda.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu::cuda {
namespace {

constexpr int kNormal = 0, kStreaming = 1, kPersisting = 2;  // cudaAccessProperty…
constexpr int kAutomatic = 1, kBlocking = 4;                 // the first and the last of cudaSyncPolicy…

std::span<std::byte> bytes_of(auto& value) { return std::as_writable_bytes(std::span(&value, 1)); }

// Empty: it is no attribute of a stream.
std::span<std::byte> place_of(StreamAttributes& all, int which) {
  switch (which) {
    case kStreamWindow:
      return bytes_of(all.window);
    case kStreamSynchronization:
      return bytes_of(all.synchronization);
    case kStreamPriority:
      return bytes_of(all.priority);
    case kStreamDomains:
      return bytes_of(all.domains);
    case kStreamDomain:
      return bytes_of(all.domain);
    default:
      return {};
  }
}

bool is_valid(const StreamAttributes& all) {
  const AccessWindow& window = all.window;
  return window.hit_ratio >= 0 && window.hit_ratio <= 1 && window.hit >= kNormal && window.hit <= kPersisting &&
         window.miss >= kNormal && window.miss <= kStreaming && all.synchronization >= kAutomatic &&
         all.synchronization <= kBlocking && (all.domain == 0 || all.domain == 1);
}

Error get(hipStream_t stream, int which, void* value) {
  StreamAttributes all;
  if (int status = mneme_hostgpu_get_attributes(stream, &all)) return status;
  std::span<std::byte> place = place_of(all, which);
  if (!value || place.empty()) return kInvalidValue;
  std::memcpy(value, place.data(), place.size());
  return 0;
}

Error set(hipStream_t stream, int which, const void* value) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  StreamAttributes all;
  if (int status = mneme_hostgpu_get_attributes(stream, &all)) return status;
  std::span<std::byte> place = place_of(all, which);
  if (!value || place.empty()) return kInvalidValue;
  std::memcpy(place.data(), value, place.size());
  return is_valid(all) ? mneme_hostgpu_set_attributes(stream, &all) : kInvalidValue;
}

Error copy(hipStream_t to, hipStream_t from) {
  StreamAttributes all;
  if (int status = mneme_hostgpu_get_attributes(from, &all)) return status;
  return mneme_hostgpu_set_attributes(to, &all);
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaStreamGetAttribute(hipStream_t stream, int which, void* value) {
  return get(stream_of(stream), which, value);
}
Error cudaStreamSetAttribute(hipStream_t stream, int which, const void* value) {
  return set(stream_of(stream), which, value);
}
Error cudaStreamCopyAttributes(hipStream_t to, hipStream_t from) { return copy(stream_of(to), stream_of(from)); }

}  // extern "C"
