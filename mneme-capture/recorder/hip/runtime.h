// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "recorder/core/fair_shared_mutex.h"
#include "recorder/core/process.h"
#include "recorder/hip/api.h"
#include "recorder/hip/devices.h"
#include "recorder/hip/virtual_memory.h"
#include "recorder/runtime/fetches.h"
#include "recorder/runtime/next.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record::hip {

inline constexpr char kLibrary[] = "libamdhip64.so.5";

// HIP, or its stand-in on a machine with no GPU, which adds functions of its own (lib/hostgpu/extensions.h).
class HipRuntime final : public Runtime {
 public:
  MemoryRange reserve(uint64_t base, uint64_t size, int device) override;
  void unreserve(uint64_t base, uint64_t size) override;
  std::optional<Fd> back(uint64_t address, uint64_t size, int device) override;
  void unback(uint64_t address, uint64_t size) override;
  uint64_t taken_ahead(int device) override { return memory_.taken_ahead(device); }
  // AMD's device memory is out of the capture's reach, which has it fetched.
  bool fetches() override { return !is_stand_in(); }
  void fetch(const std::vector<Piece>& pieces, std::byte* to, bool) override { fetches_.begin(pieces, to); }
  void await_fetched() override { fetches_.await(); }
  bool survives_fork() override { return is_stand_in(); }
  bool adopt_host(void* address, uint64_t size) override;
  void disown_host(void* address) override;
  int device_count() override;
  int device() override;
  bool works() override;
  int device_of(void* stream) override;
  int synchronize(std::chrono::milliseconds patience) override;
  int synchronize(void* stream, std::chrono::milliseconds patience) override;
  int wait() override;
  void hold() override;
  void let_go() override;
  bool is_capturing(void* stream) override;
  std::string error_text(int error) override;
  bool prepare(const void* host_function, int device) override;
  uint64_t stack_bytes(int device) override;
  std::optional<MemoryRange> global(const ProgramCode& code, const std::string& name, int device) override;
  std::optional<uint64_t> heap_limit(int device) override;
  bool zero(MemoryRange memory, int device) override;
  bool point_to_heap(const ProgramCode& code, const std::string& variable, const objects::HeapVariable& heap,
                     int device) override;
  std::string why_missing(const ProgramCode& code, const bundle::KernelInfo& kernel, const std::string& name) override;
  std::vector<uint64_t> function_addresses(const ProgramCode& code, const bundle::KernelInfo& kernel, int device,
                                           std::vector<std::string>& missing) override;

  bool is_stand_in();
  // Whether the values of hipMemoryType are those of ROCm 6 and later. What the runtime says where it cannot be asked.
  Error is_of_6_or_later(bool& is);
  std::optional<int> device_of_memory(Handle handle) { return memory_.device_of(handle); }

  // What start-up code registers, and what the application loads itself; not with the stand-in.
  void add_variable(void* fat_binary, const void* host_variable, const char* name);
  void add_reference(void* fat_binary, const char* name);  // to a texture or surface
  void add_fat_binary(void* fat_binary, const std::byte* image);
  // A managed variable: has the kernels' pointer of that name lead to `memory`, on all devices. False: it cannot be,
  // and the vendor has to register the variable.
  bool lead_to(void* fat_binary, const char* name, void* memory);
  void add_managed_variable(void* fat_binary, const char* name);  // that the vendor has
  void add_module(Module module);
  // Returns where its variables lie that global() has found.
  std::vector<MemoryRange> remove_code(void* handle);

  // Around a call that changes memory: waits while this is held back by hold() in another thread.
  class Changing {
   public:
    explicit Changing(HipRuntime& runtime);
    ~Changing();
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    HipRuntime& runtime_;
    bool locked_;
  };

  // How many graphs the application is noting down from streams now.
  std::atomic<int> captures{0};
  // Whether what is given to this stream is only noted down for a graph.
  bool notes_down(void* stream);

 private:
  template <class Wait>
  int on_devices(const Wait& wait);  // the thread's and all with recorded memory, until one says an error
  std::optional<MemoryRange> find_variable(const ProgramCode& code, const std::string& name);
  const void* host_variable(const ProgramCode& code, const std::string& name);
  uint64_t function_address(const ProgramCode& code, const std::string& name, int device);

  VirtualMemory memory_;
  std::atomic<uint64_t> backed_devices_{0};  // a bit for each that has recorded memory
  Fetches fetches_{devices};
  std::mutex mutex_;                                               // of the maps below
  std::map<void*, std::map<std::string, const void*>> variables_;  // host variables, by fat binary and name
  std::map<void*, std::set<std::string>> managed_;                 // variables that the vendor has, by fat binary
  std::map<void*, std::set<std::string>> references_;              // to textures and surfaces, by fat binary
  std::map<void*, const std::byte*> images_;                       // by fat binary
  std::deque<char> host_variables_;                                // of what start-up code has none for
  std::set<Module> modules_;
  std::map<std::pair<void*, std::string>, MemoryRange> found_;
  std::map<std::tuple<void*, std::string, int>, uint64_t> functions_;  // addresses, by code, name and device
  FairSharedMutex changes_;
};

HipRuntime& runtime();

// Calls a function that changes memory.
template <class... Parameters, class... Arguments>
Error change(const Next<Error(Parameters...)>& next, Arguments... arguments) {
  HipRuntime::Changing changing(runtime());
  return next.call_or(kNotSupported, arguments...);
}

inline void start() { record::start(runtime()); }
// The recorder, for what gives out memory: a program may have that before any code is registered, by constructors that
// run earlier, or where a library that it loads later has the kernels.
inline Core* first_recorder() {
  start();
  return core();
}

}  // namespace mneme::record::hip
