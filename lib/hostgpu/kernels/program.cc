// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/long_names.h"
#include "hostgpu/compile/detached_command.h"
#include "hostgpu/compile/kernel_code.h"
#include "hostgpu/compile/loaded_record.h"
#include "hostgpu/errors.h"
#include "hostgpu/kernels/run_kernel.h"
#include "hostgpu/memory/device_heap.h"
#include "objects/function_address.h"

namespace mneme::hostgpu {

using codegen::host::GlobalSlot;

constexpr char kWhere[] = "the application";
constexpr std::chrono::seconds kLong{2};  // to wait for a launch without a word

Kernel::Kernel(const objects::EmbeddedKernel& embedded, std::string record)
    : record_(std::move(record)), embedded_(embedded) {
  if (!record_.empty()) embedded_ = objects::parse_embedded(bytes_of(record_), kWhere).front();
}

Kernel::~Kernel() = default;

bool Kernel::uses_heap() const { return bundle::uses(info(), bundle::kDeviceHeap); }

namespace {

// "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" → "gfx90a:xnack-"; "nvptx64-nvidia-cuda--sm_90" → "sm_90"
std::string processor_of(const std::string& target) {
  size_t at = std::min(target.find("gfx"), target.find("sm_"));
  return at == std::string::npos ? std::string() : target.substr(at);
}

}  // namespace

Program& Program::on(int device) {
  if (device == device_) return *this;
  std::lock_guard lock(mutex_);
  std::unique_ptr<Program>& other = others_[device];
  if (other) return *other;
  other = std::make_unique<Program>(image_, units_, device);
  for (const auto& [name, variable] : variables_) {
    other->variables_[name] = {.size = variable.size, .managed = variable.managed};
  }
  return *other;
}

void Program::add_variable(const std::string& name, uint64_t size, void* managed) {
  std::lock_guard lock(mutex_);
  Variable& variable = variables_[name];
  variable.size = managed ? sizeof(void*) : size;
  variable.managed = managed;
}

void Program::parse() {
  if (std::exchange(parsed_, true)) return;
  try {
    std::vector<objects::DeviceCode> ptx;
    images_ = objects::packed_code_of_image(image_, SIZE_MAX, kWhere, &ptx);
    for (objects::DeviceCode& image : images_) objects::image_of(image);
    if (!images_.empty()) target_ = processor_of(images_.front().target);
    // Built for several processors: the first that carries IR serves.
    for (const auto& image : images_) {
      add_kernels(carried_kernels(image.image, kWhere), image.target);
      if (!kernels_.empty()) break;
    }
    if (!kernels_.empty()) return;
    if (objects::DeviceCode linked = objects::linked_ptx(units_, kWhere); !linked.image.empty()) {
      ptx.push_back(std::move(linked));
    }
    if (objects::DeviceCode* newest = objects::newest_ptx(ptx)) {
      lifted_ = objects::lift_kernels(objects::image_of(*newest), {}, run_detached);
      add_kernels(bytes_of(lifted_.records), newest->target);
    }
  } catch (const Error& error) {
    damaged_ = true;
    say_once(error.what());
  }
}

void Program::add_kernels(Bytes records, const std::string& target) {
  for (auto& embedded : objects::parse_embedded(records, kWhere)) {
    std::string name = embedded.info.name;
    kernels_.try_emplace(name, std::make_unique<Kernel>(embedded, record_as_loaded(embedded)));
  }
  if (!kernels_.empty()) target_ = processor_of(target);
}

std::string Program::why_missing(const std::string& name) {
  std::lock_guard lock(mutex_);
  parse();
  auto refused = lifted_.refused.find(name);
  if (refused != lifted_.refused.end()) return "carries no IR, and its PTX cannot be read: " + refused->second;
  return "carries no IR: build the application with mneme-inject";
}

Bytes Program::lifted_records() {
  std::lock_guard lock(mutex_);
  parse();
  return bytes_of(lifted_.records);
}

Kernel* Program::kernel(const std::string& name) {
  std::lock_guard lock(mutex_);
  parse();
  auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : found->second.get();
}

bool Program::has_kernels() {
  std::lock_guard lock(mutex_);
  parse();
  return !kernels_.empty();
}

const std::string* Program::kernel_name(size_t index) {
  std::lock_guard lock(mutex_);
  parse();
  if (index >= kernels_.size()) return nullptr;
  return &std::next(kernels_.begin(), static_cast<ptrdiff_t>(index))->first;
}

std::string Program::target() {
  std::lock_guard lock(mutex_);
  parse();
  return target_;
}

const device::host::HostCode& Program::prepare(Kernel& kernel) {
  std::lock_guard lock(mutex_);
  parse();
  place_variables();
  if (!kernel.code()) {
    if (kernel.uses_heap()) make_device_heap();
    compile(kernel);
    bind(kernel);
  }
  return *kernel.code();
}

Kernel& Program::add_variant(Kernel& kernel, std::unique_ptr<device::host::HostCode> code, VariantFailed failed) {
  prepare(kernel);
  std::lock_guard lock(mutex_);
  auto variant = std::make_unique<Kernel>(kernel.embedded(), std::string());
  variant->code_ = std::move(code);
  variant->variant = std::make_unique<Variant>(kernel, std::move(failed));
  variant->allowed_shared = kernel.allowed_shared.load();
  bind(*variant);
  return *variants_.emplace_back(std::move(variant));
}

std::optional<Program::Variable> Program::find_variable(const std::string& name) {
  std::lock_guard lock(mutex_);
  parse();
  place_variables();
  if (!variables_.contains(name) && !add_unused(name)) return std::nullopt;
  place(variables_.at(name));  // it may have been registered late
  fill(name);
  return variables_.at(name);
}

Program::Variable Program::variable(const std::string& name) {
  auto found = find_variable(name);
  require(found.has_value(), hipErrorInvalidSymbol);
  return *found;
}

std::optional<Program::Variable> Program::peek(const std::string& name) {
  if (name == bundle::kDeviceHeap) {
    auto* heap = device_heap();
    return heap ? Variable{.size = heap->memory().size(), .address = heap->memory().data()} : Variable{};
  }
  std::lock_guard lock(mutex_);
  auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

// All at once and by name, so that they lie at the same addresses in every run, whatever is launched first.
void Program::place_variables() {
  if (placed_) return;
  for (const auto& [name, kernel] : kernels_) {
    for (const auto& global : kernel->info().globals) {
      if (global.name == bundle::kDeviceHeap) continue;
      Variable& variable = variables_[global.name];
      variable.size = std::max<uint64_t>(variable.size, global.size);
      variable.align = std::max<uint64_t>(variable.align, global.align);
    }
  }
  for (auto& [name, variable] : variables_) place(variable);
  placed_ = true;
}

// A variable of a module that no kernel refers to. False: there is none of that name.
bool Program::add_unused(const std::string& name) {
  for (const auto& image : images_) {
    auto found = objects::elf_variable(image.image, name, kWhere);
    if (!found) continue;
    Variable& variable = variables_[name];
    variable.size = found->size;
    place(variable);
    return true;
  }
  return false;
}

// Through hipMalloc as everybody calls it, so that in a recorded process the memory is the recorder's.
void Program::place(Variable& variable) {
  if (variable.address) return;
  uint64_t slack = variable.align > 256 ? variable.align : 0;
  void* memory = nullptr;
  OnDevice here(device_);
  require(hipMalloc(&memory, std::max<uint64_t>(variable.size, 1) + slack) == hipSuccess, hipErrorOutOfMemory);
  void* address = memory;
  if (slack) {
    address = reinterpret_cast<void*>((reinterpret_cast<uint64_t>(address) + slack - 1) / slack * slack);
  }
  std::memset(address, 0, variable.size);
  variable.memory = memory;
  variable.address = address;
}

void Program::release_variables() {
  std::lock_guard lock(mutex_);
  for (auto& [name, variable] : variables_) {
    if (variable.memory) static_cast<void>(hipFree(variable.memory));
  }
  variables_.clear();
  for (auto& [device, other] : others_) other->release_variables();
}

void Program::compile(Kernel& kernel) {
  if (kernel.code_) return;
  if (kernel.failed_ != hipSuccess) throw HipError(kernel.failed_);
  auto start = std::chrono::steady_clock::now();
  try {
    kernel.code_ = code_of(kernel.embedded());
  } catch (const Error& error) {
    kernel.failed_ = hipErrorInvalidKernelFile;
    throw HipError(kernel.failed_, error.what());
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (took >= kLong) {
    say(fmt::format("kernel '{}' took {:.1f} s to compile before its first launch",
                    cut_in_the_middle(kernel.info().demangled), took.count()));
  }
}

const device::host::HostCode& Kernel::code_for(bundle::Dim3 block) const {
  const device::host::HostCode& usual = *code();
  if (device::host::suits(usual, block)) return usual;
  std::call_once(other_made_, [&] {
    try {
      other_code_ = code_beside(usual, embedded_, {"fiber", checks_memory(), wanted_checks()});
    } catch (const Error& error) {
      throw HipError(hipErrorInvalidKernelFile, error.what());
    }
  });
  return *other_code_;
}

Program::Variable& Program::variable_of(const GlobalSlot& slot) {
  Variable& variable = variables_[slot.name];
  if (!variable.address) {
    variable.size = std::max(variable.size, slot.size);
    variable.align = std::max(variable.align, slot.align);
    place(variable);
  }
  if (variable.size < slot.size) {
    throw HipError(hipErrorInvalidKernelFile,
                   fmt::format("the variable '{}' has {} bytes in one kernel and {} in another of the same program",
                               slot.name, slot.size, variable.size));
  }
  return variable;
}

// Points the code at the variables, and fills those that no kernel before it knew.
void Program::bind(Kernel& kernel) {
  std::span<GlobalSlot> slots = kernel.code_->globals();
  std::vector<const GlobalSlot*> by_name;
  for (const GlobalSlot& slot : slots) by_name.push_back(&slot);
  std::sort(by_name.begin(), by_name.end(), [](auto* a, auto* b) { return std::strcmp(a->name, b->name) < 0; });
  for (const GlobalSlot* slot : by_name) variable_of(*slot);

  for (GlobalSlot& slot : slots) slot.address = variable_of(slot).address;
  for (const GlobalSlot& slot : slots) {
    Variable& variable = variable_of(slot);
    if (std::exchange(variable.filled, true)) continue;
    device::host::initialise_global(slot, slots);
    if (variable.managed) std::memcpy(variable.address, &variable.managed, sizeof variable.managed);
  }
  kernel.ready_.store(kernel.code_.get(), std::memory_order_release);
}

// Its first contents are known to the code of the kernels that refer to it.
void Program::fill(const std::string& name) {
  if (variables_.at(name).filled) return;
  for (auto& [kernel_name, kernel] : kernels_) {
    const auto& globals = kernel->info().globals;
    bool refers = std::any_of(globals.begin(), globals.end(), [&](const auto& g) { return g.name == name; });
    if (!refers || kernel->code()) continue;
    try {
      compile(*kernel);
      bind(*kernel);
    } catch (const HipError& error) {
      // Another kernel may do.
      if (*error.what()) say_once(error.what());
      continue;
    }
    if (variables_.at(name).filled) return;
  }
  Variable& variable = variables_.at(name);
  if (variable.managed) std::memcpy(variable.address, &variable.managed, sizeof variable.managed);
  if (!variable.managed) fill_from_image(name, variable);
  variable.filled = true;
}

// What a loader would put into a variable that holds a function's address; 0: it is no such variable.
uint64_t Program::address_held_by(const std::string& name) const {
  for (const auto& [kernel_name, kernel] : kernels_) {
    for (const std::string& function : kernel->info().functions) {
      if (objects::address_symbol(function) == name) return objects::recorded_or_made_address(kernel->info(), function);
    }
  }
  return 0;
}

// No kernel that runs refers to it: the host alone can tell what it holds.
void Program::fill_from_image(const std::string& name, Variable& variable) {
  if (uint64_t address = address_held_by(name); address != 0 && variable.size == sizeof address) {
    std::memcpy(variable.address, &address, sizeof address);
    return;
  }
  for (const auto& image : images_) {
    auto found = objects::elf_variable(image.image, name, kWhere);
    if (!found || found->first.empty()) continue;
    std::memcpy(variable.address, found->first.data(), std::min<uint64_t>(found->first.size(), variable.size));
    return;
  }
}

}  // namespace mneme::hostgpu
