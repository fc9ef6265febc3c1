// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What streams do besides kernels and copies: the application's functions, and single words of memory.
#include <chrono>
#include <thread>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/memory/written_memory.h"
#include "hostgpu/queue/streams.h"

namespace mneme::hostgpu {
namespace {

// At the process's end, work of other streams may still bring what a stream waits for.
constexpr auto kLastMoment = std::chrono::milliseconds(100);

template <typename T>
bool is_there(const T* pointer, T value, T mask, unsigned flags) {
  T seen = __atomic_load_n(pointer, __ATOMIC_ACQUIRE);
  switch (flags) {
    case hipStreamWaitValueGte:
      return (seen & mask) >= value;
    case hipStreamWaitValueEq:
      return (seen & mask) == value;
    case hipStreamWaitValueAnd:
      return ((seen & mask) & value) != 0;
    default:
      return static_cast<T>(~((seen & mask) | (value & mask))) != 0;
  }
}

// Busy at first, then ever less so.
template <typename T>
void wait_for_value(const T* pointer, T value, T mask, unsigned flags) {
  auto pause = std::chrono::microseconds(1);
  std::chrono::steady_clock::time_point end{};
  for (unsigned round = 0; !is_there(pointer, value, mask, flags); ++round) {
    if (is_ending()) {
      auto now = std::chrono::steady_clock::now();
      if (end == std::chrono::steady_clock::time_point{}) end = now + kLastMoment;
      if (now > end) return;
    }
    if (round < 100) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(200));
    }
  }
}

template <typename T>
hipError_t wait_value(hipStream_t stream, void* pointer, T value, unsigned flags, T mask) {
  return answer_on_device([&] {
    require(pointer && flags <= hipStreamWaitValueNor && reinterpret_cast<uintptr_t>(pointer) % sizeof(T) == 0);
    auto queue = queue_of(stream);
    check_legacy(queue);
    check_not_captured(queue);
    Operation operation;
    operation.own_thread = true;
    operation.work = make_work([=] { wait_for_value(static_cast<const T*>(pointer), value, mask, flags); });
    submit(queue, std::move(operation));
  });
}

template <typename T>
hipError_t write_value(hipStream_t stream, void* pointer, T value) {
  return answer_on_device([&] {
    require(pointer && reinterpret_cast<uintptr_t>(pointer) % sizeof(T) == 0);
    auto queue = queue_of(stream);
    check_legacy(queue);
    check_not_captured(queue);
    Operation operation;
    operation.work = make_work([=] {
      note_written(pointer, sizeof value);
      __atomic_store_n(static_cast<T*>(pointer), value, __ATOMIC_RELEASE);
    });
    submit(queue, std::move(operation), Promptness::kLight);
  });
}

}  // namespace

void queue_host_function(const std::shared_ptr<Queue>& queue, const HostCall& call) {
  Operation operation;
  operation.own_thread = true;
  operation.work = make_work([call] { call.function(call.data); });
  submit(queue, std::move(operation));
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

// Called whatever became of the device, and told.
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data, unsigned flags) {
  return answer([&] {
    require(callback && flags == 0);
    auto queue = queue_of(stream);
    check_legacy(queue);
    check_not_captured(queue);
    Operation operation;
    operation.own_thread = operation.always = true;
    const int device = queue->device;
    operation.work = make_work([=] { callback(stream, device_state(device), data); });
    submit(queue, std::move(operation));
  });
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  return answer_on_device([&] {
    require(function);
    put(queue_of(stream), HostCall{function, data});
  });
}

hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer, size_t, unsigned) {
  return answer_on_device([&] {
    require(pointer);
    queue_of(stream);
  });
}

hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned) {
  return write_value(stream, pointer, value);
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned) {
  return write_value(stream, pointer, value);
}
hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned flags, uint32_t mask) {
  return wait_value(stream, pointer, value, flags, mask);
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned flags, uint64_t mask) {
  return wait_value(stream, pointer, value, flags, mask);
}

}  // extern "C"
