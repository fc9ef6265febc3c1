// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The replaying host device: the recording's addresses, in this process.
#include <emmintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "bundle/launch.h"
#include "device/device.h"
#include "device/host/checks/findings.h"
#include "device/host/heap/device_heap.h"
#include "device/host/launch.h"
#include "device/host/services/segment_memory.h"
#include "device/host/textures.h"

namespace mneme::device {
namespace {

using codegen::host::GlobalSlot;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class LoadedCode : public Code {
 public:
  LoadedCode(const bundle::KernelInfo& kernel, Bytes code) : code_(host::HostCode::load(code, kernel.demangled)) {
    own_.resize(code_->globals().size());
  }

  const host::HostCode& host() const { return *code_; }

  // Variables that the recording holds lie where it says, and hold what it says. Others are ours, and fresh for
  // every launch.
  void place_globals(const std::vector<bundle::Segment>& segments) {
    std::span<GlobalSlot> slots = code_->globals();
    std::vector<size_t> fresh;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (const bundle::Segment* segment = recorded(slots[i], segments)) {
        slots[i].address = reinterpret_cast<void*>(segment->address);
        continue;
      }
      if (!own_[i]) own_[i].reset(allocate(slots[i]));
      slots[i].address = own_[i].get();
      fresh.push_back(i);
    }
    for (size_t i : fresh) host::initialise_global(slots[i], slots);
  }

 private:
  const bundle::Segment* recorded(const GlobalSlot& slot, const std::vector<bundle::Segment>& segments) const {
    for (const bundle::Segment& segment : segments) {
      if (segment.symbol.empty() || segment.symbol != slot.name) continue;
      if (segment.size >= slot.size) return &segment;
      throw Error::of("kernel '{}': the variable '{}' has {} bytes in the code but {} in the recording",
                      code_->object().kernel, slot.name, slot.size, segment.size);
    }
    return nullptr;
  }

  void* allocate(const GlobalSlot& slot) const {
    size_t align = std::max<size_t>(slot.align, 256);
    void* memory = nullptr;
    if (::posix_memalign(&memory, align, std::max<size_t>(slot.size, 1)) != 0) {
      throw Error::of("kernel '{}': there is no memory for the variable '{}' of {} bytes", code_->object().kernel,
                      slot.name, slot.size);
    }
    return memory;
  }

  std::unique_ptr<host::HostCode> code_;
  std::vector<std::unique_ptr<void, Free>> own_;
};

class HostDevice : public Device {
 public:
  ~HostDevice() override {
    for (auto [address, size] : mapped_) ::munmap(reinterpret_cast<void*>(address), size);
    for (auto [address, size] : kept_) ::munmap(reinterpret_cast<void*>(address), size);
  }

  std::string name() const override { return "host"; }
  std::string clock() const override { return "steady"; }
  bool runs_in_this_process() const override { return true; }

  void map(uint64_t address, uint64_t size) override {
    if (size == 0) return;
    if (size % bundle::kBlockSize || address % bundle::kBlockSize || address + size < address) {
      throw Error::of("the address range {:#x}-{:#x} is not made of blocks", address, address + size);
    }
    if (kept_.erase({address, size})) {
      std::memset(populate(address, size), 0, size);
    } else if (!back(address, size, MAP_PRIVATE)) {
      if (errno == EEXIST) {
        throw Error::of(
            "the recording's address range {:#x}-{:#x} is taken by something else in this process: run it without "
            "preloaded libraries and sanitizers",
            address, address + size);
      }
      throw system_error(fmt::format("cannot map the recording's address range {:#x}-{:#x}", address, address + size));
    }
    note_mapped(address, size);
  }

  bool map_to_write(uint64_t address, uint64_t size) override {
    if (!kept_.erase({address, size})) {
      map(address, size);
      return true;
    }
    populate(address, size);
    note_mapped(address, size);
    return false;
  }

  void keep(std::span<const BlockRange> ranges) override {
    host::prepare_to_fork();
    std::set<std::pair<uint64_t, uint64_t>> wanted;
    uint64_t bytes = 0;
    for (const BlockRange& range : ranges) {
      if (range.size == 0 || range.size > kMostKept - bytes || has_huge_page(range)) continue;
      bytes += range.size;
      wanted.emplace(range.address, range.size);
    }
    std::erase_if(kept_, [&](const auto& range) {
      if (wanted.contains(range)) return false;
      ::munmap(reinterpret_cast<void*>(range.first), range.second);
      return true;
    });
    for (const auto& range : wanted) {
      if (!kept_.contains(range) && back(range.first, range.second, MAP_SHARED)) kept_.insert(range);
    }
  }

  void write(uint64_t address, Bytes bytes) override {
    std::memcpy(mapped(address, bytes.size()), bytes.data(), bytes.size());
  }

  // Of memory that was kept, most is what the instance before had, too: comparing takes less than writing.
  void begin_write(uint64_t address, Bytes bytes) override {
    auto* memory = static_cast<std::byte*>(mapped(address, bytes.size()));
    for (size_t at = 0; at < bytes.size(); at += bundle::kBlockSize) {
      const size_t size = std::min<size_t>(bundle::kBlockSize, bytes.size() - at);
      if (std::memcmp(memory + at, &bytes[at], size) != 0) std::memcpy(memory + at, &bytes[at], size);
    }
  }

  void read(uint64_t address, std::span<std::byte> out) override {
    std::memcpy(out.data(), mapped(address, out.size()), out.size());
  }

  Bytes view(uint64_t address, uint64_t size, std::vector<std::byte>&) override {
    return {static_cast<const std::byte*>(mapped(address, size)), size};
  }

