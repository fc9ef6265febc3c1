// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "device/device.h"
#include "device/message_of.h"
#include "memory/arena.h"

namespace mneme::device {
namespace {

using memory::kDeviceBase;
using testing::HasSubstr;

// What it shares with other devices is in contract_test.cc.
TEST(HostDevice, TakesNothingTwice) {
  auto device = make_host_device();
  device->map(kDeviceBase, 2 * bundle::kBlockSize);
  EXPECT_THAT(message_of([&] { device->map(kDeviceBase + bundle::kBlockSize, bundle::kBlockSize); }),
              HasSubstr("0x400000010000-0x400000020000 is taken"));
  EXPECT_THAT(message_of([&] { device->map(kDeviceBase + 1, bundle::kBlockSize); }), HasSubstr("not made of blocks"));
  device.reset();
  EXPECT_NO_THROW(make_host_device()->map(kDeviceBase, bundle::kBlockSize)) << "destroying the device unmaps";
}

// testdata/plain.cc: variables "table", "first" and "second" (point into it) and "calls" (counts blocks).
TEST(HostDevice, PlacesRecordedVariablesAndOwnsOthers) {
  auto device = make_host_device();
  device->map(kDeviceBase, 4 * bundle::kBlockSize);
  bundle::KernelInfo kernel;
  kernel.demangled = "plain";
  std::string file = read_file(FIXTURES "/host_code_plain.so");
  auto code = device->load(kernel, bytes_of(file));

  Launch launch;
  launch.grid = {3, 1, 1};
  uint64_t seen = kDeviceBase + bundle::kBlockSize;
  launch.arguments.assign(reinterpret_cast<const char*>(&seen), 8);
  launch.segments.push_back({kDeviceBase, 16, bundle::SegmentKind::kGlobal, "table", ""});
  launch.segments.push_back({kDeviceBase + 256, 8, bundle::SegmentKind::kGlobal, "calls", ""});
  long table[2] = {100, 11};
  device->write(kDeviceBase, std::as_bytes(std::span(table)));
  for (long launches = 1; launches <= 2; ++launches) {
    EXPECT_GT(device->execute(*code, launch), 0u);
    long calls = 0, sum = 0;
    device->read(kDeviceBase + 256, std::as_writable_bytes(std::span(&calls, 1)));
    device->read(seen + 48, std::as_writable_bytes(std::span(&sum, 1)));
    EXPECT_EQ(calls, 3 * launches) << "a recorded variable keeps what it holds";
    EXPECT_EQ(sum, 111) << "own variables point at the recorded one";
  }

  launch.block = {32, 33, 1};
  EXPECT_THAT(message_of([&] { device->execute(*code, launch); }),
              HasSubstr("its launch bounds allow 1024 threads in a block, and a block of (32, 33, 1) has 1056"));
  launch.block = {1, 1, 1};
  launch.segments[0].size = 8;
  EXPECT_THAT(message_of([&] { device->execute(*code, launch); }), HasSubstr("'table' has 16 bytes in the code but 8"));
  launch.segments[0].address = 0x1000;
  EXPECT_THAT(message_of([&] { device->execute(*code, launch); }), HasSubstr("not mapped"));
}

}  // namespace
}  // namespace mneme::device
