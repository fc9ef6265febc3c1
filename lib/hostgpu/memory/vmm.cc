// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The virtual memory API: physical memory is a file in memory, a mapping is mmap.
#include "hostgpu/memory/vmm.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"
#include "hostgpu/memory/memory.h"
#include "memory/private_memory.h"

namespace mneme::hostgpu {
namespace {

constexpr uint64_t kGranularity = uint64_t{2} << 20;
// Our descriptors keep out of the low numbers, which applications count on or close one and all.
constexpr int kFirstDescriptor = 700;

// Lives until it is released and no longer mapped.
struct Physical {
  Fd file;
  uint64_t size = 0;
  hipMemAllocationProp properties{};
  bool counted = false;
  bool parents = false;  // of the process that forked this one: what is mapped of it is a copy
  memory::FileIdentity identity;

  ~Physical() {
    if (!identity.is(file.get())) file.release();  // the application closed it, and the number may be in use
    if (counted) unuse_memory(size, properties.location.id);
  }
};

struct Mapped {
  uint64_t size = 0;
  std::shared_ptr<Physical> memory;
  hipMemAccessFlags access = hipMemAccessFlagsProtNone;
  uint64_t offset = 0;
  bool shared = true;  // not a copy
};

struct State {
  HeldOverForks<std::mutex> mutex;
  std::map<uint64_t, uint64_t> reservations;                               // address → size
  std::map<uint64_t, Mapped> mappings;                                     // by address
  std::map<Physical*, std::pair<std::shared_ptr<Physical>, int>> handles;  // with their reference counts
};

State& state();

int protection_of(hipMemAccessFlags access) {
  if (access == hipMemAccessFlagsProtReadWrite) return PROT_READ | PROT_WRITE;
  return access & hipMemAccessFlagsProtRead ? PROT_READ : PROT_NONE;
}

// As all memory of the parent's, so is this: what either writes, the other does not see.
void after_fork_in_child() {
  for (auto& [memory, handle] : state().handles) memory->parents = true;
  for (auto& [address, mapped] : state().mappings) {
    Physical& memory = *mapped.memory;
    memory.parents = true;
    if (!std::exchange(mapped.shared, false)) continue;
    int file = memory.identity.is(memory.file.get()) ? memory.file.get() : -1;
    memory::make_private(reinterpret_cast<void*>(address), mapped.size, protection_of(mapped.access), file,
                         static_cast<off_t>(mapped.offset));
  }
}

// Never destroyed: memory is unmapped from destructors that run last.
State& state() {
  static auto* all = [] {
    auto* made = new State;
    ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
    return made;
  }();
  return *all;
}

// At once, since a recorder locks what is its own first, and unlocks it last.
[[gnu::constructor]] void watch_forks() { state(); }

// With the lock held.
std::shared_ptr<Physical> physical(hipMemGenericAllocationHandle_t handle) {
  auto found = state().handles.find(reinterpret_cast<Physical*>(handle));
  require(found != state().handles.end());
  return found->second.first;
}

hipMemGenericAllocationHandle_t add_handle(const std::shared_ptr<Physical>& memory) {
  auto& entry = state().handles[memory.get()];
  entry.first = memory;
  ++entry.second;
  return reinterpret_cast<hipMemGenericAllocationHandle_t>(memory.get());
}

// The entry of `pieces` that contains the address.
template <typename Pieces>
auto containing(Pieces& pieces, uint64_t address) {
  auto after = pieces.upper_bound(address);
  return after == pieces.begin() ? pieces.end() : std::prev(after);
}

bool is_reserved(uint64_t address, uint64_t size) {
  auto found = containing(state().reservations, address);
  return found != state().reservations.end() && address - found->first <= found->second &&
         size <= found->second - (address - found->first);
}

// The mappings that make up [address, address + size) exactly; throws HipError when none do.
std::pair<std::map<uint64_t, Mapped>::iterator, std::map<uint64_t, Mapped>::iterator> mappings_of(uint64_t address,
                                                                                                  uint64_t size) {
  auto first = state().mappings.find(address), last = first;
  uint64_t end = address;
  for (; last != state().mappings.end() && last->first == end && end < address + size; ++last) {
    end += last->second.size;
  }
  require(first != state().mappings.end() && end == address + size);
  return {first, last};
}

void check_properties(const hipMemAllocationProp* p) {
  require(p && p->type == hipMemAllocationTypePinned && p->location.type == hipMemLocationTypeDevice);
  require(p->location.id >= 0 && p->location.id < device_count());
  require(
      p->requestedHandleType == hipMemHandleTypeNone || p->requestedHandleType == hipMemHandleTypePosixFileDescriptor,
      hipErrorNotSupported);
}

Fd physical_memory(uint64_t size) try {
  Fd file = zeroed_memory_file("mneme-device-memory", size);
  int high = ::fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstDescriptor);
  return high < 0 ? std::move(file) : Fd(high);
} catch (const mneme::Error&) {
  throw HipError(hipErrorOutOfMemory);
}

void unmap(uint64_t address, uint64_t size) {
  ::mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
}

}  // namespace

