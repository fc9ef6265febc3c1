// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/gpu_image.h"

#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "device/gpu/device_memory.h"
#include "device/gpu/kernels/blocks.h"

namespace mneme::device::gpu {
namespace {

// What device memory holds, in memory of the host's that the GPU reads by itself.
class HostCopy {
 public:
  HostCopy(Gpu& gpu, uint64_t address, uint64_t size) : gpu_(gpu) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw system_error("cannot keep a copy of memory");
    bytes_ = {static_cast<std::byte*>(memory), size};
    pinned_ = gpu.pin(bytes_);  // what is not is copied by the driver first
    gpu.read(address, bytes_, "keeping a copy of memory");
  }
  ~HostCopy() {
    try {
      gpu_.wait("restoring memory");  // which may be on its way from here
    } catch (const Error&) {          // a GPU that is broken reads nothing any more
    }
    if (pinned_) gpu_.unpin(bytes_.data());
    ::munmap(bytes_.data(), bytes_.size());
  }
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;
  operator Bytes() const { return bytes_; }

 private:
  Gpu& gpu_;
  std::span<std::byte> bytes_;
  bool pinned_ = false;
};

class GpuImage final : public Image {
 public:
  GpuImage(Gpu& gpu, std::span<const BlockRange> ranges, uint64_t size)
      : gpu_(gpu),
        blocks_(size / kBytes),
        copy_(gpu, size),
        counts_(gpu, sizeof(uint32_t) * blocks_),
        at_once_(size <= gpu.cache_size() ? kPiece : kBytes) {
    uint64_t offset = 0;
    for (const BlockRange& range : ranges) {
      pieces_.push_back({range, offset});
      offset += range.size;
    }
  }

  bool is_made() const { return copy_.address() && counts_.address(); }

  void take() override {
    host_.reset();
    for (const Piece& piece : pieces_) {
      gpu_.copy(copy_.address() + piece.offset, piece.range.address, piece.range.size, "keeping a copy of memory");
    }
  }

  void write(uint64_t address, Bytes blocks) override {
    host_.reset();
    gpu_.begin_write(place(address, blocks.size()), blocks, "writing a copy of memory");
  }

  void clear(const BlockRange& range) override {
    host_.reset();
    gpu_.clear(place(range.address, range.size), range.size, "writing a copy of memory");
  }

  std::vector<BlockChange> changes() override {
    for (const Piece& piece : pieces_) count(piece);
    std::vector<uint32_t> counts(blocks_);
    gpu_.read(counts_.address(), std::as_writable_bytes(std::span(counts)), "comparing memory");
    std::vector<BlockChange> changes;
    for (const Piece& piece : pieces_) {
      for (uint64_t at = 0; at < piece.range.size; at += kBytes) {
        if (uint32_t bytes = counts[(piece.offset + at) / kBytes]) changes.push_back({piece.range.address + at, bytes});
      }
    }
    return changes;
  }

  void read(uint64_t address, std::span<std::byte> blocks) override {
    gpu_.read(place(address, blocks.size()), blocks, "reading a copy of memory");
  }

  void compare(Code& code, uint64_t address, uint64_t size, uint32_t groups, bundle::Dim3 group, double number,
               std::span<std::byte> results) override {
    if (!results_ || results_->size() < results.size()) results_.emplace(gpu_, results.size());
    if (!results_->address())
      throw Error("the GPU has too little memory left to compare its memory with the recording");
    uint64_t memory = address, copy = place(address, size), out = results_->address();
    void* arguments[] = {&copy, &memory, &out, &number};
    gpu_.start(code, groups, group, arguments, "comparing elements");
    gpu_.read(out, results, "comparing elements");
  }

  // By a kernel, which leaves the cache as it would be had one written this memory; the driver's copies do not. Where
  // the cache has all of it, also its parts as they would be: each is nearer to some of the processors, and neighbours
  // in a grid, as most kernels have them, write little each.
  void put_back(const BlockRange& range) override {
    uint64_t memory = range.address, copy = place(range.address, range.size);
    unsigned bytes = at_once_;
    void* arguments[] = {&memory, &copy, &bytes};
    gpu_.start(BlockKernel::kPutBack, range.size / bytes, arguments, "restoring memory");
  }

  void put_back_from_host(const BlockRange& range) override {
    if (!host_) host_.emplace(gpu_, copy_.address(), blocks_ * kBytes);
    uint64_t offset = place(range.address, range.size) - copy_.address();
    gpu_.begin_write(range.address, Bytes(*host_).subspan(offset, range.size), "restoring memory");
  }

 private:
  struct Piece {
    BlockRange range;
    uint64_t offset = 0;  // in the copy
  };

  void count(const Piece& piece) {
    uint64_t first = piece.range.address, second = copy_.address() + piece.offset;
    uint64_t out = counts_.address() + piece.offset / kBytes * sizeof(uint32_t);
    void* arguments[] = {&first, &second, &out};
    gpu_.start(BlockKernel::kCountDifferences, piece.range.size / kBytes, arguments, "comparing memory");
  }

  uint64_t place(uint64_t address, uint64_t size) const {
    auto next = std::ranges::upper_bound(pieces_, address, {}, [](const Piece& piece) { return piece.range.address; });
    uint64_t within = next == pieces_.begin() ? 0 : address - std::prev(next)->range.address;
    if (next == pieces_.begin() || within >= std::prev(next)->range.size ||
        size > std::prev(next)->range.size - within) {
      throw Error::of("there is no copy of the memory at {:#x}", address);
    }
    return copy_.address() + std::prev(next)->offset + within;
  }

  Gpu& gpu_;
  std::vector<Piece> pieces_;  // by address
  uint64_t blocks_;
  DeviceMemory copy_, counts_;
  std::optional<HostCopy> host_;
  unsigned at_once_;                     // bytes that a group puts back
  std::optional<DeviceMemory> results_;  // of compare()
};

}  // namespace

std::unique_ptr<Image> make_image(Gpu& gpu, std::span<const BlockRange> ranges) {
  if (!gpu.has_block_kernels()) return nullptr;
  uint64_t size = 0;
  for (const BlockRange& range : ranges) size += range.size;
  auto image = std::make_unique<GpuImage>(gpu, ranges, std::max<uint64_t>(size, kBytes));
  if (image->is_made()) return image;
  gpu.lack_images("the GPU has too little memory left for copies of the recorded memory");
  return nullptr;
}

}  // namespace mneme::device::gpu
