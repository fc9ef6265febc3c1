// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// states/<digest> and memory/<n>.keep.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "bundle/format.h"

namespace mneme::bundle {
namespace {

static_assert(std::endian::native == std::endian::little, "members are written as they lie in memory");
constexpr char kMagic[4] = {'M', 'N', 'S', 'T'};
constexpr char kKeptMagic[4] = {'M', 'N', 'K', 'P'};
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderSize = 16;
constexpr size_t kEntrySize = 8 + Digest::kSize;

}  // namespace

std::string write(const State& state) {
  std::string out(kHeaderSize + state.blocks.size() * kEntrySize, '\0');
  uint32_t version = kVersion;
  uint64_t count = state.blocks.size();
  std::memcpy(out.data(), kMagic, 4);
  std::memcpy(out.data() + 4, &version, 4);
  std::memcpy(out.data() + 8, &count, 8);
  char* at = out.data() + kHeaderSize;
  for (const BlockReference& block : state.blocks) {
    std::memcpy(at, &block.address, 8);
    block.digest.store(reinterpret_cast<std::byte*>(at + 8));
    at += kEntrySize;
  }
  return out;
}

State parse_state(Bytes bytes, const std::string& where) {
  if (bytes.size() < kHeaderSize || std::memcmp(bytes.data(), kMagic, 4) != 0)
    throw Error::of("{} is not a state", where);
  uint32_t version = 0;
  uint64_t count = 0;
  std::memcpy(&version, bytes.data() + 4, 4);
  std::memcpy(&count, bytes.data() + 8, 8);
  if (version != kVersion) throw Error::of("{} is a state of version {}, which is not known", where, version);
  if ((bytes.size() - kHeaderSize) % kEntrySize != 0 || count != (bytes.size() - kHeaderSize) / kEntrySize) {
    throw Error::of("{} says that it lists {} blocks, which does not match its size of {} bytes", where, count,
                    bytes.size());
  }
  State state;
  state.blocks.resize(count);
  const std::byte* at = bytes.data() + kHeaderSize;
  for (size_t i = 0; i < count; ++i, at += kEntrySize) {
    BlockReference& block = state.blocks[i];
    std::memcpy(&block.address, at, 8);
    block.digest = Digest::load(at + 8);
    if (block.address % kBlockSize != 0 || (i > 0 && block.address <= state.blocks[i - 1].address)) {
      throw Error::of("{} lists address {:#x} where an ascending multiple of {} has to stand", where, block.address,
                      kBlockSize);
    }
  }
  return state;
}

std::string write_kept(const std::vector<Digest>& blocks) {
  std::string out(kHeaderSize + blocks.size() * Digest::kSize, '\0');
  uint64_t count = blocks.size();
  std::memcpy(out.data(), kKeptMagic, 4);
  std::memcpy(out.data() + 4, &kVersion, 4);
  std::memcpy(out.data() + 8, &count, 8);
  char* at = out.data() + kHeaderSize;
  for (const Digest& block : blocks) {
    block.store(reinterpret_cast<std::byte*>(at));
    at += Digest::kSize;
  }
  return out;
}

std::vector<Digest> parse_kept(Bytes bytes, const std::string& where) {
  if (bytes.size() < kHeaderSize || std::memcmp(bytes.data(), kKeptMagic, 4) != 0) {
    throw Error::of("{} is not a list of blocks that are kept", where);
  }
  uint32_t version = 0;
  uint64_t count = 0;
  std::memcpy(&version, bytes.data() + 4, 4);
  std::memcpy(&count, bytes.data() + 8, 8);
  if (version != kVersion) throw Error::of("{} is a list of version {}, which is not known", where, version);
  if ((bytes.size() - kHeaderSize) % Digest::kSize != 0 || count != (bytes.size() - kHeaderSize) / Digest::kSize) {
    throw Error::of("{} says that it lists {} blocks, which does not match its size of {} bytes", where, count,
                    bytes.size());
  }
  std::vector<Digest> blocks;
  for (size_t at = kHeaderSize; at < bytes.size(); at += Digest::kSize) {
    blocks.push_back(Digest::load(bytes.data() + at));
    if (blocks.size() > 1 && blocks.back() <= blocks[blocks.size() - 2]) {
      throw Error::of("{} lists block {} where an ascending one has to stand", where, blocks.back().hex());
    }
  }
  return blocks;
}

const Digest& zero_block_digest() {
  static const std::array<std::byte, kBlockSize> kZeros{};
  static const Digest kDigest = digest_of(kZeros);
  return kDigest;
}

}  // namespace mneme::bundle
