// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/decoder.h"

#include <zstd.h>

#include <cstring>

#include "base/error.h"
#include "bundle/pack/planes.h"

namespace mneme::bundle {
namespace {

constexpr size_t kFewBlocks = 16;  // a pack of so few is decoded sooner than a thread is started

void check_digest(const PackEntry& entry, const std::byte* block, const std::string& where) {
  if (digest_of(Bytes(block, kBlockSize)) == entry.digest) return;
  throw Error::of("{} is damaged: block {} does not have the contents that its digest stands for", where,
                  entry.digest.hex());
}

void join_block(const PackEntry& entry, const std::byte* in, std::byte* out) {
  if (entry.stride) {
    join_planes(in, out, kBlockSize, entry.stride);
  } else {
    std::memcpy(out, in, kBlockSize);
  }
}

}  // namespace

struct PackDecoder::Scratch {
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), &ZSTD_freeDCtx};
  std::unique_ptr<std::byte[]> blocks{new std::byte[kBlocksPerPack * kBlockSize]};

  // A pack's blocks as they were encoded. Sizes are compared before a byte is decompressed.
  void decompress(Bytes pack, size_t entries, const std::string& where) {
    if (!context) throw std::bad_alloc();
    decompress_frame(context.get(), frame_of_pack(pack, entries, where), {blocks.get(), entries * kBlockSize}, where);
  }
};

PackDecoder::PackDecoder(BlockStore& store) : store_(store) {}
PackDecoder::~PackDecoder() = default;

std::unique_ptr<PackDecoder::Scratch> PackDecoder::take_scratch() {
  std::lock_guard lock(mutex_);
  if (scratch_.empty()) return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> scratch = std::move(scratch_.back());
  scratch_.pop_back();
  return scratch;
}

std::vector<std::byte> PackDecoder::buffer() {
  std::lock_guard lock(mutex_);
  if (buffers_.empty()) return {};
  std::vector<std::byte> buffer = std::move(buffers_.back());
  buffers_.pop_back();
  buffer.clear();
  return buffer;
}

PackDecoder::Decoded PackDecoder::decode(std::vector<std::byte> pack, Decoded decoded) {
  std::unique_ptr<Scratch> scratch = take_scratch();
  scratch->decompress(pack, decoded.entries.size(), decoded.where);
  for (size_t i = 0; i < decoded.entries.size(); ++i) {
    decoded.blocks.push_back(store_.pool().take());
    join_block(decoded.entries[i], scratch->blocks.get() + i * kBlockSize, decoded.blocks[i]);
    if (decoded.entries[i].base.empty()) check_digest(decoded.entries[i], decoded.blocks[i], decoded.where);
  }
  std::lock_guard lock(mutex_);
  scratch_.push_back(std::move(scratch));
  buffers_.push_back(std::move(pack));
  return decoded;
}

void PackDecoder::add(std::vector<std::byte> pack, std::string where) {
  Decoded decoded{std::move(where), {}, {}};
  decoded.entries = parse_pack_index(pack, decoded.where);
  bool few = decoded.entries.size() <= kFewBlocks;
  // Bounds what is in memory on its way, whatever the number of packs.
  while (pending_.size() >= 2 * size_t{Workers::count()}) settle_first();
  auto task = [this, pack = std::move(pack), decoded = std::move(decoded)]() mutable {
    return decode(std::move(pack), std::move(decoded));
  };
  if (few) {
    std::promise<Decoded> done;
    done.set_value(task());
    pending_.push_back(done.get_future());
    return;
  }
  if (!workers_) workers_ = std::make_unique<Workers>();
  pending_.push_back(workers_->submit(std::move(task)));
}

// Bases come before what builds on them, so packs are finished in their order.
void PackDecoder::settle_first() {
  Decoded decoded = pending_.front().get();
  pending_.pop_front();
  std::vector<size_t> based;
  for (size_t i = 0; i < decoded.entries.size(); ++i) {
    if (decoded.entries[i].base.empty()) {
      store_.add(decoded.entries[i].digest, decoded.blocks[i]);
    } else {
      based.push_back(i);
    }
  }
  auto finish = [&](size_t k) {
    const PackEntry& entry = decoded.entries[based[k]];
    std::byte* block = decoded.blocks[based[k]];
    const std::byte* base = store_.find(entry.base);
    if (!base) {
      throw Error::of("{}: block {} builds on block {}, which no pack at hand holds", decoded.where, entry.digest.hex(),
                      entry.base.hex());
    }
    xor_bytes(block, base, block, kBlockSize);
    check_digest(entry, block, decoded.where);
  };
  if (based.size() <= kFewBlocks) {
    for (size_t k = 0; k < based.size(); ++k) finish(k);
  } else {
    Workers::for_each(based.size(), finish);
  }
  for (size_t i : based) store_.add(decoded.entries[i].digest, decoded.blocks[i]);
}

void PackDecoder::settle() {
  while (!pending_.empty()) settle_first();
  workers_.reset();
}

void PackDecoder::drop() {
  workers_.reset();
  pending_.clear();
}

}  // namespace mneme::bundle
