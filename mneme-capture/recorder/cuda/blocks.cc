// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/blocks.h"

#include <algorithm>

#include "bundle/format.h"
#include "recorder/cuda/runtime.h"
#include "recorder/memory/digest_keys.h"
#include "recorder/memory/gathering.h"
#include "recorder/memory/kernels/gather.h"
#include "recorder/runtime/next.h"

// What the build makes of kernels/blocks.cc: a fat binary, or PTX, and the zero that ends a text.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "mneme_block_kernels:\n"
    ".incbin \"" MNEME_BLOCK_KERNELS
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char mneme_block_kernels[];

namespace mneme::record::cuda {

CALL(Status, cuModuleLoadData, Module*, const void*)
CALL(Status, cuModuleGetFunction, Function*, Module, const char*)
CALL(Status, cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
     void**, void**)
CALL(Status, cuMemAlloc_v2, Address*, size_t)
CALL(Status, cuMemFree_v2, Address)
CALL(Status, cuMemcpyHtoD_v2, Address, const void*, size_t)
CALL(Status, cuMemcpyDtoH_v2, void*, Address, size_t)
CALL(Status, cuMemHostGetDevicePointer_v2, Address*, void*, unsigned)

namespace {

static_assert(kDigestedWords * sizeof(Word) == bundle::kBlockSize);

// Asking for digests of less than that takes longer than fetching it all.
constexpr uint64_t kWorthDigests = 16 << 20;

}  // namespace

Blocks::Loaded Blocks::load() {
  Loaded loaded;
  Module module = nullptr;
  Function digest = nullptr, gather = nullptr;
  const DigestKeys keys = digest_keys();
  bool ready = next::cuModuleLoadData(&module, mneme_block_kernels) == kSuccess &&
               next::cuModuleGetFunction(&gather, module, "gather_blocks") == kSuccess &&
               next::cuModuleGetFunction(&digest, module, "digest_blocks") == kSuccess &&
               next::cuMemAlloc_v2(&loaded.keys, sizeof keys) == kSuccess &&
               next::cuMemcpyHtoD_v2(loaded.keys, &keys, sizeof keys) == kSuccess;
  if (ready) loaded.digest = digest, loaded.gather = gather;
  return loaded;
}

Blocks::Loaded& Blocks::loaded() {
  const Context context = devices.context();
  auto found = loaded_.find(context);
  if (found == loaded_.end()) found = loaded_.emplace(context, load()).first;
  return found->second;
}

bool Blocks::make_room(Loaded& loaded, uint64_t count) {
  if (loaded.room >= count) return true;
  if (loaded.out) next::cuMemFree_v2(loaded.out);
  loaded.out = 0;
  loaded.room = 0;
  if (next::cuMemAlloc_v2(&loaded.out, count * sizeof(Word[2])) != kSuccess) return false;
  loaded.room = count;
  return true;
}

bool Blocks::digest(uint64_t address, std::span<Digest> digests) {
  const uint64_t count = digests.size();
  Loaded& loaded = this->loaded();
  if (!loaded.digest || count == 0 || count > UINT32_MAX || !make_room(loaded, count)) return false;
  auto blocks = static_cast<unsigned>(count);
  void* arguments[] = {&address, &blocks, &loaded.keys, &loaded.out};
  constexpr unsigned kAtOnce = kDigestThreads / kParts;
  Status status = next::cuLaunchKernel(loaded.digest, (blocks + kAtOnce - 1) / kAtOnce, 1, 1, kDigestThreads, 1, 1, 0,
                                       nullptr, arguments, nullptr);
  static_assert(sizeof(Digest) == sizeof(Word[2]));
  return status == kSuccess && next::cuMemcpyDtoH_v2(digests.data(), loaded.out, count * sizeof(Digest)) == kSuccess;
}

bool Blocks::gather(std::span<const Piece> pieces, std::byte* to) {
  const std::vector<uint64_t> blocks = blocks_to_gather(pieces);
  if (blocks.empty()) return false;
  Loaded& loaded = this->loaded();
  Address out = 0;
  if (!loaded.gather || next::cuMemHostGetDevicePointer_v2(&out, to, 0) != kSuccess) return false;
  for (size_t first = 0; first < blocks.size(); first += kGatheredAtOnce) {
    const size_t count = std::min<size_t>(blocks.size() - first, kGatheredAtOnce);
    Gathered from{};
    for (size_t i = 0; i < count; ++i) from.blocks[i] = reinterpret_cast<const Word*>(blocks[first + i]);
    void* arguments[] = {&from, &out};
    Status status = next::cuLaunchKernel(loaded.gather, static_cast<unsigned>(count), 1, 1, kGatherThreads, 1, 1, 0,
                                         nullptr, arguments, nullptr);
    if (status != kSuccess) return false;  // the pieces are copied, behind what has begun
    out += count * bundle::kBlockSize;
  }
  return true;
}

void CudaRuntime::digests(const std::vector<Piece>& pieces, const TakeDigests& take) {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.size;
  if (bytes < kWorthDigests) return;
  std::lock_guard lock(looking_);
  for (const Piece& piece : pieces) {
    OnDevice there(static_cast<int>(piece.device));
    digested_.address = piece.address;
    digested_.blocks.resize(piece.size / bundle::kBlockSize);
    if (blocks_.digest(piece.address, digested_.blocks)) take(digested_);
  }
}

void CudaRuntime::fetch(const std::vector<Piece>& pieces, std::byte* to, bool adopted) {
  fetches_.begin(pieces, to, [&](std::span<const Piece> some, std::byte* there) {
    if (!adopted) return false;
    std::lock_guard lock(looking_);
    return blocks_.gather(some, there);
  });
}

}  // namespace mneme::record::cuda
