// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rocprofiler-sdk's records of dispatches, where that works: which is tried in a child process first, since what is
// wrong with it may end a process, or never return.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/hip/rocprofiler.h"
#include "device/hip/runtime.h"

namespace mneme::device::hip {

// To be left alone to the process's end once it is set up: the library keeps its address.
class Profiler {
 public:
  Profiler() = default;
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Configures `library` for this process; before the runtime is initialised. Throws Error with what is wrong.
  void set_up(void* library);
  // Records of what ends from now on are kept.
  void begin();
  // Nanoseconds that the one dispatch of these dimensions (of null: any dispatch) took that has ended since begin();
  // the GPU is idle. Throws Error if there is no record of it in time, or more than one, or one that makes no sense.
  uint64_t taken(const Launch* launch);
  void end();

 private:
  static ToolConfiguration* configure(uint32_t, const char*, uint32_t, void*);
  static int initialize(void (*)(...), void*);
  static void take(RocprofilerHandle, RocprofilerHandle, RecordHeader** headers, size_t count, void* data, uint64_t);
  void find_functions(void* library);
  void check_library() const;
  RocprofilerStatus make_context();
  std::vector<DispatchRecord> flushed();

  Rocprofiler functions_{};
  RocprofilerHandle context_{}, buffer_{};
  const char* wrong_ = "it does not ask for its configuration";  // in the end; null: nothing
  uint64_t begun_ = 0;
  std::mutex mutex_;
  bool listening_ = false;
  std::vector<DispatchRecord> records_;
};

struct ProfilerChoice {
  Profiler* profiler = nullptr;
  std::string why_not;  // a sentence; empty where there is a profiler, or is to be none
};
// Of this process; the first call decides, with functions of `runtime`, which is not initialised by then.
const ProfilerChoice& choose_profiler(const Runtime& runtime);

// The library of the runtime's release, and whoever asks for it by its variable finds that one; null: there is none.
void* open_profiler(const Runtime& runtime);

// What is wrong with it, as a child process sees that has a kernel dispatched; empty: nothing. nullopt: there is none.
std::optional<std::string> try_profiler(const Runtime& runtime);

}  // namespace mneme::device::hip
