// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_block_digests.h"

#include "bundle/format.h"
#include "recorder/cuda_runtime.h"
#include "recorder/digest_keys.h"
#include "recorder/next.h"

// What the build makes of kernels/digest_blocks.cc: a fat binary, or PTX, and the zero that ends a text.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "mneme_digest_blocks:\n"
    ".incbin \"" MNEME_DIGESTS_IMAGE
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char mneme_digest_blocks[];

namespace mneme::record::cuda {
namespace {

static_assert(kDigestedWords * sizeof(Word) == bundle::kBlockSize);

constinit Next<Result(Module*, const void*)> next_load(kDriver, "cuModuleLoadData");
constinit Next<Result(Function*, Module, const char*)> next_function(kDriver, "cuModuleGetFunction");
constinit Next<Result(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                      void**)>
    next_launch(kDriver, "cuLaunchKernel");
constinit Next<Error(void**, size_t)> next_malloc(kLibrary, "cudaMalloc");
constinit Next<Error(void*)> next_free(kLibrary, "cudaFree");
constinit Next<Error(void*, const void*, size_t, int)> next_copy(kLibrary, "cudaMemcpy");
constexpr int kHostToDevice = 1;

// Asking for digests of less than that takes longer than fetching it all.
constexpr uint64_t kWorthDigests = 16 << 20;

}  // namespace

BlockDigests::Loaded BlockDigests::load() {
  Loaded loaded;
  Module module = nullptr;
  Function kernel = nullptr;
  const DigestKeys keys = digest_keys();
  bool ready = next_load.call_or(kNotSupported, &module, mneme_digest_blocks) == kSuccess &&
               next_function.call_or(kNotSupported, &kernel, module, "digest_blocks") == kSuccess &&
               succeeds(next_malloc.call_or(kNotSupported, &loaded.keys, sizeof keys)) &&
               succeeds(next_copy.call_or(kNotSupported, loaded.keys, &keys, sizeof keys, kHostToDevice));
  if (ready) loaded.kernel = kernel;
  return loaded;
}

bool BlockDigests::make_room(Loaded& loaded, uint64_t count) {
  if (loaded.room >= count) return true;
  if (loaded.out) next_free.call_or(kNotSupported, loaded.out);
  loaded.out = nullptr;
  loaded.room = 0;
  if (!succeeds(next_malloc.call_or(kNotSupported, &loaded.out, count * sizeof(Word[2])))) return false;
  loaded.room = count;
  return true;
}

bool BlockDigests::of(int device, uint64_t address, std::span<Digest> digests) {
  const uint64_t count = digests.size();
  auto found = loaded_.find(device);
  if (found == loaded_.end()) found = loaded_.emplace(device, load()).first;
  Loaded& loaded = found->second;
  if (!loaded.kernel || count == 0 || count > UINT32_MAX || !make_room(loaded, count)) return false;
  auto blocks = static_cast<unsigned>(count);
  void* arguments[] = {&address, &blocks, &loaded.keys, &loaded.out};
  constexpr unsigned kAtOnce = kDigestThreads / kParts;
  Result status = next_launch.call_or(kNotSupported, loaded.kernel, (blocks + kAtOnce - 1) / kAtOnce, 1, 1,
                                      kDigestThreads, 1, 1, 0, nullptr, arguments, nullptr);
  static_assert(sizeof(Digest) == sizeof(Word[2]));
  return status == kSuccess &&
         succeeds(next_copy.call_or(kNotSupported, digests.data(), loaded.out, count * sizeof(Digest), kDeviceToHost));
}

void CudaRuntime::digests(const std::vector<Piece>& pieces, const TakeDigests& take) {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.size;
  if (bytes < kWorthDigests) return;
  std::lock_guard lock(digesting_);
  for (const Piece& piece : pieces) {
    OnDevice there(static_cast<int>(piece.device));
    digested_.address = piece.address;
    digested_.blocks.resize(piece.size / bundle::kBlockSize);
    if (digests_.of(static_cast<int>(piece.device), piece.address, digested_.blocks)) take(digested_);
  }
}

}  // namespace mneme::record::cuda
