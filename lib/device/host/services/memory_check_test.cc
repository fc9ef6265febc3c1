// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/memory_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/host/heap/device_heap.h"
#include "device/host/services/segment_memory.h"

namespace mneme::device::host {
namespace {

constexpr uint64_t kBase = 0x400000000000;

struct Places : testing::Test {
  std::vector<KnownMemory> memory = {{kBase, 4096, "a"}, {kBase + 4096, 64, "b"}, {kBase + 0x10000, 16, "c"}};
  std::vector<KnownMemory> freed = {{kBase + 0x8000, 100, "f"}};
  RunOptions options;
  Places() { options.memory = memory, options.freed = freed; }
  std::string of(uint64_t origin, uint64_t address, uint64_t size = 4) {
    return describe_place(options, origin, address, size);
  }
};

TEST_F(Places, AreToldFromWhatThePointerBeganIn) {
  EXPECT_EQ(of(kBase, kBase + 4096), "0 bytes after a");
  EXPECT_EQ(of(kBase + 8, kBase + 4096 + 16), "16 bytes after a");
  EXPECT_EQ(of(kBase + 4096, kBase + 4095, 1), "1 byte before b");
  EXPECT_EQ(of(kBase, kBase + 4092, 8), "of which the last 4 are beyond the end of a");
}

TEST_F(Places, OrElseFromTheNearest) {
  uint64_t nowhere = kBase + 0x7000;
  EXPECT_EQ(of(nowhere, kBase + 4096 + 64 + 3), "3 bytes after b");
  EXPECT_EQ(of(nowhere, kBase + 0x10000 - 8), "8 bytes before c");
  EXPECT_EQ(of(nowhere, kBase + 0x10000 + (1 << 22)), "where the device has no memory");
  EXPECT_EQ(of(kBase - 16, kBase - 16), "16 bytes before a");
}

TEST_F(Places, MayBeFreedOrNull) {
  EXPECT_EQ(of(kBase + 0x8000, kBase + 0x8000 + 96), "in f, which was freed");
  EXPECT_EQ(of(kBase + 0x8000, kBase + 0x8000 + 100), "0 bytes after f, which was freed");
  EXPECT_EQ(of(0, 0), "a null pointer");
  EXPECT_EQ(of(0, 400000), "400000 bytes after a null pointer");
}

TEST_F(Places, WithNoMemoryAtAll) {
  options.memory = {};
  options.freed = {};
  EXPECT_EQ(of(kBase, kBase), "where the device has no memory");
}

struct HeapPlaces : testing::Test {
  alignas(16) std::byte bytes[1 << 14] = {};
  DeviceHeap heap{bytes};
  uint64_t a = allocated(40), b = allocated(24);
  std::vector<KnownMemory> memory = {{heap.begin(), sizeof bytes, kHeapText}, {kBase, 64, "m"}};
  RunOptions options;
  HeapPlaces() {
    std::ranges::sort(memory, {}, &KnownMemory::address);
    options.heap = &heap;
    options.memory = memory;
  }
  uint64_t allocated(uint64_t size) { return reinterpret_cast<uint64_t>(heap.allocate(size).address); }
  std::string of(uint64_t origin, uint64_t address, uint64_t size = 4) {
    return describe_place(options, origin, address, size);
  }
};
constexpr char kFirst[] = "a 40-byte allocation made by malloc in a kernel";
constexpr char kSecond[] = "a 24-byte allocation made by malloc in a kernel";

TEST_F(HeapPlaces, AreToldFromThePieceThatThePointerBeganIn) {
  EXPECT_EQ(of(a, a + 40), std::string("0 bytes after ") + kFirst);
  EXPECT_EQ(of(a + 39, a + 38), std::string("of which the last 2 are beyond the end of ") + kFirst);
  EXPECT_EQ(of(b, a), fmt::format("{} bytes before {}", b - a, kSecond));
  EXPECT_EQ(of(b, heap.end() + 8), fmt::format("{} bytes after {}", heap.end() + 8 - b - 24, kSecond));
}

TEST_F(HeapPlaces, OrElseFromTheNearestPiece) {
  EXPECT_EQ(of(b - 1, b - 1, 1), std::string("1 byte before ") + kSecond);
  EXPECT_EQ(of(heap.end() - 16, heap.end() - 16), fmt::format("{} bytes after {}", heap.end() - 16 - b - 24, kSecond));
  EXPECT_EQ(of(kBase, b), fmt::format("{} bytes after m", b - kBase - 64));
  EXPECT_EQ(of(0, b), fmt::format("{} bytes after a null pointer", b));
}

TEST_F(HeapPlaces, MayBeFreed) {
  heap.piece_at(a);
  heap.release(reinterpret_cast<void*>(b));
  EXPECT_EQ(of(b, b), std::string("in ") + kSecond + ", which was freed");
  EXPECT_EQ(of(b, b + 24), std::string("0 bytes after ") + kSecond + ", which was freed");
  heap.release(reinterpret_cast<void*>(a));
  EXPECT_EQ(of(b + 8, b + 8), std::string("in ") + kSecond + ", which was freed");
  EXPECT_EQ(of(heap.end() - 16, heap.end() - 16), "in the device's heap, where no kernel has allocated anything");
}

bundle::Segment segment(uint64_t offset, uint64_t size, const char* symbol = "", const char* annotation = "") {
  return {kBase + offset, size, symbol[0] ? bundle::SegmentKind::kGlobal : bundle::SegmentKind::kHeap, symbol,
          annotation};
}

TEST(SegmentMemory, AnnotationsDoNotDivideAllocations) {
  std::vector<bundle::Segment> segments = {segment(0, 256), segment(256, 100, "", "{}"), segment(512, 8, "_ZL1v"),
                                           segment(768, 8)};
  int own = 0;
  codegen::host::GlobalSlot slots[2] = {{"_ZL1v", 8, 8, nullptr, nullptr, 0, reinterpret_cast<void*>(kBase + 512)},
                                        {"w", 4, 4, nullptr, nullptr, 0, &own}};
  std::vector<KnownMemory> known = known_memory(segments, slots);
  ASSERT_EQ(known.size(), 4u);
  auto find = [&](uint64_t address) {
    for (const KnownMemory& memory : known) {
      if (memory.address == address) return memory;
    }
    return KnownMemory{};
  };
  EXPECT_EQ(find(kBase).what, "a 356-byte allocation of device memory");
  EXPECT_EQ(find(kBase).size, 356u);
  EXPECT_EQ(find(kBase + 512).what, "the variable 'v'");
  EXPECT_EQ(find(reinterpret_cast<uint64_t>(&own)).what, "the variable 'w'");
}

}  // namespace
}  // namespace mneme::device::host
