// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A registered fat binary or a loaded module: its kernels, as far as they carry IR, and its device variables. All
// kernels of one share its variables by name.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/host/launch.h"
#include "hostgpu/hip.h"
#include "objects/embedded.h"
#include "objects/lifted_kernels.h"

namespace mneme::hostgpu {

struct Variant;  // run_kernel.h
// A launch that the variant fails; `own_code`: the application's own ran in its place. The fault is empty where an
// earlier launch failed, so that the variant was not tried.
using VariantFailed = std::function<void(bool own_code, const std::string& fault)>;

class Kernel {
 public:
  // `record` (objects/embedded.h) replaces it, if there is one.
  Kernel(const objects::EmbeddedKernel& embedded, std::string record);
  ~Kernel();

  const objects::EmbeddedKernel& embedded() const { return embedded_; }
  const bundle::KernelInfo& info() const { return embedded_.info; }
  bool uses_heap() const;
  // Null until it is ready to run: compiled, its variables placed and filled.
  const device::host::HostCode* code() const { return ready_.load(std::memory_order_acquire); }

  // The same, or other code where that does not suit such blocks. Throws HipError.
  const device::host::HostCode& code_for(bundle::Dim3 block) const;

  // Bytes of dynamic shared memory that the application asked to be allowed; below 0: it did not.
  std::atomic<int> allowed_shared{-1};

  // Of code in the application's kernel's place; else null.
  std::unique_ptr<Variant> variant;

 private:
  friend class Program;
  std::string record_;
  objects::EmbeddedKernel embedded_;
  std::unique_ptr<device::host::HostCode> code_;
  std::atomic<const device::host::HostCode*> ready_{nullptr};
  mutable std::once_flag other_made_;
  mutable std::unique_ptr<device::host::HostCode> other_code_;  // for blocks of any shape
  hipError_t failed_ = hipSuccess;                              // it cannot be compiled
};

class Program {
 public:
  // `image` (objects::device_code_of_image) stays where it is.
  // `units`: the fat binaries that it was linked of, by the toolkit's linker, which knows no IR.
  explicit Program(const std::byte* image, std::vector<Bytes> units = {}, int device = 0)
      : image_(image), units_(std::move(units)), device_(device) {}

  // The same on another device: with variables of its own, and code that uses them. This one is on the first.
  Program& on(int device);

  // At registration. A managed variable is a pointer to `managed` in device code.
  void add_variable(const std::string& name, uint64_t size, void* managed = nullptr);

  // Null: there is no IR for a kernel of that name.
  Kernel* kernel(const std::string& name);
  // Of such a kernel, why that is: "carries no IR: …".
  std::string why_missing(const std::string& name);
  // The records of the kernels whose IR was made of PTX.
  Bytes lifted_records();
  // Makes it ready. Throws HipError, with the compiler's sentence the first time.
  const device::host::HostCode& prepare(Kernel& kernel);
  // The same kernel with other code, ready to run, with this program's variables. `failed` hears of launches that it
  // fails. Throws HipError where the code has a variable that does not fit.
  Kernel& add_variant(Kernel& kernel, std::unique_ptr<device::host::HostCode> code, VariantFailed failed);

  struct Variable {
    uint64_t size = 0;
    uint64_t align = 1;
    void* managed = nullptr;
    void* address = nullptr;  // null: not placed yet
    void* memory = nullptr;   // the allocation that holds it
    bool filled = false;      // it holds what it holds at the start
  };
  // Placed and filled. Throws HipError(hipErrorInvalidSymbol) for one that there is not.
  Variable variable(const std::string& name);
  std::optional<Variable> find_variable(const std::string& name);
  // As it is now; null: there is none.
  std::optional<Variable> peek(const std::string& name);

  const std::byte* fat_binary() const { return image_; }
  bool unregistered = false;  // what lies at that address now may be another's; under the registry's lock
  // Frees the variables' memory. Nothing of the program may be used any more.
  void release_variables();

  bool is_damaged() const { return damaged_; }
  // Whether any kernel carries IR.
  bool has_kernels();
  // Of those that do, in order; null: there are fewer.
  const std::string* kernel_name(size_t index);
  // "gfx90a"; empty when there is no code for a device.
  std::string target();

 private:
  // All with the lock held.
  void parse();
  void add_kernels(Bytes records, const std::string& target);
  void place_variables();
  void place(Variable& variable);
  bool add_unused(const std::string& name);
  void compile(Kernel& kernel);
  void bind(Kernel& kernel);
  void fill(const std::string& name);
  uint64_t address_held_by(const std::string& name) const;
  void fill_from_image(const std::string& name, Variable& variable);
  Variable& variable_of(const codegen::host::GlobalSlot& slot);

  const std::byte* image_;
  const std::vector<Bytes> units_;
  const int device_;
  std::mutex mutex_;
  bool parsed_ = false, placed_ = false;
  std::atomic<bool> damaged_{false};
  std::string target_;
  std::vector<objects::DeviceCode> images_;
  objects::LiftedKernels lifted_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<Kernel>> variants_;
  std::map<std::string, Variable> variables_;
  std::map<int, std::unique_ptr<Program>> others_;  // by device
};

// The processor of the first program registered, or empty.
std::string first_target();

}  // namespace mneme::hostgpu
