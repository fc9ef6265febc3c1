// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <span>
#include <vector>

#include "verify/compare.h"
#include "verify/device_kernel.h"

namespace mneme::verify {

// Finds out what Comparison does, of a device's memory and an image of what is expected there, where the two lie. Read
// back is only what a kernel has no chunk of: elements among which some are ignored, a segment's end, elements that are
// not aligned; and those that are worst.
class ImageComparison {
 public:
  // All borrowed, but for `scale_of`. `kernel` compares what is read back.
  ImageComparison(const Layout& layout, const Readings& readings, ScaleOf scale_of, device::Device& memory,
                  device::Image& expected, ImageKernel& on_device, ElementKernel& kernel)
      : layout_(layout),
        readings_(readings),
        scale_of_(std::move(scale_of)),
        memory_(memory),
        expected_(expected),
        on_device_(on_device),
        kernel_(kernel) {}

  // Segments that differ, by address. `changes`: what the image says.
  using Changes = std::span<const device::BlockChange>;
  std::vector<bundle::SegmentDifference> differences(Changes changes);

 private:
  struct Pair {
    std::vector<std::byte> expected, actual;
  };
  Pair read(uint64_t address, uint64_t size);
  // Of the bytes of a changed block that belong to the segment.
  Range part(const Range& segment, const device::BlockChange& change) const;
  uint64_t count_bytes(const Range& segment, Changes changes);
  // A segment that is read as elements, and how.
  struct Read {
    const Range& range;
    ElementType type;
    std::optional<double> scale;
  };
  uint64_t compare_elements(const Read& segment, Changes changes, ElementComparison& elements);
  uint64_t compare_chunks(const Read& segment, uint64_t first, uint64_t count, ElementComparison& elements);
  void find_first(const Range& segment, Changes changes, bundle::SegmentDifference& difference);

  const Layout& layout_;
  const Readings& readings_;
  ScaleOf scale_of_;
  device::Device& memory_;
  device::Image& expected_;
  ImageKernel& on_device_;
  ElementKernel& kernel_;
};

}  // namespace mneme::verify
