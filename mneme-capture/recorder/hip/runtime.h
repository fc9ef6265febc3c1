// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <deque>
#include <set>

#include "recorder/core/process.h"
#include "recorder/core/vendor_runtime.h"
#include "recorder/hip/devices.h"
#include "recorder/hip/virtual_memory.h"
#include "recorder/runtime/hook.h"

namespace mneme::record::hip {

// HIP, or its stand-in on a machine with no GPU, which adds functions of its own (lib/hostgpu/extensions.h).
class HipRuntime final : public VendorRuntime {
 public:
  HipRuntime() : VendorRuntime(devices, "HIP") {}

  MemoryRange reserve(uint64_t base, uint64_t size, int device) override;
  void unreserve(uint64_t base, uint64_t size) override;
  std::optional<Fd> back(uint64_t address, uint64_t size, int device) override;
  void unback(uint64_t address, uint64_t size) override;
  uint64_t taken_ahead(int device) override { return memory_.taken_ahead(device); }
  // AMD's device memory is out of the capture's reach, which has it fetched.
  bool fetches() override { return !is_stand_in(); }
  bool survives_fork() override { return is_stand_in(); }
  bool adopt_host(void* address, uint64_t size) override;
  bool works() override;
  int synchronize(std::chrono::milliseconds patience) override;
  int synchronize(void* stream, std::chrono::milliseconds patience) override;
  void hold() override;
  void let_go() override;
  bool is_capturing(void* stream) override;
  bool prepare(const void* host_function, int device) override;
  uint64_t stack_bytes(int device) override;
  Bytes lifted_records(void* program) override;
  std::optional<MemoryRange> global(const ProgramCode& code, const std::string& name, int device) override;
  std::optional<uint64_t> heap_limit(int device) override;
  std::string why_missing(const ProgramCode& code, const bundle::KernelInfo& kernel, const std::string& name) override;
  std::vector<uint64_t> function_addresses(const ProgramCode& code, const bundle::KernelInfo& kernel, int device,
                                           std::vector<std::string>& missing) override;
  TexturesOfLaunch textures(const bundle::KernelInfo& kernel, const std::string& arguments, int device,
                            std::vector<std::string>& missing) override;

  bool runs(const std::string& target, int device) override;
  std::unique_ptr<LoadedVariant> load_variant(const VariantCode& variant) override;

  bool is_stand_in() override;
  Core* recorder() override { return core(); }
  void start() override { record::start(*this, devices_); }
  // Whether the values of hipMemoryType are those of ROCm 6 and later. What the runtime says where it cannot be asked.
  Status is_of_6_or_later(bool& is);
  std::optional<int> device_of_memory(Handle handle) { return memory_.device_of(handle); }

  // What start-up code registers, and what the application loads itself; not with the stand-in.
  void add_reference(void* fat_binary, const char* name);  // to a texture or surface
  void add_fat_binary(void* fat_binary, const std::byte* image);
  // A managed variable: has the kernels' pointer of that name lead to `memory`, on all devices. False: it cannot be,
  // and the vendor has to register the variable.
  bool lead_to(void* fat_binary, const char* name, void* memory);
  void add_managed_variable(void* fat_binary, const char* name);  // that the vendor has
  void add_module(Module module);
  std::vector<MemoryRange> remove_code(void* handle) override;

 private:
  int ask_device_of(void* stream) override;
  std::optional<MemoryRange> find_variable(const ProgramCode& code, const std::string& name) override;
  const void* host_variable(const ProgramCode& code, const std::string& name);
  uint64_t function_address(const ProgramCode& code, const std::string& name, int device);

  VirtualMemory memory_;
  std::map<void*, std::set<std::string>> managed_;     // variables that the vendor has, by fat binary
  std::map<void*, std::set<std::string>> references_;  // to textures and surfaces, by fat binary
  std::map<void*, const std::byte*> images_;           // by fat binary
  std::deque<char> host_variables_;                    // of what start-up code has none for
  std::set<Module> modules_;
};

HipRuntime& runtime();

}  // namespace mneme::record::hip
