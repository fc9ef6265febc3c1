// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory_view.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/error.h"

namespace mneme::capture {

SharedMemory::~SharedMemory() { clear(); }

void SharedMemory::clear() {
  for (auto& [address, chunk] : chunks_) ::munmap(const_cast<std::byte*>(chunk.mapped), chunk.size);
  chunks_.clear();
}

void SharedMemory::add(uint64_t address, uint64_t size, Fd memory) {
  struct stat about{};
  // Reading past the end of a file that is too short would end this process.
  if (::fstat(memory.get(), &about) != 0 || size == 0 || static_cast<uint64_t>(about.st_size) < size) {
    throw Error::of("the application shares less memory at {:#x} than it says", address);
  }
  auto after = chunks_.lower_bound(address);
  bool overlaps = address + size < address || (after != chunks_.end() && after->first < address + size) ||
                  (after != chunks_.begin() && std::prev(after)->first + std::prev(after)->second.size > address);
  if (overlaps) throw Error::of("the application shares memory at {:#x} twice", address);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) throw system_error("cannot map the application's memory");
  chunks_.emplace(address, Chunk{size, static_cast<const std::byte*>(mapped), std::move(memory)});
}

void SharedMemory::remove(uint64_t address) {
  auto found = chunks_.find(address);
  if (found == chunks_.end()) return;
  ::munmap(const_cast<std::byte*>(found->second.mapped), found->second.size);
  chunks_.erase(found);
}

std::map<uint64_t, SharedMemory::Chunk>::const_iterator SharedMemory::find(uint64_t address) const {
  auto after = chunks_.upper_bound(address);
  if (after == chunks_.begin()) return chunks_.end();
  auto found = std::prev(after);
  return address - found->first < found->second.size ? found : chunks_.end();
}

Bytes SharedMemory::at(uint64_t address, uint64_t size) const {
  auto found = find(address);
  if (found == chunks_.end()) return {};
  uint64_t offset = address - found->first;
  return {found->second.mapped + offset, std::min(size, found->second.size - offset)};
}

bool SharedMemory::untouched(uint64_t address, uint64_t size) const {
  auto found = find(address);
  if (found == chunks_.end()) return false;
  uint64_t offset = address - found->first;
  if (size > found->second.size - offset) return false;
  off_t data = ::lseek(found->second.memory.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) return errno == ENXIO;  // no data from here to the end
  return static_cast<uint64_t>(data) >= offset + size;
}

}  // namespace mneme::capture
