// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/blocks/raw_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bundle/blocks/coverage.h"
#include "bundle/names.h"

namespace mneme::bundle {

Mapping::Mapping(uint64_t size) : size_(size) {
  if (size == 0) return;
  void* start = size > SIZE_MAX / 2
                    ? MAP_FAILED
                    : ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw Error::of("there is no room for a segment of {} bytes", size);
  start_ = static_cast<std::byte*>(start);
}

Mapping::Mapping(Mapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_(other.size_), filled_(other.filled_) {}

Mapping::~Mapping() {
  if (start_) ::munmap(start_, size_);
}

void Mapping::append(Bytes bytes) {
  size_t fitting = std::min<uint64_t>(bytes.size(), size_ - filled_);
  std::memcpy(start_ + filled_, bytes.data(), fitting);
  filled_ += fitting;
}

Mapping& RawMemory::add(const Digest& state, const std::string& file, uint64_t size) {
  auto [place, added] = states_[state].emplace(file, Mapping(size));
  if (!added) throw Error::of("{} is in the bundle twice", raw_name(state, file));
  return place->second;
}

State RawMemory::build(const Digest& id, std::span<const Segment> segments, BlockStore& store) {
  std::map<std::string, Mapping> members = std::move(states_.at(id));
  states_.erase(id);
  std::vector<std::string> files = raw_files(segments);
  State state;
  std::byte* block = nullptr;  // the one being put together
  uint64_t address = 0;
  auto finish_block = [&] {
    if (!block) return;
    Digest digest = digest_of(Bytes(block, kBlockSize));
    state.blocks.push_back({address, digest});
    store.add(digest, block);
    block = nullptr;
  };
  for (size_t i = 0; i < segments.size(); ++i) {
    auto member = members.find(files[i]);
    std::string name = raw_name(id, files[i]);
    if (member == members.end()) throw Error::of("{} is missing, but an instance cites it", name);
    Bytes bytes = member->second.bytes();
    if (bytes.size() != segments[i].size) {
      throw Error::of("{} has {} bytes, its segment {}", name, bytes.size(), segments[i].size);
    }
    for (uint64_t at = segments[i].address, end = at + bytes.size(); at < end;) {
      if (block && block_of(at) != address) finish_block();
      if (!block) {
        block = store.pool().take();
        address = block_of(at);
        std::memset(block, 0, kBlockSize);
      }
      uint64_t size = std::min(address + kBlockSize, end) - at;
      std::memcpy(block + (at - address), bytes.data() + (at - segments[i].address), size);
      at += size;
    }
    members.erase(member);  // gives its memory back: the blocks have it now
  }
  finish_block();
  if (digest_of(bundle::write(state)) != id) {
    throw Error::of("the raw members of state {} are damaged: they do not have the contents that it stands for",
                    id.hex());
  }
  return state;
}

}  // namespace mneme::bundle
