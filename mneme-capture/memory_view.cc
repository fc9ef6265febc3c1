// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory_view.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/error.h"
#include "bundle/format.h"
#include "process_memory.h"

namespace mneme::capture {

ApplicationMemory::~ApplicationMemory() { clear(); }

std::vector<SharedChunk> ApplicationMemory::shared() const {
  std::vector<SharedChunk> shared;
  for (const auto& [address, chunk] : chunks_) {
    if (chunk.memory) shared.push_back({address, chunk.size, chunk.memory.get()});
  }
  return shared;
}

void ApplicationMemory::clear() {
  while (!chunks_.empty()) remove(chunks_.begin()->first);
}

void ApplicationMemory::check_free(uint64_t address, uint64_t size) const {
  auto after = chunks_.lower_bound(address);
  bool overlaps = size == 0 || address + size < address || (after != chunks_.end() && after->first < address + size) ||
                  (after != chunks_.begin() && std::prev(after)->first + std::prev(after)->second.size > address);
  if (overlaps) throw Error::of("the application shares memory at {:#x} twice", address);
}

void ApplicationMemory::add_distant(const record::Piece& piece) {
  check_free(piece.address, piece.size);
  chunks_.emplace(piece.address, Chunk{piece.size, nullptr, Fd(), piece.device});
}

void ApplicationMemory::add(uint64_t address, uint64_t size, Fd memory) {
  check_free(address, size);
  if (!memory) {
    if (process_ == 0) throw Error("memory came without its descriptor");
    chunks_.emplace(address, Chunk{size, nullptr, Fd(), {}});
    return;
  }
  struct stat about{};
  // Reading past the end of a file that is too short would end this process.
  if (::fstat(memory.get(), &about) != 0 || static_cast<uint64_t>(about.st_size) < size) {
    throw Error::of("the application shares less memory at {:#x} than it says", address);
  }
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) throw system_error("cannot map the application's memory");
  chunks_.emplace(address, Chunk{size, static_cast<const std::byte*>(mapped), std::move(memory), {}});
}

void ApplicationMemory::remove(uint64_t address) {
  auto found = chunks_.find(address);
  if (found == chunks_.end()) return;
  if (found->second.mapped) ::munmap(const_cast<std::byte*>(found->second.mapped), found->second.size);
  chunks_.erase(found);
}

std::map<uint64_t, ApplicationMemory::Chunk>::const_iterator ApplicationMemory::find(uint64_t address) const {
  auto after = chunks_.upper_bound(address);
  if (after == chunks_.begin()) return chunks_.end();
  auto found = std::prev(after);
  return address - found->first < found->second.size ? found : chunks_.end();
}

Bytes ApplicationMemory::at(uint64_t address, uint64_t size, std::byte* room) const {
  auto found = find(address);
  if (found == chunks_.end() || found->second.device) return {};
  uint64_t offset = address - found->first;
  uint64_t there = std::min(size, found->second.size - offset);
  if (found->second.mapped) return {found->second.mapped + offset, there};
  read_memory(process_, address, there, room);
  return {room, there};
}

std::optional<record::Piece> ApplicationMemory::distant(uint64_t address, uint64_t size) const {
  auto found = find(address);
  if (found == chunks_.end() || !found->second.device) return std::nullopt;
  return record::Piece{address, std::min(size, found->second.size - (address - found->first)), *found->second.device};
}

bool ApplicationMemory::untouched(uint64_t address, uint64_t size) const {
  auto found = find(address);
  if (found == chunks_.end() || !found->second.mapped) return false;
  uint64_t offset = address - found->first;
  if (size > found->second.size - offset) return false;
  off_t data = ::lseek(found->second.memory.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) return errno == ENXIO;  // no data from here to the end
  return static_cast<uint64_t>(data) >= offset + size;
}

std::optional<Digest> ApplicationMemory::known(uint64_t block) const {
  auto after = known_.upper_bound(block);
  if (after == known_.begin()) return std::nullopt;
  const auto& [first, digests] = *std::prev(after);
  uint64_t index = (block - first) / bundle::kBlockSize;
  if (index >= digests.size() || (block - first) % bundle::kBlockSize != 0) return std::nullopt;
  return digests[index];
}

bool ApplicationMemory::unwritten(uint64_t block) const {
  auto after = std::ranges::upper_bound(unwritten_, block, {}, &record::MemoryRange::address);
  if (after == unwritten_.begin()) return false;
  const record::MemoryRange& run = *std::prev(after);
  return block - run.address < run.size && run.size - (block - run.address) >= bundle::kBlockSize;
}

}  // namespace mneme::capture
