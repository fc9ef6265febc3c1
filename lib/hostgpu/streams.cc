// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/streams.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "hostgpu/errors.h"

struct ihipStream_t {
  unsigned flags = 0;
  int priority = 0;
};

namespace mneme::hostgpu {
namespace {

constexpr int kLowestPriority = 1, kHighestPriority = -1;  // as AMD's devices have them

struct Streams {
  std::shared_mutex mutex;
  std::unordered_set<hipStream_t> live;
};

// Never destroyed: applications destroy streams from destructors that run last.
Streams& streams() {
  static auto* all = new Streams;
  return *all;
}

bool is_implicit(hipStream_t stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }  // null, legacy, per thread

bool is_stream(hipStream_t stream) {
  if (is_implicit(stream)) return true;
  std::shared_lock lock(streams().mutex);
  return streams().live.contains(stream);
}

hipError_t create(hipStream_t* stream, unsigned flags, int priority) {
  return answer_on_device([&] {
    require(stream && (flags == hipStreamDefault || flags == hipStreamNonBlocking));
    auto* made = new ihipStream_t{flags, std::clamp(priority, kHighestPriority, kLowestPriority)};
    std::unique_lock lock(streams().mutex);
    streams().live.insert(made);
    *stream = made;
  });
}

// A call that has nothing to wait for.
hipError_t idle(hipStream_t stream) {
  if (hipError_t broken = device_state(); broken != hipSuccess) return note_error(broken);
  return check_stream(stream);
}

hipError_t flags_of(hipStream_t stream, unsigned* flags) {
  return answer([&] {
    require(flags);
    require(is_stream(stream), hipErrorInvalidHandle);
    *flags = is_implicit(stream) ? hipStreamDefault : stream->flags;
  });
}

hipError_t priority_of(hipStream_t stream, int* priority) {
  return answer([&] {
    require(priority);
    require(is_stream(stream), hipErrorInvalidHandle);
    *priority = is_implicit(stream) ? 0 : stream->priority;
  });
}

}  // namespace

hipError_t check_stream(hipStream_t stream) {
  return is_stream(stream) ? hipSuccess : note_error(hipErrorInvalidHandle);
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipStreamCreate(hipStream_t* stream) { return create(stream, hipStreamDefault, 0); }
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) { return create(stream, flags, 0); }
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}
hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t size, const uint32_t* mask) {
  return size && mask ? create(stream, hipStreamDefault, 0) : note_error(hipErrorInvalidValue);
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  return answer([&] {
    {
      std::unique_lock lock(streams().mutex);
      require(streams().live.erase(stream) == 1, hipErrorInvalidHandle);
    }
    delete stream;
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) { return idle(stream); }
hipError_t hipStreamSynchronize_spt(hipStream_t stream) { return idle(stream); }
hipError_t hipStreamQuery(hipStream_t stream) { return idle(stream); }
hipError_t hipStreamQuery_spt(hipStream_t stream) { return idle(stream); }

// What the event stands for has happened.
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  return event ? idle(stream) : note_error(hipErrorInvalidHandle);
}
hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned) {
  return event ? idle(stream) : note_error(hipErrorInvalidHandle);
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) { return flags_of(stream, flags); }
hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned* flags) { return flags_of(stream, flags); }
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) { return priority_of(stream, priority); }
hipError_t hipStreamGetPriority_spt(hipStream_t stream, int* priority) { return priority_of(stream, priority); }

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = kLowestPriority;
  if (greatest) *greatest = kHighestPriority;
  return hipSuccess;
}

int hipGetStreamDeviceId(hipStream_t) { return 0; }

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data, unsigned flags) {
  if (!callback || flags != 0) return note_error(hipErrorInvalidValue);
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  callback(stream, device_state(), data);
  return hipSuccess;
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  if (!function) return note_error(hipErrorInvalidValue);
  if (hipError_t bad = idle(stream); bad != hipSuccess) return bad;
  function(data);
  return hipSuccess;
}

hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer, size_t, unsigned) {
  return pointer ? idle(stream) : note_error(hipErrorInvalidValue);
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return answer([&] {
    require(status);
    require(is_stream(stream), hipErrorInvalidHandle);
    *status = hipStreamCaptureStatusNone;
  });
}

hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned) {
  if (!pointer) return note_error(hipErrorInvalidValue);
  if (hipError_t bad = idle(stream); bad != hipSuccess) return bad;
  __atomic_store_n(static_cast<uint32_t*>(pointer), value, __ATOMIC_RELEASE);
  return hipSuccess;
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned) {
  if (!pointer) return note_error(hipErrorInvalidValue);
  if (hipError_t bad = idle(stream); bad != hipSuccess) return bad;
  __atomic_store_n(static_cast<uint64_t*>(pointer), value, __ATOMIC_RELEASE);
  return hipSuccess;
}

hipError_t hipDeviceSynchronize() { return idle(nullptr); }
hipError_t hipCtxSynchronize() { return idle(nullptr); }

}  // extern "C"
