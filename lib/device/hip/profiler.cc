// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/profiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"

namespace mneme::device::hip {
namespace {

using namespace std::chrono_literals;

constexpr size_t kBufferSize = 64 << 10;
constexpr size_t kWatermark = kBufferSize - (8 << 10);
constexpr auto kPatience = 1s;  // until a dispatch that has ended has a record
constexpr useconds_t kPause = 50;

Profiler* in_configuration = nullptr;  // the library's callbacks come with nothing of ours then

bool is_of(const DispatchRecord& record, const Launch& launch) {
  const uint32_t block[] = {launch.block.x, launch.block.y, launch.block.z};
  const uint32_t grid[] = {launch.grid.x, launch.grid.y, launch.grid.z};
  for (int i = 0; i < 3; ++i) {
    if (record.block[i] != block[i] || record.threads[i] != uint64_t{grid[i]} * block[i]) return false;
  }
  return true;
}

}  // namespace

void Profiler::set_up(void* library) {
  find_functions(library);
  check_library();
  in_configuration = this;
  const RocprofilerStatus status = functions_.rocprofiler_force_configure(configure);
  in_configuration = nullptr;
  if (status != 0) throw Error::of("it refuses its configuration (status {})", status);
  if (wrong_) throw Error(wrong_);
}

void Profiler::find_functions(void* library) {
#define MNEME_FIND(name)                                                                  \
  functions_.name = reinterpret_cast<decltype(functions_.name)>(::dlsym(library, #name)); \
  if (!functions_.name) throw Error("it has no " #name)
  MNEME_FIND(rocprofiler_get_version);
  MNEME_FIND(rocprofiler_get_timestamp);
  MNEME_FIND(rocprofiler_is_initialized);
  MNEME_FIND(rocprofiler_query_buffer_tracing_kind_name);
  MNEME_FIND(rocprofiler_force_configure);
  MNEME_FIND(rocprofiler_create_context);
  MNEME_FIND(rocprofiler_create_buffer);
  MNEME_FIND(rocprofiler_configure_buffer_tracing_service);
  MNEME_FIND(rocprofiler_start_context);
  MNEME_FIND(rocprofiler_flush_buffer);
#undef MNEME_FIND
}

// Its own rule is that what was written for a version works with later ones of the same first number.
void Profiler::check_library() const {
  uint32_t major = 0, minor = 0, patch = 0;
  if (functions_.rocprofiler_get_version(&major, &minor, &patch) != 0) throw Error("it does not say its version");
  const bool known = major == 1 || (major == 0 && (minor == 5 || minor == 6));
  if (!known) throw Error::of("its version {}.{}.{} is not known here", major, minor, patch);
  const char* name = nullptr;
  uint64_t length = 0;
  if (functions_.rocprofiler_query_buffer_tracing_kind_name(kTracingDispatches, &name, &length) != 0 || !name ||
      std::strcmp(name, kNameOfDispatches) != 0) {
    throw Error("its number for dispatches is not known here");
  }
  int status = 0;
  if (functions_.rocprofiler_is_initialized(&status) != 0 || status != 0) throw Error("another tool uses it");
}

ToolConfiguration* Profiler::configure(uint32_t, const char*, uint32_t, void*) {
  static ToolConfiguration configuration{sizeof configuration, initialize, nullptr, nullptr};
  return in_configuration ? &configuration : nullptr;
}

int Profiler::initialize(void (*)(...), void*) { return in_configuration ? in_configuration->make_context() : -1; }

RocprofilerStatus Profiler::make_context() {
  const Rocprofiler& f = functions_;
  wrong_ = "it makes no context";
  RocprofilerStatus status = f.rocprofiler_create_context(&context_);
  if (status) return status;
  wrong_ = "it makes no buffer";
  status = f.rocprofiler_create_buffer(context_, kBufferSize, kWatermark, kLossless, take, this, &buffer_);
  if (status) return status;
  wrong_ = "it does not record dispatches";
  status = f.rocprofiler_configure_buffer_tracing_service(context_, kTracingDispatches, nullptr, 0, buffer_);
  if (status) return status;
  wrong_ = "it does not start";
  status = f.rocprofiler_start_context(context_);
  if (status) return status;
  wrong_ = nullptr;
  return 0;
}

void Profiler::take(RocprofilerHandle, RocprofilerHandle, RecordHeader** headers, size_t count, void* data, uint64_t) {
  auto& self = *static_cast<Profiler*>(data);
  std::lock_guard lock(self.mutex_);
  for (size_t i = 0; self.listening_ && i < count; ++i) {
    const RecordHeader* header = headers[i];
    if (!header || header->category != kTracingRecord || header->kind != kTracingDispatches || !header->payload) {
      continue;
    }
    // Copied, because not every release aligns it. Of one that is too short nothing else is looked at.
    DispatchRecord record{};
    std::memcpy(&record.size, header->payload, sizeof record.size);
    if (record.size >= sizeof record) std::memcpy(&record, header->payload, sizeof record);
    self.records_.push_back(record);
  }
}

void Profiler::begin() {
  std::lock_guard lock(mutex_);
  records_.clear();
  listening_ = functions_.rocprofiler_get_timestamp(&begun_) == 0;
}

void Profiler::end() {
  std::lock_guard lock(mutex_);
  listening_ = false;
}

std::vector<DispatchRecord> Profiler::flushed() {
  if (functions_.rocprofiler_flush_buffer(buffer_) != 0) throw Error("it does not hand over its records");
  std::lock_guard lock(mutex_);
  return records_;
}

uint64_t Profiler::taken(const Launch* launch) {
  constexpr const char* kNonsense = "its record of a kernel makes no sense";
  if (!listening_) throw Error("it does not say what time it is");
  for (const auto until = std::chrono::steady_clock::now() + kPatience;;) {
    std::vector<DispatchRecord> records = flushed();
    if (std::ranges::any_of(records, [](const auto& record) {
          return record.size < sizeof record || record.kind != kTracingDispatches ||
                 record.operation != kDispatchComplete;
        })) {
      throw Error(kNonsense);
    }
    // Kernels of the runtime's own, and those that ended before.
    std::erase_if(records, [&](const auto& record) {
      return std::max(record.start, record.end) <= begun_ || (launch && !is_of(record, *launch));
    });
    if (launch && records.size() > 1) throw Error("it has more than one record of a kernel");
    if (!records.empty()) {
      end();
      if (records[0].start >= records[0].end) throw Error(kNonsense);
      return records[0].end - records[0].start;
    }
    if (std::chrono::steady_clock::now() > until) throw Error("it has no record of a kernel");
    ::usleep(kPause);
  }
}

}  // namespace mneme::device::hip
