// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "recorder/core/fair_shared_mutex.h"
#include "recorder/core/process.h"
#include "recorder/cuda/api.h"
#include "recorder/cuda/blocks.h"
#include "recorder/cuda/devices.h"
#include "recorder/runtime/fetches.h"
#include "recorder/runtime/next.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record::cuda {

inline constexpr char kLibrary[] = "libcudart.so.13";
inline constexpr char kDriver[] = "libcuda.so.1";

// NVIDIA's runtime. Its device memory is out of the capture's reach, which has it fetched.
class CudaRuntime final : public Runtime {
 public:
  MemoryRange reserve(uint64_t base, uint64_t size, int device) override;
  void unreserve(uint64_t base, uint64_t size) override;
  std::optional<Fd> back(uint64_t address, uint64_t size, int device) override;
  void unback(uint64_t address, uint64_t size) override;
  uint64_t alignment() override { return 512; }  // as textures of linear memory need it
  bool fetches() override { return true; }
  void digests(const std::vector<Piece>& pieces, const TakeDigests& take) override;
  void fetch(const std::vector<Piece>& pieces, std::byte* to, bool adopted) override;
  void await_fetched() override { fetches_.await(); }
  bool survives_fork() override { return false; }
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
  bool is_capturing(void*) override { return captures.load(std::memory_order_relaxed) > 0; }
  std::string error_text(int error) override;
  bool prepare(const void* host_function, int device) override;
  uint64_t stack_bytes(int device) override;
  std::optional<MemoryRange> global(const ProgramCode& code, const std::string& name, int device) override;
  std::optional<uint64_t> heap_limit(int device) override;
  bool zero(MemoryRange memory, int device) override;
  bool point_to_heap(const ProgramCode& code, const std::string& variable, const objects::HeapVariable& heap,
                     int device) override;
  std::vector<uint64_t> function_addresses(const ProgramCode& code, const bundle::KernelInfo& kernel, int device,
                                           std::vector<std::string>& missing) override;
  TexturesOfLaunch textures(const bundle::KernelInfo& kernel, const std::string& arguments, int device,
                            std::vector<std::string>& missing) override;
  bool copy_array(const bundle::TextureArray& array, const std::vector<void*>& levels, uint64_t address) override;

  // What start-up code registers.
  void add_kernel(void* fat_binary, const void* host_function, const char* name);
  void add_variable(void* fat_binary, const void* host_variable, const char* name);
  // The one for the kernel of this name in the module that is behind some of them; null: there is none.
  const void* host_function(Module module, const std::string& name);
  // Returns where its variables lie that global() has found.
  std::vector<MemoryRange> remove_variables(void* fat_binary);

  // What the application loads itself: code, by the driver's handle, and functions of it. Its variables are asked for
  // by name.
  enum class Code { kModule, kLibrary };
  void add_code(void* handle, Code kind);
  bool has_code(void* handle);
  void add_function(const void* function);
  std::vector<MemoryRange> remove_code(void* handle);  // as remove_variables()

  // Around a call that changes memory: waits while this is held back by hold() in another thread.
  class Changing {
   public:
    explicit Changing(CudaRuntime& runtime);
    ~Changing();
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    CudaRuntime& runtime_;
    bool locked_;
  };

  // How many graphs the application is noting down from streams: meanwhile waiting for the device would spoil them.
  std::atomic<int> captures{0};
  // Whether any device code of the program has a variable of this name.
  bool has_variable(const std::string& name);
  // Whether what is given to this stream is only noted down.
  bool notes_down(void* stream);

 private:
  template <class Wait>
  int on_devices(const Wait& wait);  // the thread's and all with recorded memory, until one says an error
  Module module_behind(const void* host_function);
  std::optional<MemoryRange> find_variable(void* fat_binary, const std::string& name);
  std::optional<MemoryRange> find_in_code(void* fat_binary, const std::string& name);
  std::optional<uint64_t> function_address(void* fat_binary, const std::string& name, int device);

  std::atomic<uint64_t> used_devices_{0};  // a bit for each that has recorded memory
  Fetches fetches_{devices};
  std::mutex looking_;  // at blocks
  Digests digested_;    // its memory is used again: to touch new takes longer than to digest
  Blocks blocks_;
  std::mutex mutex_;                                               // of the maps
  std::map<void*, std::map<std::string, const void*>> variables_;  // host variables, by fat binary and name
  std::map<void*, std::map<std::string, const void*>> kernels_;    // host functions, by fat binary and name
  std::map<void*, Code> code_;                                     // by the driver's handle
  std::set<const void*> functions_;                                // of such code
  std::map<std::pair<void*, std::string>, MemoryRange> found_;
  std::map<std::tuple<void*, std::string, int>, uint64_t> addresses_;  // of functions, by code, name and device
  FairSharedMutex changes_;
};

CudaRuntime& runtime();

// Calls a function that changes memory.
template <class... Parameters, class... Arguments>
Error change(const Next<Error(Parameters...)>& next, Arguments... arguments) {
  CudaRuntime::Changing changing(runtime());
  return next.call_or(kNotSupported, arguments...);
}

// The recorder, if this process uses NVIDIA's runtime; null with the stand-in, which calls what is recorded as HIP's.
Core* recorder();
void start();
// The recorder, for what gives out memory: a program may have that before any code is registered, by constructors that
// run earlier, or where a library that it loads later has the kernels.
Core* first_recorder();

}  // namespace mneme::record::cuda
