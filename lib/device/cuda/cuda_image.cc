// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/cuda_image.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "device/cuda/driver.h"
#include "device/cuda/kernels/blocks.h"

// The PTX that the build makes of kernels/blocks.cc, and the zero that ends a text.
asm(".pushsection .rodata\n"
    "mneme_cuda_blocks_ptx:\n"
    ".incbin \"" MNEME_BLOCKS_PTX
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char mneme_cuda_blocks_ptx[];

namespace mneme::device::cuda {
namespace {

// Loaded once: the driver's compiler takes its time.
Function* count_differences() {
  static Function* const function = [] {
    Module* module = nullptr;
    Function* found = nullptr;
    check(driver().cuModuleLoadData(&module, mneme_cuda_blocks_ptx), "loading the comparison of memory");
    check(driver().cuModuleGetFunction(&found, module, "count_differences"), "finding the comparison of memory");
    return found;
  }();
  return function;
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) {
    if (driver().cuMemAlloc_v2(&address_, bytes) != 0) address_ = 0;
  }
  ~DeviceMemory() {
    if (address_) driver().cuMemFree_v2(address_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  Address address() const { return address_; }  // 0: there was not enough

 private:
  Address address_ = 0;
};

class CudaImage final : public Image {
 public:
  CudaImage(std::span<const BlockRange> ranges, uint64_t size)
      : blocks_(size / kBytes), copy_(size), counts_(4 * blocks_) {
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
    check(driver().cuMemcpyHtoD_v2(place(address), blocks.data(), blocks.size()), "writing a copy of memory");
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

  void put_back(uint64_t address) override {
    check(driver().cuMemcpyDtoDAsync_v2(address, place(address), kBytes, nullptr), "restoring memory");
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
    check(driver().cuLaunchKernel(count_differences(), static_cast<unsigned>(piece.range.size / kBytes), 1, 1, kThreads,
                                  1, 1, 0, nullptr, arguments, nullptr),
          "comparing memory");
  }

  Address place(uint64_t address) const {
    auto next = std::ranges::upper_bound(pieces_, address, {}, [](const Piece& piece) { return piece.range.address; });
    if (next == pieces_.begin() || address - std::prev(next)->range.address >= std::prev(next)->range.size) {
      throw Error::of("there is no copy of the block at {:#x}", address);
    }
    return copy_.address() + std::prev(next)->offset + (address - std::prev(next)->range.address);
  }

  std::vector<Piece> pieces_;  // by address
  uint64_t blocks_;
  DeviceMemory copy_, counts_;
};

}  // namespace

std::unique_ptr<Image> make_image(std::span<const BlockRange> ranges) {
  uint64_t size = 0;
  for (const BlockRange& range : ranges) size += range.size;
  auto image = std::make_unique<CudaImage>(ranges, std::max<uint64_t>(size, kBytes));
  if (!image->is_made()) return nullptr;
  return image;
}

}  // namespace mneme::device::cuda
