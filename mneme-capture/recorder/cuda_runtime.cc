// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_runtime.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "memory/arena.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Result(Address*, size_t, size_t, Address, unsigned long long)> next_reserve(kDriver,
                                                                                           "cuMemAddressReserve");
constinit Next<Result(Address, size_t)> next_unreserve(kDriver, "cuMemAddressFree");
constinit Next<Result(Handle*, size_t, const MemoryProperties*, unsigned long long)> next_create(kDriver,
                                                                                                 "cuMemCreate");
constinit Next<Result(Handle)> next_release(kDriver, "cuMemRelease");
constinit Next<Result(Address, size_t, size_t, Handle, unsigned long long)> next_map(kDriver, "cuMemMap");
constinit Next<Result(Address, size_t)> next_unmap(kDriver, "cuMemUnmap");
constinit Next<Result(Address, size_t, const Access*, size_t)> next_set_access(kDriver, "cuMemSetAccess");
constinit Next<Error(void*)> next_free(kLibrary, "cudaFree");
constinit Next<Error(void*, size_t, unsigned)> next_register(kLibrary, "cudaHostRegister");
constinit Next<Error(void*)> next_unregister(kLibrary, "cudaHostUnregister");
constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy(kLibrary, "cudaMemcpyAsync");
constinit Next<Error()> next_device_synchronize(kLibrary, "cudaDeviceSynchronize");
constinit Next<Error(Stream)> next_stream_synchronize(kLibrary, "cudaStreamSynchronize");
constinit Next<Error(Stream, int*)> next_is_capturing(kLibrary, "cudaStreamIsCapturing");
constinit Next<Error(Stream, int*)> next_stream_device(kLibrary, "cudaStreamGetDevice");
constinit Next<Error(int*)> next_device_count(kLibrary, "cudaGetDeviceCount");
constinit Next<Error(int*)> next_get_device(kLibrary, "cudaGetDevice");
constinit Next<Error(int)> next_set_device(kLibrary, "cudaSetDevice");
constinit Next<Error(int*, int, int)> next_can_access(kLibrary, "cudaDeviceCanAccessPeer");
constinit Next<Error()> next_last_error(kLibrary, "cudaGetLastError");
constinit Next<const char*(Error)> next_error_string(kLibrary, "cudaGetErrorString");
constinit Next<Error(FunctionAttributes*, const void*)> next_attributes(kLibrary, "cudaFuncGetAttributes");
constinit Next<Error(void**, const void*)> next_symbol_address(kLibrary, "cudaGetSymbolAddress");
constinit Next<Error(size_t*, const void*)> next_symbol_size(kLibrary, "cudaGetSymbolSize");
std::atomic<bool> started{false};
thread_local bool holds = false;

int count_devices() {
  static const int count = [] {
    int found = 0;
    return next_device_count.call_or(kNotSupported, &found) == kSuccess ? std::max(found, 1) : 1;
  }();
  return count;
}

bool has_several_devices() { return count_devices() > 1; }

