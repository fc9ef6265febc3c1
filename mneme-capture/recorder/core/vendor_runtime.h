// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>

#include "recorder/core/core.h"
#include "recorder/core/fair_shared_mutex.h"
#include "recorder/runtime/devices.h"
#include "recorder/runtime/fetches.h"

namespace mneme::record {

// What HIP's runtime and CUDA's do alike. Hooks have it as their first argument.
class VendorRuntime : public Runtime {
 public:
  VendorRuntime(const Devices& devices, const char* name) : devices_(devices), name_(name) {}

  void fetch(const std::vector<Piece>& pieces, std::byte* to, bool) override { fetches_.begin(pieces, to); }
  void await_fetched() override { fetches_.await(); }
  bool adopt_host(void* address, uint64_t size) override;
  void disown_host(void* address) override;
  int device_count() override { return devices_.count(); }
  int device() override { return devices_.current(); }
  int device_of(void* stream) override;
  int wait() override;
  void hold() override;
  void let_go() override;
  bool is_capturing(void*) override { return captures.load(std::memory_order_relaxed) > 0; }
  std::string error_text(int error) override;
  uint64_t stack_bytes(int device) override;
  std::optional<MemoryRange> global(const ProgramCode& code, const std::string& name, int device) override;
  std::optional<uint64_t> heap_limit(int device) override;
  bool zero(MemoryRange memory, int device) override;
  bool point_to_heap(const ProgramCode& code, const std::string& variable, const objects::HeapVariable& heap,
                     int device) override;

  // Whether the library that plays the vendor's is in its place (lib/hostgpu).
  virtual bool is_stand_in() = 0;
  // The recorder, for hooks; null where this vendor's calls are not recorded.
  virtual Core* recorder() = 0;
  virtual void start() = 0;
  // For what gives out memory: a program may have that before any code is registered, by constructors that run earlier,
  // or where a library that it loads later has the kernels.
  Core* first_recorder() {
    start();
    return recorder();
  }
  Core* recording() {  // the same, while it records
    Core* core = first_recorder();
    return core && core->recording() ? core : nullptr;
  }
  // Of what the vendor's GPU does by itself and the stand-in by calls that are hooked.
  Core* gpu_recorder() {
    Core* core = recorder();
    return core && !is_stand_in() ? core : nullptr;
  }

  void add_variable(void* code, const void* host_variable, const char* name);  // as start-up code registers it
  // Of code that goes. Returns where its variables lie that global() has found.
  virtual std::vector<MemoryRange> remove_code(void* code);

  // Around a call that changes memory: waits while this is held back by hold() in another thread.
  class Changing {
   public:
    explicit Changing(VendorRuntime& runtime);
    ~Changing();
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    VendorRuntime& runtime_;
    bool locked_;
  };

  // How many graphs the application is noting down from streams: meanwhile waiting for the device would spoil them.
  std::atomic<int> captures{0};
  // Whether what is given to this stream is only noted down for a graph.
  bool notes_down(void* stream);

 protected:
  // Of a stream that is none of the runtime's own; less than 0: the runtime does not say.
  virtual int ask_device_of(void* stream) = 0;
  // Where the vendor has a variable.
  virtual std::optional<MemoryRange> find_variable(const ProgramCode& code, const std::string& name) = 0;
  bool uses(int device) const { return used_devices_ >> device & 1; }
  void use(int device) { used_devices_ |= uint64_t{1} << device; }
  // Does it on the thread's device and on all with recorded memory, until one says an error.
  virtual int on_devices(const std::function<int(int device)>& wait);

  std::mutex mutex_;                                                   // of the maps, here and in what derives
  std::map<void*, std::map<std::string, const void*>> variables_;      // host variables, by code and name
  std::map<std::tuple<void*, std::string, int>, uint64_t> addresses_;  // of functions, by code, name and device

  const Devices& devices_;
  Fetches fetches_{devices_};

 private:
  const char* name_;
  std::atomic<uint64_t> used_devices_{0};  // a bit for each that has recorded memory
  std::map<std::pair<void*, std::string>, MemoryRange> found_;
  FairSharedMutex changes_;
};

// ---- what hooks do, of which `real` makes the application's own call ----

// The call changes memory without a kernel: while another thread's launch is recorded it waits, else what it does would
// be taken for the kernel's. (The stand-in makes it wait itself.)
Status change(VendorRuntime& runtime, const Real& real, ...);
// It ends with device code being gone.
void forget_code(VendorRuntime& runtime, void* code);
// A module is gone, whose code was forgotten.
void unload_variants(VendorRuntime& runtime, void* code);
// It launches a kernel.
Status launch(VendorRuntime& runtime, const LaunchRequest& request, const Real& real);
LaunchRequest request_of(const void* function, Dimensions grid, Dimensions block, size_t shared, void* stream,
                         const Arguments& arguments);
// It waits: what was released in the order of streams is free then.
Status synchronize_device(VendorRuntime& runtime, const Real& real);
Status synchronize_stream(VendorRuntime& runtime, const Real& real, Stream stream);
Status destroy_stream(VendorRuntime& runtime, const Real& real, Stream stream);

}  // namespace mneme::record
