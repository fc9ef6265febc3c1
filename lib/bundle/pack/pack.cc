// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/pack.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "base/error.h"

namespace mneme::bundle {
namespace {

constexpr char kMagic[4] = {'M', 'N', 'P', 'K'};
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderSize = 16;
constexpr size_t kEntrySize = 2 * Digest::kSize + 8;

void store32(std::byte* out, uint32_t value) { std::memcpy(out, &value, 4); }
uint32_t load32(const std::byte* in) {
  uint32_t value = 0;
  std::memcpy(&value, in, 4);
  return value;
}

PackEntry parse_entry(const std::byte* in, const std::string& where) {
  PackEntry entry;
  entry.digest = Digest::load(in);
  entry.base = Digest::load(in + Digest::kSize);
  entry.stride = load32(in + 2 * Digest::kSize);
  bool known = entry.stride == 0 || entry.stride == 4 || entry.stride == 8;
  if (!known || load32(in + 2 * Digest::kSize + 4) != 0) {
    throw Error::of("{} is damaged: block {} has an encoding that is not known", where, entry.digest.hex());
  }
  return entry;
}

}  // namespace

uint64_t max_pack_size() { return pack_index_size(kBlocksPerPack) + ZSTD_compressBound(kBlocksPerPack * kBlockSize); }

size_t pack_index_size(size_t entries) { return kHeaderSize + entries * kEntrySize; }

void write_pack_index(std::byte* out, std::span<const PackEntry> entries) {
  std::memset(out, 0, pack_index_size(entries.size()));
  std::memcpy(out, kMagic, 4);
  store32(out + 4, kVersion);
  store32(out + 8, static_cast<uint32_t>(entries.size()));
  out += kHeaderSize;
  for (const PackEntry& entry : entries) {
    entry.digest.store(out);
    entry.base.store(out + Digest::kSize);
    store32(out + 2 * Digest::kSize, entry.stride);
    out += kEntrySize;
  }
}

std::vector<PackEntry> parse_pack_index(Bytes pack, const std::string& where) {
  if (pack.size() < kHeaderSize || std::memcmp(pack.data(), kMagic, 4) != 0) throw Error::of("{} is not a pack", where);
  uint32_t version = load32(pack.data() + 4), count = load32(pack.data() + 8);
  if (version != kVersion) throw Error::of("{} is a pack of version {}, which is not known", where, version);
  if (load32(pack.data() + 12) != 0) throw Error::of("{} is damaged: a reserved field is in use", where);
  if (count == 0 || count > kBlocksPerPack) {
    throw Error::of("{} says that it holds {} blocks; 1 to {} are possible", where, count, kBlocksPerPack);
  }
  if (pack.size() < pack_index_size(count)) {
    throw Error::of("{} says that it holds {} blocks, but ends within their index", where, count);
  }
  std::vector<PackEntry> entries;
  std::unordered_map<Digest, bool> has_base;
  for (size_t i = 0; i < count; ++i) {
    entries.push_back(parse_entry(pack.data() + pack_index_size(i), where));
    if (!has_base.emplace(entries[i].digest, !entries[i].base.empty()).second) {
      throw Error::of("{} is damaged: it lists block {} twice", where, entries[i].digest.hex());
    }
  }
  for (const PackEntry& entry : entries) {
    auto base = has_base.find(entry.base);
    if (!entry.base.empty() && base != has_base.end() && base->second) {
      throw Error::of("{} is damaged: the base of block {} has a base in the same pack", where, entry.digest.hex());
    }
  }
  return entries;
}

Bytes frame_of_pack(Bytes pack, size_t entries, const std::string& where) {
  Bytes frame = pack.subspan(pack_index_size(entries));
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != entries * kBlockSize) {
    throw Error::of("{} does not hold the {} bytes that its index speaks of", where, entries * kBlockSize);
  }
  size_t length = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
  if (ZSTD_isError(length) || length != frame.size()) {
    throw Error::of("{} is damaged: it is not exactly one zstd frame", where);
  }
  return frame;
}

void decompress_frame(ZSTD_DCtx* context, Bytes frame, std::span<std::byte> out, const std::string& where) {
  size_t got = ZSTD_decompressDCtx(context, out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(got)) throw Error::of("{} is damaged: {}", where, ZSTD_getErrorName(got));
  if (got != out.size()) throw Error::of("{} is damaged: it ends early", where);
}

void xor_bytes(const std::byte* a, const std::byte* b, std::byte* out, size_t size) {
  // In pieces that are read before they are written: the compiler may then use vectors although `out` is `a`.
  constexpr size_t kPiece = 64;
  size_t at = 0;
  for (; at + kPiece <= size; at += kPiece) {
    uint64_t piece[kPiece / sizeof(uint64_t)], other[kPiece / sizeof(uint64_t)];
    std::memcpy(piece, a + at, kPiece);
    std::memcpy(other, b + at, kPiece);
    for (size_t i = 0; i < std::size(piece); ++i) piece[i] ^= other[i];
    std::memcpy(out + at, piece, kPiece);
  }
  for (; at < size; ++at) out[at] = a[at] ^ b[at];
}

}  // namespace mneme::bundle
