// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rocprofiler-sdk that has records of the kernels that failing.cc dispatches, of 777 ns each, for
// hip_profiler_test.py. $MNEME_TEST_PROFILER says, in words with blanks between them, what it does otherwise:
//   version=1.0.0  what it says that it is
//   fails=NAME     the function NAME (without rocprofiler_) fails
//   dies=NAME, hangs=NAME  likewise
//   later=1        but not in a process that only tries it, whose messages nobody gets
//   is=HOW         records are as sound() below knows them, or: late, none, twice, others (of another kernel
//                  besides), again (of one that has ended before, too)
//   from=N         ... from the Nth launch of a recorded kernel in a process on; 0: and of others
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string word(const char* name) {
  const char* text = std::getenv("MNEME_TEST_PROFILER");
  const std::string all = text ? std::string(" ") + text + " " : "", begin = std::string(" ") + name + "=";
  const size_t at = all.find(begin);
  if (at == std::string::npos) return {};
  return all.substr(at + begin.size(), all.find(' ', at + 1) - at - begin.size());
}

bool is_tried() {
  struct stat messages{}, nowhere{};
  return fstat(STDERR_FILENO, &messages) == 0 && stat("/dev/null", &nowhere) == 0 &&
         messages.st_rdev == nowhere.st_rdev;
}

// 0: it goes on.
int trouble(const char* function) {
  if (!word("later").empty() && is_tried()) return 0;
  if (word("dies") == function) std::abort();
  while (word("hangs") == function) std::this_thread::sleep_for(std::chrono::seconds(1));
  return word("fails") == function ? 1 : 0;
}

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Written down here once more, for a test that could not fail otherwise: the vendor's layout, as of 1.0.
struct Id {
  uint64_t handle;
};
struct Header {
  uint32_t category, kind;
  void* payload;
};
struct Dim3 {
  uint32_t x, y, z;
};
struct Record {
  uint64_t size;
  int32_t kind;
  int32_t operation;
  uint64_t internal, external;
  uint64_t thread_id;
  uint64_t start_timestamp, end_timestamp;
  struct {
    uint64_t size;
    uint64_t agent_id, queue_id, kernel_id, dispatch_id;
    uint32_t private_segment_size, group_segment_size;
    Dim3 workgroup_size, grid_size;
    uint8_t reserved_padding[56];
  } dispatch_info;
};
static_assert(sizeof(Record) == 184);
using Callback = void (*)(Id, Id, Header**, size_t, void*, uint64_t);
struct Result {
  size_t size;
  int (*initialize)(void (*)(Id), void*);
  void (*finalize)(void*);
  void* data;
};

struct Made {
  Record record;
  uint64_t ready;  // when it may be handed over
};

std::mutex mutex;
std::vector<Made> made;
bool configuring = false, service = false, started = false;
Callback callback = nullptr;
void* callback_data = nullptr;
constexpr Id kContext{7001}, kBuffer{7002};
constexpr uint64_t kTaken = 777, kLate = 30'000'000, kLongAgo = 1'000'000'000;  // nanoseconds

void make(const std::string& how, Dim3 threads, Dim3 block) {
  Record record{sizeof(Record), 11, 2, 1, 0, 1, now() - kTaken, now(), {72, 1, 1, 1, 1, 0, 0, block, threads, {}}};
  record.end_timestamp = record.start_timestamp + kTaken;
  if (how == "backwards") std::swap(record.start_timestamp, record.end_timestamp);
  if (how == "instantaneous") record.start_timestamp = record.end_timestamp;
  if (how == "endless") record.end_timestamp += 3'000'000'000;
  if (how == "unset") record.start_timestamp = record.end_timestamp = 0;
  if (how == "short") record.size = 100;
  if (how == "grown") record.size = 192;
  if (how == "begun") record.operation = 1;
  if (how == "elsewhere") record.dispatch_info.grid_size.x++;
  made.push_back({record, now() + (how == "late" ? kLate : 0)});
}

}  // namespace

