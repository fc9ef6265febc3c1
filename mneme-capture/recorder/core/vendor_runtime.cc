// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/vendor_runtime.h"

#include <algorithm>

#include "recorder/runtime/quiet_stream.h"

namespace mneme::record {
namespace {

thread_local bool holds = false;

}  // namespace

bool VendorRuntime::adopt_host(void* address, uint64_t size) {
  const unsigned flags = kRegisterMapped | (devices_.several() ? kRegisterPortable : 0);
  return devices_.succeeds(devices_.register_host(address, size, flags));
}

void VendorRuntime::disown_host(void* address) { devices_.succeeds(devices_.unregister_host(address)); }

int VendorRuntime::device_of(void* stream) {
  // This one and what lies below are streams of the thread's device.
  const bool own = !devices_.several() || reinterpret_cast<uintptr_t>(stream) <= kPerThreadStream;
  const int device = own ? -1 : ask_device_of(stream);
  return device >= 0 ? device : this->device();
}

int VendorRuntime::on_devices(const std::function<int(int)>& wait) {
  const uint64_t devices = used_devices_ | uint64_t{1} << device();
  Status status = kSuccess;
  for (int device = 0; device < memory::kMostDevices && status == kSuccess; ++device) {
    if (!(devices >> device & 1)) continue;
    Entered there(devices_, device);
    status = wait(device);
  }
  return status;
}

int VendorRuntime::wait() {
  return on_devices([&](int) { return devices_.synchronize(); });
}

void VendorRuntime::hold() {
  changes_.lock();
  holds = true;
}

void VendorRuntime::let_go() {
  holds = false;
  changes_.unlock();
}

VendorRuntime::Changing::Changing(VendorRuntime& runtime)
    : runtime_(runtime), locked_(!holds && runtime.gpu_recorder()) {
  if (locked_) runtime_.changes_.lock_shared();
}

VendorRuntime::Changing::~Changing() {
  if (locked_) runtime_.changes_.unlock_shared();
}

bool VendorRuntime::notes_down(void* stream) {
  if (captures.load(std::memory_order_relaxed) == 0) return false;  // asking is not free
  int capturing = 0;
  return devices_.succeeds(devices_.is_capturing(stream, &capturing)) && capturing != 0;
}

std::string VendorRuntime::error_text(int error) {
  const char* text = devices_.error_string(error);
  return text ? text : std::string(name_) + " error " + std::to_string(error);
}

uint64_t VendorRuntime::stack_bytes(int device) {
  constexpr size_t kUsualStack = 1024;  // unless the application asks for another
  Entered there(devices_, device);
  size_t bytes = 0;
  return devices_.succeeds(devices_.get_limit(&bytes, kStackSize)) && bytes > kUsualStack ? bytes : 0;
}

// ---- variables, and the heap from which kernels allocate ----

void VendorRuntime::add_variable(void* code, const void* host_variable, const char* name) {
  std::lock_guard lock(mutex_);
  variables_[code][name] = host_variable;
}

std::vector<MemoryRange> VendorRuntime::remove_code(void* code) {
  std::lock_guard lock(mutex_);
  variables_.erase(code);
  std::erase_if(addresses_, [&](const auto& entry) { return std::get<0>(entry.first) == code; });
  std::vector<MemoryRange> gone;
  std::erase_if(found_, [&](const auto& entry) {
    if (entry.first.first == code) gone.push_back(entry.second);
    return entry.first.first == code;
  });
  return gone;
}

std::optional<MemoryRange> VendorRuntime::global(const ProgramCode& code, const std::string& name, int device) {
  Entered there(devices_, device);
  std::optional<MemoryRange> range = find_variable(code, name);
  if (!range) return std::nullopt;
  use(device);
  std::lock_guard lock(mutex_);
  found_[{code.handle, name}] = *range;
  return range;
}

std::optional<uint64_t> VendorRuntime::heap_limit(int device) {
  Entered there(devices_, device);
  size_t bytes = 0;
  return devices_.succeeds(devices_.get_limit(&bytes, kHeapSize)) ? std::optional(bytes) : std::nullopt;
}

bool VendorRuntime::zero(MemoryRange memory, int device) {
  return QuietStream(devices_, device).zero(memory.address, memory.size);
}

bool VendorRuntime::point_to_heap(const ProgramCode& code, const std::string& variable,
                                  const objects::HeapVariable& heap, int device) {
  QuietStream stream(devices_, device);
  std::optional<MemoryRange> found = find_variable(code, variable);
  return found && found->size == sizeof heap && stream.write(found->address, std::as_bytes(std::span(&heap, 1)));
}

// ---- what hooks do ----

namespace {

// The application may have waited for what was launched.
void collect_times(VendorRuntime& runtime) {
  Core* core = runtime.recorder();
  if (core && core->applier()) core->applier()->collect();
}

}  // namespace

Status change(VendorRuntime& runtime, const Real& real, ...) {
  VendorRuntime::Changing changing(runtime);
  const Status status = real();
  collect_times(runtime);
  return status;
}

void forget_code(VendorRuntime& runtime, void* code) {
  Core* core = runtime.recorder();
  if (!core) return;
  core->remove_fat_binary(code);
  for (const MemoryRange& variable : runtime.remove_code(code)) {
    core->remove_mapped(reinterpret_cast<void*>(variable.address), variable.size);
  }
}

void unload_variants(VendorRuntime& runtime, void* code) {
  if (Core* core = runtime.recorder(); core && core->applier()) core->applier()->unload(code);
}

Status launch(VendorRuntime& runtime, const LaunchRequest& request, const Real& real) {
  Core* core = runtime.recorder();
  // Nothing is launched, or a graph is noted down, whose kernels are recorded when it is launched.
  if (!core || !request.function || runtime.notes_down(request.stream)) return real();
  // A launch that has not ended when it should have is not recorded; to the application it is one like others.
  const Status status = core->launch(request, real);
  return status == kNotReady ? kSuccess : status;
}

LaunchRequest request_of(const void* function, Dimensions grid, Dimensions block, size_t shared, void* stream,
                         const Arguments& arguments) {
  LaunchRequest request;
  request.function = function;
  request.grid = {grid.x, grid.y, grid.z};
  request.block = {block.x, block.y, block.z};
  request.shared_bytes = static_cast<uint32_t>(shared);
  request.stream = stream;
  request.arguments = arguments;
  return request;
}

Status synchronize_device(VendorRuntime& runtime, const Real& real) {
  Core* waiting = runtime.recorder();
  const uint64_t mark = waiting ? waiting->mark() : 0;
  const Status status = real();
  // Of several devices it has waited for one.
  if (waiting && status == kSuccess && runtime.device_count() == 1) waiting->waited(mark);
  collect_times(runtime);
  return status;
}

Status synchronize_stream(VendorRuntime& runtime, const Real& real, Stream stream) {
  Core* waiting = runtime.recorder();
  const uint64_t mark = waiting ? waiting->mark() : 0;
  const Status status = real();
  if (waiting && status == kSuccess) waiting->waited(mark, stream);
  collect_times(runtime);
  return status;
}

Status destroy_stream(VendorRuntime& runtime, const Real& real, Stream stream) {
  if (Core* core = runtime.recorder()) core->forget_stream(stream);
  return real();
}

}  // namespace mneme::record
