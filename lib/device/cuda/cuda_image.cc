// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/cuda_image.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "device/cuda/block_kernels.h"
#include "device/cuda/device_memory.h"
#include "device/cuda/kernels/blocks.h"
#include "device/cuda/module.h"

namespace mneme::device::cuda {
namespace {

class CudaImage final : public Image {
 public:
  CudaImage(std::span<const BlockRange> ranges, uint64_t size, bool fits)
      : blocks_(size / kBytes), copy_(size), counts_(4 * blocks_), at_once_(fits ? kPiece : kBytes) {
    uint64_t offset = 0;
    for (const BlockRange& range : ranges) {
      pieces_.push_back({range, offset});
      offset += range.size;
    }
  }

  bool is_made() const { return copy_.address() && counts_.address(); }

  void take() override {
    for (const Piece& piece : pieces_) {
      check(driver().cuMemcpyDtoD_v2(copy_.address() + piece.offset, piece.range.address, piece.range.size),
            "keeping a copy of memory");
    }
  }

  void write(uint64_t address, Bytes blocks) override {
    check(driver().cuMemcpyHtoDAsync_v2(place(address, blocks.size()), blocks.data(), blocks.size(), nullptr),
          "writing a copy of memory");
  }

  void clear(const BlockRange& range) override {
    check(driver().cuMemsetD8Async(place(range.address, range.size), 0, range.size, nullptr),
          "writing a copy of memory");
  }

  std::vector<BlockChange> changes() override {
    for (const Piece& piece : pieces_) count(piece);
    std::vector<uint32_t> counts(blocks_);
    check(driver().cuMemcpyDtoH_v2(counts.data(), counts_.address(), sizeof(uint32_t) * counts.size()),
          "comparing memory");
    std::vector<BlockChange> changes;
    for (const Piece& piece : pieces_) {
      for (uint64_t at = 0; at < piece.range.size; at += kBytes) {
        if (uint32_t bytes = counts[(piece.offset + at) / kBytes]) changes.push_back({piece.range.address + at, bytes});
      }
    }
    return changes;
  }

  void read(uint64_t address, std::span<std::byte> blocks) override {
    check(driver().cuMemcpyDtoH_v2(blocks.data(), place(address, blocks.size()), blocks.size()),
          "reading a copy of memory");
  }

  void compare(Code& code, uint64_t address, uint64_t size, uint32_t groups, bundle::Dim3 group,
               std::span<std::byte> results) override {
    if (!results_ || results_->size() < results.size()) results_.emplace(results.size());
    if (!results_->address()) throw Error("the GPU has too little memory left to compare what is in it");
    Address memory = address, copy = place(address, size), out = results_->address();
    void* arguments[] = {&copy, &memory, &out};
    check(driver().cuLaunchKernel(static_cast<LoadedModule&>(code).function(), groups, 1, 1, group.x, group.y, group.z,
                                  0, nullptr, arguments, nullptr),
          "comparing elements");
    check(driver().cuMemcpyDtoH_v2(results.data(), out, results.size()), "comparing elements");
  }

  // By a kernel, which leaves the cache as it would be had one written this memory; the driver's copies do not. Where
  // the cache has all of it, also its parts as they would be: each is nearer to some of the processors, and neighbours
  // in a grid, as most kernels have them, write little each.
  void put_back(const BlockRange& range) override {
    Address memory = range.address, copy = place(range.address, range.size);
    unsigned bytes = at_once_;
    void* arguments[] = {&memory, &copy, &bytes};
    static Function* const put_back = block_kernel("put_back");
    check(driver().cuLaunchKernel(put_back, static_cast<unsigned>(range.size / bytes), 1, 1, kThreads, 1, 1, 0, nullptr,
                                  arguments, nullptr),
          "restoring memory");
  }

 private:
  struct Piece {
    BlockRange range;
    uint64_t offset = 0;  // in the copy
  };

  void count(const Piece& piece) {
    Address first = piece.range.address, second = copy_.address() + piece.offset;
    Address out = counts_.address() + piece.offset / kBytes * sizeof(uint32_t);
    void* arguments[] = {&first, &second, &out};
    static Function* const count_differences = block_kernel("count_differences");
    check(driver().cuLaunchKernel(count_differences, static_cast<unsigned>(piece.range.size / kBytes), 1, 1, kThreads,
                                  1, 1, 0, nullptr, arguments, nullptr),
          "comparing memory");
  }

  Address place(uint64_t address, uint64_t size) const {
    auto next = std::ranges::upper_bound(pieces_, address, {}, [](const Piece& piece) { return piece.range.address; });
    uint64_t within = next == pieces_.begin() ? 0 : address - std::prev(next)->range.address;
    if (next == pieces_.begin() || within >= std::prev(next)->range.size ||
        size > std::prev(next)->range.size - within) {
      throw Error::of("there is no copy of the memory at {:#x}", address);
    }
    return copy_.address() + std::prev(next)->offset + within;
  }

  std::vector<Piece> pieces_;  // by address
  uint64_t blocks_;
  DeviceMemory copy_, counts_;
  unsigned at_once_;                     // bytes that a group puts back
  std::optional<DeviceMemory> results_;  // of compare()
};

}  // namespace

std::unique_ptr<Image> make_image(std::span<const BlockRange> ranges, uint64_t cache_size) {
  uint64_t size = 0;
  for (const BlockRange& range : ranges) size += range.size;
  auto image = std::make_unique<CudaImage>(ranges, std::max<uint64_t>(size, kBytes), size <= cache_size);
  if (!image->is_made()) return nullptr;
  return image;
}

}  // namespace mneme::device::cuda