#define EXPORT(name) extern "C" __attribute__((visibility("default"))) int rocprofiler_##name
#define TROUBLE(name) \
  if (int status = trouble(#name)) return status

extern "C" __attribute__((visibility("default"))) void mneme_test_dispatched(bool recorded, const unsigned* blocks,
                                                                             const unsigned* block) {
  std::lock_guard lock(mutex);
  if (!started) return;
  static int launches = 0;
  if (recorded) launches++;
  const std::string from = word("from");
  const int first = from.empty() ? 0 : std::atoi(from.c_str());
  const std::string how = launches >= first && (recorded || first == 0) ? word("is") : "";
  if (how == "none") return;
  const Dim3 size{block[0], block[1], block[2]};
  const Dim3 threads{blocks[0] * block[0], blocks[1] * block[1], blocks[2] * block[2]};
  if (how == "others") make("", {64, 1, 1}, {64, 1, 1});
  make(how, threads, size);
  if (how == "twice") make(how, threads, size);
  if (how == "again") {
    make("", threads, size);
    made.back().record.start_timestamp -= kLongAgo;
    made.back().record.end_timestamp -= kLongAgo;
  }
}

EXPORT(get_version)(uint32_t* major, uint32_t* minor, uint32_t* patch) {
  TROUBLE(get_version);
  const std::string version = word("version");
  return std::sscanf(version.empty() ? "1.0.0" : version.c_str(), "%u.%u.%u", major, minor, patch) == 3 ? 0 : 1;
}
EXPORT(get_timestamp)(uint64_t* time) {
  TROUBLE(get_timestamp);
  *time = now();
  return 0;
}
EXPORT(is_initialized)(int* status) {
  TROUBLE(is_initialized);
  *status = word("initialized").empty() ? 0 : 1;
  return 0;
}
EXPORT(query_buffer_tracing_kind_name)(int kind, const char** name, uint64_t* length) {
  TROUBLE(query_buffer_tracing_kind_name);
  *name = kind == 11 && word("renumbered").empty() ? "KERNEL_DISPATCH" : "MEMORY_COPY";
  *length = std::strlen(*name);
  return 0;
}
EXPORT(create_context)(Id* context) {
  TROUBLE(create_context);
  if (!configuring || context->handle != 0) return 13;
  *context = kContext;
  return 0;
}
EXPORT(create_buffer)(Id context, size_t size, size_t watermark, int policy, Callback take, void* data, Id* buffer) {
  TROUBLE(create_buffer);
  if (!configuring || context.handle != kContext.handle || watermark > size || policy != 2 || !take) return 19;
  callback = take;
  callback_data = data;
  *buffer = kBuffer;
  return 0;
}
EXPORT(configure_buffer_tracing_service)(Id context, int kind, const int* operations, size_t count, Id buffer) {
  TROUBLE(configure_buffer_tracing_service);
  if (!configuring || context.handle != kContext.handle || buffer.handle != kBuffer.handle) return 19;
  service = kind == 11 && !operations && count == 0;
  return service ? 0 : 4;
}
EXPORT(start_context)(Id context) {
  TROUBLE(start_context);
  if (context.handle != kContext.handle || !service) return 2;
  started = true;
  return 0;
}
EXPORT(flush_buffer)(Id buffer) {
  TROUBLE(flush_buffer);
  if (buffer.handle != kBuffer.handle) return 3;
  std::vector<Made> ready;
  {
    std::lock_guard lock(mutex);
    const uint64_t time = now();
    std::erase_if(made, [&](const Made& one) {
      if (one.ready <= time) ready.push_back(one);
      return one.ready <= time;
    });
  }
  // Not aligned, as it may be.
  std::vector<char> bytes(ready.size() * (sizeof(Record) + 1) + 1);
  std::vector<Header> headers;
  for (const Made& one : ready) {
    char* at = &bytes[headers.size() * (sizeof(Record) + 1) + 1];
    std::memcpy(at, &one.record, sizeof(Record));
    headers.push_back({1, 11, at});
  }
  headers.push_back({1, 10, nullptr});  // a copy
  std::vector<Header*> pointers;
  for (Header& header : headers) pointers.push_back(&header);
  std::thread([&] { callback(kContext, kBuffer, pointers.data(), pointers.size(), callback_data, 0); }).join();
  return 0;
}
EXPORT(force_configure)(Result* (*configure)(uint32_t, const char*, uint32_t, void*)) {
  TROUBLE(force_configure);
  // Who looks into the client's id does it by a layout that changed.
  Result* result = configure(10000, "1.0.0", 0, reinterpret_cast<void*>(16));
  if (!result || result->size != sizeof(Result) || !result->initialize) return 0;
  configuring = true;
  result->initialize(nullptr, result->data);
  configuring = false;
  return 0;
}

namespace {
[[maybe_unused]] const int loaded = trouble("load");
}