namespace {

Mapping as_mapping(const std::pair<const uint64_t, Mapped>& at) {
  const auto& [address, mapped] = at;
  return {address, mapped.size, mapped.memory->properties.location.id, mapped.access == hipMemAccessFlagsProtReadWrite};
}

}  // namespace

std::optional<Mapping> find_mapping(const void* pointer) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::lock_guard lock(state().mutex);
  auto found = containing(state().mappings, address);
  if (found == state().mappings.end() || address - found->first >= found->second.size) return std::nullopt;
  return as_mapping(*found);
}

std::vector<Mapping> all_mappings() {
  std::lock_guard lock(state().mutex);
  std::vector<Mapping> all;
  for (const auto& mapped : state().mappings) all.push_back(as_mapping(mapped));
  return all;
}

}  // namespace mneme::hostgpu

using mneme::Fd;
namespace memory = mneme::memory;
using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMemGetAllocationGranularity(size_t* granularity, const hipMemAllocationProp* properties,
                                          hipMemAllocationGranularity_flags) {
  return answer([&] {
    require(granularity);
    check_properties(properties);
    *granularity = kGranularity;
  });
}

// Unlike the vendors', an address that is asked for is given or the call fails.
hipError_t hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void* wanted, unsigned long long flags) {
  return answer([&] {
    require(pointer && size && size % kGranularity == 0 && flags == 0);
    require((alignment & (alignment - 1)) == 0 && size + std::max<uint64_t>(alignment, kGranularity) > size);
    uint64_t align = std::max<uint64_t>(alignment, kGranularity);
    auto hint = reinterpret_cast<uint64_t>(wanted);
    require(hint % align == 0);
    constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint64_t address = hint;
    if (hint) {
      void* got = ::mmap(wanted, size, PROT_NONE, kHow | MAP_FIXED_NOREPLACE, -1, 0);
      if (got != wanted) {
        if (got != MAP_FAILED) ::munmap(got, size);
        throw HipError(hipErrorOutOfMemory);
      }
    } else {
      void* got = ::mmap(nullptr, size + align, PROT_NONE, kHow, -1, 0);
      require(got != MAP_FAILED, hipErrorOutOfMemory);
      auto start = reinterpret_cast<uint64_t>(got);
      address = (start + align - 1) / align * align;
      if (address > start) ::munmap(got, address - start);
      ::munmap(reinterpret_cast<void*>(address + size), start + align - address);
    }
    std::lock_guard lock(state().mutex);
    state().reservations.emplace(address, size);
    *pointer = reinterpret_cast<void*>(address);
  });
}

hipError_t hipMemAddressFree(void* pointer, size_t size) {
  return answer([&] {
    auto address = reinterpret_cast<uint64_t>(pointer);
    std::lock_guard lock(state().mutex);
    auto found = state().reservations.find(address);
    require(found != state().reservations.end() && found->second == size);
    auto mapped = state().mappings.lower_bound(address);
    require(mapped == state().mappings.end() || mapped->first >= address + size);
    ::munmap(pointer, size);
    state().reservations.erase(found);
  });
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size, const hipMemAllocationProp* properties,
                        unsigned long long flags) {
  return answer([&] {
    require(handle && size && size % kGranularity == 0 && flags == 0);
    check_properties(properties);
    auto memory = std::make_shared<Physical>();
    use_memory(size, properties->location.id);
    memory->counted = true;
    memory->size = size;
    memory->properties = *properties;
    memory->file = physical_memory(size);
    memory->identity = memory::FileIdentity(memory->file.get());
    std::lock_guard lock(state().mutex);
    *handle = add_handle(memory);
  });
}

hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
  return answer([&] {
    std::lock_guard lock(state().mutex);
    auto memory = physical(handle);  // outlives the entry
    auto found = state().handles.find(memory.get());
    if (--found->second.second == 0) state().handles.erase(found);
  });
}

hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t* handle, void* pointer) {
  return answer([&] {
    require(handle);
    auto address = reinterpret_cast<uint64_t>(pointer);
    std::lock_guard lock(state().mutex);
    auto found = containing(state().mappings, address);
    require(found != state().mappings.end() && address - found->first < found->second.size);
    *handle = add_handle(found->second.memory);
  });
}

