// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/translation.h"

#include <algorithm>

#include "base/error.h"
#include "device/gpu/device_memory.h"
#include "device/gpu/kernels/blocks.h"

namespace mneme::device::gpu {
namespace {

static_assert(sizeof(Way) == sizeof(Moves::Way) && offsetof(Way, target) == offsetof(Moves::Way, target));

constexpr char kTranslating[] = "translating addresses";
constexpr uint64_t kAtOnce = uint64_t{16} << 20;  // bytes that the host has in hand

}  // namespace

void Translation::there(const Moves& moves) const {
  if (moves.all().empty()) return;
  gpu_.has_block_kernels() ? on_gpu(moves.ways_there()) : by_host(moves, true);
}

void Translation::back(const Moves& moves) const {
  if (moves.all().empty()) return;
  gpu_.has_block_kernels() ? on_gpu(moves.ways_back()) : by_host(moves, false);
}

void Translation::on_gpu(const std::vector<Moves::Way>& ways) const {
  if (ways.empty()) return;
  DeviceMemory table(gpu_, ways.size() * sizeof(Way));
  if (!table.address()) throw Error("the GPU has no memory left to translate addresses of variables");
  gpu_.write(table.address(), std::as_bytes(std::span(ways)), kTranslating);
  for (auto [begin, end] : ranges_) {
    uint64_t words = begin, entries = table.address();
    auto count = static_cast<unsigned>(ways.size());
    void* arguments[] = {&words, &entries, &count};
    gpu_.start(BlockKernel::kTranslate, (end - begin) / kBytes, arguments, kTranslating);
  }
  gpu_.wait(kTranslating);
}

void Translation::by_host(const Moves& moves, bool there) const {
  std::vector<std::byte> before, after;
  for (auto [begin, end] : ranges_) {
    for (uint64_t at = begin; at < end; at += before.size()) {
      before.resize(std::min(kAtOnce, end - at));
      gpu_.read(at, before, kTranslating);
      after = before;
      there ? moves.there(after) : moves.back(after);
      if (after != before) gpu_.write(at, after, kTranslating);
    }
  }
}

}  // namespace mneme::device::gpu