  std::unique_ptr<Code> load(const bundle::KernelInfo& kernel, Bytes code) override {
    return std::make_unique<LoadedCode>(kernel, code);
  }

  uint64_t execute(Code& code, const Launch& launch) override {
    auto& loaded = static_cast<LoadedCode&>(code);
    refuse_large_blocks(loaded.host().object(), launch.block);
    for (const bundle::Segment& segment : launch.segments) {
      if (!segment.symbol.empty()) mapped(segment.address, segment.size);
    }
    loaded.place_globals(launch.segments);
    host::RunOptions options;  // what the kernel prints is dropped
    host::DeviceHeap heap(heap_of(launch));
    options.heap = &heap;
    options.poison_shared = launch.poison_shared;
    std::vector<host::KnownMemory> known = host::known_memory(launch.segments, loaded.host().globals());
    options.memory = known;
    options.warn = launch.warn;
    options.waiting = launch.waiting;
    host::Findings findings;
    if (launch.findings) options.findings = &findings;
    if (launch.cluster.count() > 1 && launch.warn) {
      launch.warn("it was launched in clusters of blocks; on the host device each block is a cluster of its own");
    }
    host::Textures textures(launch, [this](uint64_t address, uint64_t bytes) { mapped(address, bytes); });
    std::string arguments = launch.arguments;
    textures.put_handles(arguments);
    if (launch.cold) empty_caches(launch);
    auto start = std::chrono::steady_clock::now();
    host::run_grid(loaded.host(), launch.grid, launch.block, launch.shared_bytes, bytes_of(arguments), options);
    auto end = std::chrono::steady_clock::now();
    if (launch.findings) *launch.findings = findings.list();
    return static_cast<uint64_t>(std::chrono::nanoseconds(end - start).count());
  }

 private:
  // As GPUs do, whose registers then do not suffice.
  static void refuse_large_blocks(const codegen::host::CodeObject& object, const bundle::Dim3& block) {
    if (block.count() <= object.most_threads) return;
    throw Error::of("kernel '{}': its launch bounds allow {} threads in a block, and a block of {} has {}",
                    object.kernel, object.most_threads, bundle::text_of(block), block.count());
  }

  static constexpr uint64_t kMostKept = 64 << 20;  // bytes

  // Memory in huge pages is what kernels find faster than other memory: it is made as an application's is.
  static bool has_huge_page(const BlockRange& range) {
    constexpr uint64_t kHugePage = 2 << 20;
    uint64_t first = (range.address + kHugePage - 1) / kHugePage * kHugePage;
    return first >= range.address && range.size >= kHugePage && first - range.address <= range.size - kHugePage;
  }

  // Maps zeroed memory at the address; else errno says why not. `sharing`: MAP_PRIVATE, or MAP_SHARED with children.
  static bool back(uint64_t address, uint64_t size, int sharing) {
    void* got = ::mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
                       sharing | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return false;
    // Kernels older than MAP_FIXED_NOREPLACE take the address for a mere hint.
    if (reinterpret_cast<uint64_t>(got) == address) return true;
    ::munmap(got, size);
    errno = EEXIST;
    return false;
  }

  void note_mapped(uint64_t address, uint64_t size) {
    // Adjacent ranges as one: a recording maps many.
    auto next = mapped_.find(address + size);
    if (next != mapped_.end()) {
      size += next->second;
      mapped_.erase(next);
    }
    auto after = mapped_.lower_bound(address);
    if (after != mapped_.begin() && std::prev(after)->first + std::prev(after)->second == address) {
      std::prev(after)->second += size;
    } else {
      mapped_.emplace(address, size);
    }
  }

  // A page fault for each page would take longer than most kernels. Pages that the memory has already are mapped for
  // writing, too, and several at a time, which is not so when populated for writing.
  static void* populate(uint64_t address, [[maybe_unused]] uint64_t size) {
    auto* memory = reinterpret_cast<void*>(address);
#ifdef MADV_POPULATE_READ
    ::madvise(memory, size, MADV_POPULATE_READ);
#endif
    return memory;
  }

  // Takes all lines of the recorded memory out of all caches.
  void empty_caches(const Launch& launch) const {
    constexpr uint64_t kLine = 64;
    for (const bundle::Segment& segment : launch.segments) {
      mapped(segment.address, segment.size);
      for (uint64_t at = segment.address / kLine * kLine; at < segment.address + segment.size; at += kLine) {
        _mm_clflush(reinterpret_cast<const void*>(at));
      }
    }
    _mm_mfence();
  }

  // The bytes at a device address, which has to be within what was mapped.
  void* mapped(uint64_t address, uint64_t size) const {
    auto after = mapped_.upper_bound(address);
    if (after != mapped_.begin()) {
      auto [start, length] = *std::prev(after);
      if (address - start <= length && size <= length - (address - start)) return reinterpret_cast<void*>(address);
    }
    if (size == 0) return nullptr;
    throw Error::of("the address range {:#x}-{:#x} is not mapped", address, address + size);
  }

  // The recorded heap; empty: there was none.
  static std::span<std::byte> heap_of(const Launch& launch) {
    for (const bundle::Segment& segment : launch.segments) {
      if (segment.symbol != bundle::kDeviceHeap || segment.address % 16) continue;
      return {reinterpret_cast<std::byte*>(segment.address), segment.size};
    }
    return {};
  }

  std::map<uint64_t, uint64_t> mapped_;           // address → size
  std::set<std::pair<uint64_t, uint64_t>> kept_;  // address and size: shared with children, or with those before
};

}  // namespace

std::unique_ptr<Device> make_host_device() { return std::make_unique<HostDevice>(); }

}  // namespace mneme::device
