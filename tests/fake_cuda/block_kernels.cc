// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "block_kernels.h"

#include <atomic>
#include <cstring>

#include "recorder/memory/kernels/digest.h"
#include "recorder/memory/kernels/gather.h"

namespace mneme::fake_cuda {
namespace {

using namespace mneme::record::cuda;

std::atomic<unsigned long long> blocks_digested = 0, blocks_gathered = 0;

void digest_blocks(unsigned, void** arguments) {
  const Word* blocks = *static_cast<const Word**>(arguments[0]);
  unsigned count = *static_cast<unsigned*>(arguments[1]);
  const DigestKeys& keys = **static_cast<const DigestKeys**>(arguments[2]);
  Word* out = *static_cast<Word**>(arguments[3]);
  blocks_digested += count;
  for (unsigned block = 0; block < count; ++block) {
    DigestPart sum{0, 0};
    for (unsigned part = 0; part < kParts; ++part) {
      DigestPart one = part_of_digest(blocks + Word{block} * kDigestedWords, part, keys);
      sum.low += one.low;
      sum.high += one.high;
    }
    DigestPart digest = digest_of_parts(sum);
    out[2 * block] = digest.high;
    out[2 * block + 1] = digest.low;
  }
}

void gather_blocks(unsigned grid, void** arguments) {
  const Gathered& from = *static_cast<const Gathered*>(arguments[0]);
  Word* out = *static_cast<Word**>(arguments[1]);
  blocks_gathered += grid;
  for (unsigned block = 0; block < grid; ++block) {
    std::memcpy(out + Word{block} * kDigestedWords, from.blocks[block], kDigestedWords * sizeof(Word));
  }
}

struct BlockKernel {
  std::string_view name;
  void (*play)(unsigned grid, void** arguments);
};
constexpr BlockKernel kKernels[] = {{"digest_blocks", digest_blocks}, {"gather_blocks", gather_blocks}};
char the_module;

hipFunction_t handle_of(const BlockKernel& kernel) {
  return reinterpret_cast<hipFunction_t>(const_cast<BlockKernel*>(&kernel));
}

}  // namespace

bool is_block_image(const void* image) {
  constexpr unsigned kFatBinary = 0xBA55ED50;
  return std::memcmp(image, "//\n", 3) == 0 || std::memcmp(image, &kFatBinary, sizeof kFatBinary) == 0;
}

hipModule_t block_module() { return reinterpret_cast<hipModule_t>(&the_module); }
bool is_block_module(hipModule_t module) { return module == block_module(); }

hipFunction_t find_block_kernel(std::string_view name) {
  for (const BlockKernel& kernel : kKernels) {
    if (kernel.name == name) return handle_of(kernel);
  }
  return nullptr;
}

bool play_block_kernel(hipFunction_t function, unsigned grid, void** arguments) {
  for (const BlockKernel& kernel : kKernels) {
    if (handle_of(kernel) != function) continue;
    kernel.play(grid, arguments);
    return true;
  }
  return false;
}

}  // namespace mneme::fake_cuda

// For the programs of the tests: at how much the recorder had the device look, and how much it had it bring together.
extern "C" unsigned long long cuFakeDigests() { return mneme::fake_cuda::blocks_digested; }
extern "C" unsigned long long cuFakeGathered() { return mneme::fake_cuda::blocks_gathered; }
