// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/mapped_memory.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>

namespace mneme::record {
namespace {

constexpr uint64_t kSize = memory::kDeviceBase - memory::kMappedBase;
constexpr uint64_t kGranularity = 2 << 20;  // of all vendors

}  // namespace

MappedMemory::MappedMemory() : arena_(memory::kMappedBase, kSize) {}

std::optional<uint64_t> MappedMemory::propose(uint64_t size, uint64_t align) {
  if (size == 0 || size > kSize || align > kSize || (align != 0 && !std::has_single_bit(align))) return std::nullopt;
  std::lock_guard lock(mutex_);
  return arena_.allocate(size, std::max(align, kGranularity));
}

void MappedMemory::release(uint64_t address) {
  std::lock_guard lock(mutex_);
  arena_.release(address);
}

bool MappedMemory::add(uint64_t address, int descriptor) {
  struct stat about{};
  if (::fstat(descriptor, &about) != 0) return false;
  std::pair<uint64_t, uint64_t> file{about.st_dev, about.st_ino};
  std::lock_guard lock(mutex_);
  bool first = std::ranges::none_of(files_, [&](const auto& entry) { return entry.second == file; });
  files_[address] = file;
  return first;
}

void MappedMemory::remove(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  files_.erase(files_.lower_bound(address), files_.lower_bound(address + size));
}

}  // namespace mneme::record
