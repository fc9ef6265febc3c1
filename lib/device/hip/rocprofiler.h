// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is used of AMD's profiling library, rocprofiler-sdk, declared by us; the library is looked for at run time.
//
// Read in ROCm/rocprofiler-sdk and, from 1.1 on, ROCm/rocm-systems (projects/rocprofiler-sdk), in
// source/include/rocprofiler-sdk: fwd.h (kinds, the header of records, what is said of a dispatch), buffer_tracing.h
// (the record), buffer.h, registration.h and rocprofiler.h (functions), as they were ahead of 0.5 and between 0.5 and
// 0.6 (ROCm 6.3 and 6.4: f1ccdb8, 067c2db), in 1.0 (ROCm 7.0: 881aceb, d2cd02c), and after 1.3.5 (rocm-systems
// 04098322, 00db669d). All that is here is the same in these; what differs is left out, or written down where it
// matters:
//   - rocprofiler_client_id_t has begun with its size since 1.0, so nobody looks into it here;
//   - correlation ids have three words instead of two since 1.0, but those of a dispatch in a buffer still have two, so
//     there are no callbacks here, which get the others by value;
//   - a record of a dispatch grows at its end.
// 0.4 (ROCm 6.2) was not found, and is not used.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mneme::device::hip {

using RocprofilerStatus = int;  // 0: all is well

struct RocprofilerHandle {  // rocprofiler_context_id_t, rocprofiler_buffer_id_t
  uint64_t handle;
};

inline constexpr uint32_t kTracingRecord = 1;                        // ROCPROFILER_BUFFER_CATEGORY_TRACING
inline constexpr int kTracingDispatches = 11;                        // ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH
inline constexpr const char* kNameOfDispatches = "KERNEL_DISPATCH";  // the library's name for that number
inline constexpr int kDispatchComplete = 2;                          // ROCPROFILER_KERNEL_DISPATCH_COMPLETE
inline constexpr int kLossless = 2;                                  // ROCPROFILER_BUFFER_POLICY_LOSSLESS

struct RecordHeader {  // rocprofiler_record_header_t
  uint32_t category, kind;
  void* payload;
};

// How rocprofiler_buffer_tracing_kernel_dispatch_record_t begins.
struct DispatchRecord {
  uint64_t size;  // of the record; bytes
  int kind, operation;
  uint64_t correlation[2];
  uint64_t thread;
  uint64_t start, end;  // nanoseconds, as rocprofiler_get_timestamp counts them
  // rocprofiler_kernel_dispatch_info_t
  uint64_t information_size;
  uint64_t agent, queue, kernel, dispatch;
  uint32_t private_bytes, group_bytes;
  uint32_t block[3];
  uint32_t threads[3];  // of the whole grid
};
static_assert(sizeof(DispatchRecord) == 128 && offsetof(DispatchRecord, start) == 40 &&
              offsetof(DispatchRecord, block) == 104);

struct ToolConfiguration {  // rocprofiler_tool_configure_result_t
  size_t size;
  int (*initialize)(void (*finalize)(...), void* data);  // what it returns is ignored
  void (*finalize)(void* data);                          // may be null
  void* data;
};
using ConfigureTool = ToolConfiguration* (*)(uint32_t version, const char* text, uint32_t priority, void* client);
using TakeRecords = void (*)(RocprofilerHandle context, RocprofilerHandle buffer, RecordHeader** headers, size_t count,
                             void* data, uint64_t dropped);

struct Rocprofiler {
  RocprofilerStatus (*rocprofiler_get_version)(uint32_t* major, uint32_t* minor, uint32_t* patch);
  RocprofilerStatus (*rocprofiler_get_timestamp)(uint64_t* nanoseconds);
  RocprofilerStatus (*rocprofiler_is_initialized)(int* status);  // 0: nobody has configured it
  RocprofilerStatus (*rocprofiler_query_buffer_tracing_kind_name)(int kind, const char** name, uint64_t* length);
  // Calls `configure`, and what that gives it, before it returns, and has the runtimes that are initialised later tell
  // this library of themselves (ROCPROFILER_REGISTER_FORCE_LOAD; ROCm/rocprofiler-register).
  RocprofilerStatus (*rocprofiler_force_configure)(ConfigureTool configure);
  // While it is being configured only.
  RocprofilerStatus (*rocprofiler_create_context)(RocprofilerHandle* context);
  RocprofilerStatus (*rocprofiler_create_buffer)(RocprofilerHandle context, size_t size, size_t watermark, int policy,
                                                 TakeRecords take, void* data, RocprofilerHandle* buffer);
  RocprofilerStatus (*rocprofiler_configure_buffer_tracing_service)(RocprofilerHandle context, int kind,
                                                                    const int* operations, size_t count,
                                                                    RocprofilerHandle buffer);
  RocprofilerStatus (*rocprofiler_start_context)(RocprofilerHandle context);
  // Hands over, on a thread of the library's and before it returns, what records there are; but a dispatch gets its
  // record from a thread that notices its end some time after whoever waits for the GPU does (queue.cpp; kineto#1564).
  RocprofilerStatus (*rocprofiler_flush_buffer)(RocprofilerHandle buffer);
};

}  // namespace mneme::device::hip
