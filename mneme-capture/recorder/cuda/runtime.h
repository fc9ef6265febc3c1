// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <set>

#include "recorder/core/process.h"
#include "recorder/core/vendor_runtime.h"
#include "recorder/cuda/blocks.h"
#include "recorder/cuda/devices.h"
#include "recorder/runtime/hook.h"

namespace mneme::record::cuda {

// NVIDIA's runtime. Its device memory is out of the capture's reach, which has it fetched.
class CudaRuntime final : public VendorRuntime {
 public:
  CudaRuntime() : VendorRuntime(devices, "CUDA") {}

  MemoryRange reserve(uint64_t base, uint64_t size, int device) override;
  void unreserve(uint64_t base, uint64_t size) override;
  std::optional<Fd> back(uint64_t address, uint64_t size, int device) override;
  void unback(uint64_t address, uint64_t size) override;
  uint64_t alignment() override { return 512; }  // as textures of linear memory need it
  bool fetches() override { return true; }
  void digests(const std::vector<Piece>& pieces, const TakeDigests& take) override;
  void fetch(const std::vector<Piece>& pieces, std::byte* to, bool adopted) override;
  bool adopt_host(void* address, uint64_t size) override;
  void disown_host(void* address) override;
  bool survives_fork() override { return false; }
  bool works() override;
  int synchronize(std::chrono::milliseconds patience) override;
  int synchronize(void* stream, std::chrono::milliseconds patience) override;
  bool prepare(const void* host_function, int device) override;
  std::string processor(int device) override;
  std::optional<objects::Parameters> parameters(const void* host_function, int device) override;
  bundle::Dim3 required_cluster(const void* host_function, int device) override;
  void attributes(const LaunchRequest& request, std::vector<std::string>& recorded,
                  std::vector<std::string>& missing) override;
  std::vector<uint64_t> function_addresses(const ProgramCode& code, const bundle::KernelInfo& kernel, int device,
                                           std::vector<std::string>& missing) override;
  std::string why_missing(const ProgramCode& code, const bundle::KernelInfo& kernel, const std::string& name) override;
  TexturesOfLaunch textures(const bundle::KernelInfo& kernel, const std::string& arguments, int device,
                            std::vector<std::string>& missing) override;
  bool copy_array(const bundle::TextureArray& array, const std::vector<void*>& levels, uint64_t address) override;

  bool runs(const std::string& target, int device) override;
  std::unique_ptr<LoadedVariant> load_variant(const VariantCode& variant) override;

  bool is_stand_in() override;
  // With the stand-in there is none: it calls what is recorded as HIP's.
  Core* recorder() override { return started_.load(std::memory_order_acquire) ? core() : nullptr; }
  void start() override;

  // As start-up code registers it, by its host function, or as it is asked for of loaded code, by the driver's handle.
  void add_kernel(void* fat_binary, const void* host_function, const char* name);
  // The one for the kernel of this name in the module that is behind some of them; null: there is none.
  const void* host_function(Module module, const std::string& name);

  // What the application loads itself: code, by the driver's handle, and functions of it. Its variables are asked for
  // by name.
  enum class Code { kModule, kLibrary };
  void add_code(void* handle, Code kind);
  bool has_code(void* handle);
  // The code itself, or the library that is this module in the thread's context; null: it is nobody's.
  void* code_of_module(void* module);
  void add_function(const void* function);
  std::vector<MemoryRange> remove_code(void* code) override;

  // Contexts that the application makes, beside its devices' primary ones; and a primary one that goes.
  void add_context(Context context);
  void remove_context(Context context);
  void forget_primary(int device);
  // The application has a device's primary context. After a reset it is a new one, in which nothing is registered.
  void note_primary(int device, Context context);
  void adopt_again();

  // Whether any device code of the program has a variable of this name.
  bool has_variable(const std::string& name);

 private:
  // Whether the driver gave out the handle, of loaded code.
  bool is_drivers(const void* function);
  Function function_behind(const void* kernel);
  Module module_behind(const void* kernel);
  int ask_device_of(void* stream) override;
  int on_devices(const std::function<int(int device)>& wait) override;
  // All that work may be under way in, with their devices, but for this one.
  std::map<Context, int> contexts_beside(Context current);
  std::optional<MemoryRange> find_variable(const ProgramCode& code, const std::string& name) override;
  std::optional<MemoryRange> find_in_code(void* fat_binary, const std::string& name);
  std::optional<uint64_t> function_address(void* fat_binary, const std::string& name, int device);

  std::mutex looking_;  // at blocks
  Digests digested_;    // its memory is used again: to touch new takes longer than to digest
  Blocks blocks_;
  std::map<void*, std::map<std::string, const void*>> kernels_;  // host functions and handles, by code and name
  std::map<void*, Code> code_;                                   // by the driver's handle
  std::map<void*, void*> libraries_;                             // by their modules, of contexts that were looked at
  std::set<const void*> functions_;                              // of such code
  std::map<void*, uint64_t> adopted_;                            // host memory
  std::map<int, unsigned long long> primary_ids_;                // of primary contexts, by device
  std::map<Context, int> contexts_;                              // the application's own, with their devices
  std::atomic<bool> started_{false};
};

CudaRuntime& runtime();

inline Core* recorder() { return runtime().recorder(); }

}  // namespace mneme::record::cuda