// Makes a device the thread's for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (!has_several_devices()) return;
    next_get_device.call_or(kNotSupported, &before_);
    if (before_ == device || next_set_device.call_or(kNotSupported, device) != kSuccess) before_ = -1;
  }
  ~OnDevice() {
    if (before_ >= 0) next_set_device.call_or(kNotSupported, before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = -1;
};

// The devices that may use each other's memory get access to all that is recorded.
std::vector<Access> access_for(int device) {
  std::vector<Access> list = {{{kLocationDevice, device}, kReadWrite}};
  for (int other = 0; other < count_devices(); ++other) {
    int can = 0;
    if (other == device || next_can_access.call_or(kNotSupported, &can, other, device) != kSuccess || !can) continue;
    list.push_back({{kLocationDevice, other}, kReadWrite});
  }
  return list;
}

// While it lives, the thread and those that it starts get no signals: they are the application's.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// To give a process memory takes longer than to copy into it, and one thread alone is slow at it.
void populate(std::byte* memory, uint64_t size) {
  constexpr uint64_t kThreads = 8, kPage = 4096;
  uint64_t slice = (size / kThreads + kPage) / kPage * kPage;
  NoSignals none;
  std::vector<std::thread> threads;
  for (uint64_t at = 0; at < size; at += slice) {
    threads.emplace_back(
        [=] { ::madvise(memory + at, std::min(slice, size - at), MADV_POPULATE_WRITE); });  // or later, one by one
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void CudaRuntime::reserve(uint64_t base, uint64_t size) {
  next_free.call_or(kNotSupported, nullptr);  // the driver has to be initialised
  Address got = 0;
  Result status = next_reserve.call_or(kNotSupported, &got, size, 0, base, 0);
  if (status == kNotSupported) throw mneme::Error("this NVIDIA driver lacks the virtual memory functions");
  if (status == kSuccess && got == base) return;
  if (status == kSuccess) next_unreserve.call_or(kNotSupported, got, size);
  throw mneme::Error::of(
      "the address range {:#x} to {:#x}, where device memory is recorded, is taken or too large in the application's "
      "process",
      base, base + size);
}

void CudaRuntime::unreserve(uint64_t base, uint64_t size) { next_unreserve.call_or(kNotSupported, base, size); }

std::optional<Fd> CudaRuntime::back(uint64_t address, uint64_t size, int device) {
  OnDevice there(device);
  next_free.call_or(kNotSupported, nullptr);  // makes its context
  MemoryProperties properties{};
  properties.type = kPinned;
  properties.location = {kLocationDevice, device};
  Handle handle = 0;
  if (next_create.call_or(kNotSupported, &handle, size, &properties, 0) != kSuccess) return std::nullopt;
  bool mapped = next_map.call_or(kNotSupported, address, size, 0, handle, 0) == kSuccess;
  next_release.call_or(kNotSupported, handle);  // a mapping keeps the memory
  const std::vector<Access> access = access_for(device);
  bool ready =
      mapped && next_set_access.call_or(kNotSupported, address, size, access.data(), access.size()) == kSuccess;
  std::optional<Fd> copy = ready ? make_copy({address, size}, device) : std::nullopt;
  if (mapped && !copy) next_unmap.call_or(kNotSupported, address, size);
  return copy;
}

void CudaRuntime::unback(uint64_t address, uint64_t size) {
  drop_copy(address);
  next_unmap.call_or(kNotSupported, address, size);
}

// ---- copies ----

std::optional<Fd> CudaRuntime::make_copy(MemoryRange range, int device) {
  Fd memory = zeroed_memory_file("mneme-device", range.size);
  void* mapped = ::mmap(nullptr, range.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  std::lock_guard lock(mutex_);
  copies_[range.address] = {range.size, static_cast<std::byte*>(mapped), device};
  return memory;
}

std::optional<Fd> CudaRuntime::copy(MemoryRange range, int device) { return make_copy(range, device); }

void CudaRuntime::drop_copy(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = copies_.find(address);
  if (found == copies_.end()) return;
  if (found->second.pinned) next_unregister.call_or(kNotSupported, found->second.mapped);
  ::munmap(found->second.mapped, found->second.size);
  copies_.erase(found);
}

std::map<uint64_t, CudaRuntime::Copy>::iterator CudaRuntime::copy_of(uint64_t address) {
  auto after = copies_.upper_bound(address);
  if (after == copies_.begin()) return copies_.end();
  auto found = std::prev(after);
  return address - found->first < found->second.size ? found : copies_.end();
}

void CudaRuntime::fetch(Copy& copy, uint64_t start, MemoryRange range) {
  constexpr uint64_t kWorthPinning = 1 << 20;
  if (!copy.pinned && copy.size >= kWorthPinning) {
    populate(copy.mapped, copy.size);
    copy.pinned = next_register.call_or(kNotSupported, copy.mapped, copy.size, kRegisterPortable) == kSuccess;
    if (!copy.pinned) next_last_error.call_or(kNotSupported);  // our attempt, not the application's error
  }
  OnDevice there(copy.device);
  Error status = next_copy.call_or(kNotSupported, copy.mapped + (range.address - start),
                                   reinterpret_cast<const void*>(range.address), range.size, kDeviceToHost, nullptr);
  if (status == kSuccess) return;
  throw mneme::Error::of("device memory at {:#x} cannot be read: {}", range.address, error_text(status));
}

void CudaRuntime::refresh(const std::vector<MemoryRange>& ranges) {
  constexpr uint64_t kNear = 64 << 10;  // what lies between is copied, too: that costs less than a call
  std::lock_guard lock(mutex_);
  uint64_t devices = 0;
  for (size_t i = 0; i < ranges.size();) {
    auto found = copy_of(ranges[i].address);
    if (found == copies_.end()) {
      throw mneme::Error::of("device memory at {:#x} has no copy", ranges[i].address);
    }
    auto& [start, copy] = *found;
    MemoryRange extent = ranges[i];
    // One may lie in two copies; then it is cut.
    uint64_t end = extent.address + extent.size;
    for (++i; i < ranges.size() && ranges[i].address >= end && ranges[i].address - end <= kNear &&
              ranges[i].address < start + copy.size;
         ++i) {
      end = ranges[i].address + ranges[i].size;
    }
    for (uint64_t at = extent.address; at < end;) {
      auto piece = copy_of(at);
      if (piece == copies_.end()) throw mneme::Error::of("device memory at {:#x} has no copy", at);
      uint64_t size = std::min(end, piece->first + piece->second.size) - at;
      fetch(piece->second, piece->first, {at, size});
      devices |= uint64_t{1} << piece->second.device;
      at += size;
    }
  }
  for (int device = 0; device < memory::kMostDevices; ++device) {
    if (!(devices >> device & 1)) continue;
    OnDevice there(device);
    if (Error status = next_stream_synchronize.call_or(kNotSupported, nullptr)) {
      throw mneme::Error("device memory cannot be read: " + error_text(status));
    }
  }
}

// ---- host memory, devices, streams ----

bool CudaRuntime::adopt_host(void* address, uint64_t size) {
  unsigned flags = kRegisterMapped | (has_several_devices() ? kRegisterPortable : 0);
  return next_register.call_or(kNotSupported, address, size, flags) == kSuccess;
}

void CudaRuntime::disown_host(void* address) { next_unregister.call_or(kNotSupported, address); }

int CudaRuntime::device_count() { return count_devices(); }

int CudaRuntime::device() {
  int device = 0;
  if (has_several_devices()) next_get_device.call_or(kNotSupported, &device);
  return device;
}

int CudaRuntime::device_of(void* stream) {
  constexpr uintptr_t kPerThread = 2;  // and what lies below: streams of the thread's device
  int device = -1;
  if (has_several_devices() && reinterpret_cast<uintptr_t>(stream) > kPerThread &&
      next_stream_device.call_or(kNotSupported, stream, &device) == kSuccess) {
    return device;
  }
  return this->device();
}

int CudaRuntime::synchronize() {
  uint64_t devices = uint64_t{1} << device();
  {
    std::lock_guard lock(mutex_);
    for (const auto& [address, copy] : copies_) devices |= uint64_t{1} << copy.device;
  }
  Error status = kSuccess;
  for (int device = 0; device < memory::kMostDevices && status == kSuccess; ++device) {
    if (!(devices >> device & 1)) continue;
    OnDevice there(device);
    status = next_device_synchronize.call_or(kNotSupported);
  }
  return status;
}

int CudaRuntime::synchronize(void* stream) { return next_stream_synchronize.call_or(kNotSupported, stream); }

void CudaRuntime::hold() {
  changes_.lock();
  holds = true;
}

void CudaRuntime::let_go() {
  holds = false;
  changes_.unlock();
}

CudaRuntime::Changing::Changing(CudaRuntime& runtime) : runtime_(runtime), locked_(recorder() && !holds) {
  if (locked_) runtime_.changes_.lock_shared();
}

CudaRuntime::Changing::~Changing() {
  if (locked_) runtime_.changes_.unlock_shared();
}

bool CudaRuntime::is_capturing(void* stream) {
  if (!captures_streams.load(std::memory_order_relaxed)) return false;
  int capturing = 0;
  if (next_is_capturing.call_or(kNotSupported, stream, &capturing) == kSuccess) return capturing != 0;
  next_last_error.call_or(kNotSupported);  // our question, not the application's error
  return false;
}

std::string CudaRuntime::error_text(int error) {
  const char* text = next_error_string.call_or(nullptr, error);
  return text ? text : "CUDA error " + std::to_string(error);
}

// ---- kernels and variables ----

bool CudaRuntime::prepare(const void* host_function, int device) {
  OnDevice there(device);
  FunctionAttributes attributes;
  return next_attributes.call_or(kNotSupported, &attributes, host_function) == kSuccess;
}

void CudaRuntime::add_variable(void* fat_binary, const void* host_variable, const char* name) {
  std::lock_guard lock(mutex_);
  variables_[fat_binary][name] = host_variable;
}

std::vector<MemoryRange> CudaRuntime::remove_variables(void* fat_binary) {
  std::lock_guard lock(mutex_);
  variables_.erase(fat_binary);
  std::vector<MemoryRange> gone;
  for (auto at = found_.begin(); at != found_.end();) {
    if (at->first.first != fat_binary) {
      ++at;
      continue;
    }
    gone.push_back(at->second);
    at = found_.erase(at);
  }
  return gone;
}

std::optional<MemoryRange> CudaRuntime::global(void* fat_binary, const std::string& name, int device) {
  const void* variable = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto binary = variables_.find(fat_binary);
    if (binary == variables_.end()) return std::nullopt;
    auto known = binary->second.find(name);
    if (known == binary->second.end()) return std::nullopt;
    variable = known->second;
  }
  OnDevice there(device);
  void* address = nullptr;
  size_t size = 0;
  if (next_symbol_address.call_or(kNotSupported, &address, variable) != kSuccess ||
      next_symbol_size.call_or(kNotSupported, &size, variable) != kSuccess) {
    next_last_error.call_or(kNotSupported);
    return std::nullopt;
  }
  MemoryRange range{reinterpret_cast<uint64_t>(address), size};
  std::lock_guard lock(mutex_);
  found_[{fat_binary, name}] = range;
  return range;
}

// ---- the process's ----

// Never destroyed: applications call CUDA from destructors that run last.
CudaRuntime& runtime() {
  static auto* only = new CudaRuntime;
  return *only;
}

Core* recorder() { return started.load(std::memory_order_acquire) ? core() : nullptr; }

// CUDA's stand-in is the one for HIP, called otherwise.
bool is_stand_in() {
  constexpr char kOnlyItHas[] = "mneme_hostgpu_settle";
  if (::dlsym(RTLD_NEXT, kOnlyItHas)) return true;
  void* library = ::dlopen("libamdhip64.so.5", RTLD_LAZY | RTLD_NOLOAD);
  return library && ::dlsym(library, kOnlyItHas);
}

void start() {
  if (started || is_stand_in()) return;
  record::start(runtime());
  started.store(true, std::memory_order_release);
}

}  // namespace mneme::record::cuda
