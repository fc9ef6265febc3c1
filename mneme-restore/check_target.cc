// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check_target.h"

#include "cli/options.h"
#include "verify/compare.h"
#include "verify/layout.h"

namespace mneme::restore {

using bundle::kBlockSize;

void CheckTarget::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  verify::Layout layout(instance.info.segments);
  std::unique_ptr<device::Device> device = make_();
  device->expect(device::device_ranges(reader.info()));
  for (const verify::Range& range : layout.ranges()) device->map(range.address, range.size);
  std::vector<std::byte> buffer(kBlockSize);
  for (const bundle::State* state : {&instance.prologue, &instance.epilogue}) {
    // All is written before any is read: a block that lands on another is noticed.
    for (const bundle::BlockReference& block : state->blocks) device->write(block.address, reader.block(block.digest));
    verify::Comparison comparison(layout);
    for (const bundle::BlockReference& block : state->blocks) {
      device->read(block.address, buffer);
      comparison.add(block.address, reader.block(block.digest), buffer);
    }
    states_++;
    bytes_ += layout.segment_bytes();
    for (const bundle::SegmentDifference& difference : comparison.differences()) {
      all_equal_ = false;
      cli::note(
          fmt::format("not restored: {} of instance {}: in the segment at {:#x} {} bytes differ on the device, the "
                      "first at offset {}: {:#04x} was written, {:#04x} read back",
                      state == &instance.prologue ? "prologue" : "epilogue", instance.info.id.hex().substr(0, 12),
                      difference.address, difference.bytes, difference.first, difference.expected, difference.actual));
    }
  }
}

}  // namespace mneme::restore