hipError_t hipMemMap(void* pointer, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle,
                     unsigned long long flags) {
  return answer([&] {
    auto address = reinterpret_cast<uint64_t>(pointer);
    require(size && size % kGranularity == 0 && address % kGranularity == 0 && offset % kGranularity == 0 && !flags);
    std::lock_guard lock(state().mutex);
    auto memory = physical(handle);
    require(offset <= memory->size && size <= memory->size - offset);
    require(is_reserved(address, size));
    auto next = state().mappings.lower_bound(address);
    require(next == state().mappings.end() || next->first >= address + size);
    auto before = containing(state().mappings, address);
    require(before == state().mappings.end() || before->first + before->second.size <= address);
    int sharing = memory->parents ? MAP_PRIVATE : MAP_SHARED;
    void* got = ::mmap(pointer, size, PROT_NONE, sharing | MAP_FIXED | MAP_NORESERVE, memory->file.get(),
                       static_cast<off_t>(offset));
    require(got == pointer, hipErrorMapFailed);
    state().mappings.emplace(address, Mapped{size, memory, hipMemAccessFlagsProtNone, offset, !memory->parents});
  });
}

hipError_t hipMemSetAccess(void* pointer, size_t size, const hipMemAccessDesc* descriptions, size_t count) {
  return answer([&] {
    require(descriptions && count > 0);
    for (size_t i = 0; i < count; ++i) {
      const hipMemLocation& location = descriptions[i].location;
      require(location.type == hipMemLocationTypeDevice && location.id >= 0 && location.id < device_count());
    }
    int protection = protection_of(descriptions->flags);
    std::lock_guard lock(state().mutex);
    auto [first, last] = mappings_of(reinterpret_cast<uint64_t>(pointer), size);
    require(::mprotect(pointer, size, protection) == 0, hipErrorMapFailed);
    for (auto each = first; each != last; ++each) each->second.access = descriptions->flags;
  });
}

hipError_t hipMemGetAccess(unsigned long long* flags, const hipMemLocation* location, void* pointer) {
  return answer([&] {
    require(flags && location && location->type == hipMemLocationTypeDevice);
    require(location->id >= 0 && location->id < device_count());
    auto address = reinterpret_cast<uint64_t>(pointer);
    std::lock_guard lock(state().mutex);
    auto found = containing(state().mappings, address);
    require(found != state().mappings.end() && address - found->first < found->second.size);
    *flags = found->second.access;
  });
}

hipError_t hipMemUnmap(void* pointer, size_t size) {
  return answer([&] {
    std::lock_guard lock(state().mutex);
    auto [first, last] = mappings_of(reinterpret_cast<uint64_t>(pointer), size);
    unmap(reinterpret_cast<uint64_t>(pointer), size);
    state().mappings.erase(first, last);
  });
}

hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp* properties,
                                                   hipMemGenericAllocationHandle_t handle) {
  return answer([&] {
    require(properties);
    std::lock_guard lock(state().mutex);
    *properties = physical(handle)->properties;
  });
}

hipError_t hipMemExportToShareableHandle(void* shareable, hipMemGenericAllocationHandle_t handle,
                                         hipMemAllocationHandleType type, unsigned long long flags) {
  return answer([&] {
    require(shareable && flags == 0);
    require(type == hipMemHandleTypePosixFileDescriptor, hipErrorNotSupported);
    std::lock_guard lock(state().mutex);
    auto memory = physical(handle);
    require(memory->properties.requestedHandleType == hipMemHandleTypePosixFileDescriptor);
    int copy = ::fcntl(memory->file.get(), F_DUPFD_CLOEXEC, 0);
    require(copy >= 0, hipErrorOperatingSystem);
    *static_cast<int*>(shareable) = copy;
  });
}

// `shareable` is the descriptor itself, as on the vendors' systems.
hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t* handle, void* shareable,
                                           hipMemAllocationHandleType type) {
  return answer([&] {
    require(handle);
    require(type == hipMemHandleTypePosixFileDescriptor, hipErrorNotSupported);
    auto memory = std::make_shared<Physical>();
    memory->file =
        Fd(::fcntl(static_cast<int>(reinterpret_cast<intptr_t>(shareable)), F_DUPFD_CLOEXEC, kFirstDescriptor));
    struct stat about{};
    require(memory->file && ::fstat(memory->file.get(), &about) == 0);
    memory->identity = memory::FileIdentity(memory->file.get());
    memory->size = static_cast<uint64_t>(about.st_size);
    memory->properties.type = hipMemAllocationTypePinned;
    memory->properties.location = {hipMemLocationTypeDevice, current_device()};
    memory->properties.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
    std::lock_guard lock(state().mutex);
    *handle = add_handle(memory);
  });
}

}  // extern "C"
