// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Against Comparison, which is given all blocks.
#include "verify/image_comparison.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace mneme::verify {
namespace {

using bundle::kBlockSize;

constexpr uint64_t kBase = 0x400000000000;

// Memory that lies here, at other addresses; counts what is read back.
struct Memory {
  std::string bytes;
  uint64_t read_back = 0;

  std::byte* at(uint64_t address) { return reinterpret_cast<std::byte*>(&bytes.at(address - kBase)); }
  void read(uint64_t address, std::span<std::byte> out) {
    read_back += out.size();
    std::memcpy(out.data(), at(address), out.size());
  }
};

class FakeImage final : public device::Image {
 public:
  explicit FakeImage(Memory& memory) : memory_(memory) {}
  void take() override {}
  void clear(const device::BlockRange&) override {}
  std::vector<device::BlockChange> changes() override { return {}; }
  void put_back(const device::BlockRange&) override {}
  void read(uint64_t address, std::span<std::byte> bytes) override { memory_.read(address, bytes); }
  void write(uint64_t, Bytes) override {}
  void compare(device::Code&, uint64_t, uint64_t, uint32_t, bundle::Dim3, double, std::span<std::byte>) override {}

 private:
  Memory& memory_;
};

class FakeDevice final : public device::Device {
 public:
  explicit FakeDevice(Memory& memory) : memory_(memory) {}
  std::string name() const override { return "played"; }
  std::string clock() const override { return "steady"; }
  bool runs_in_this_process() const override { return true; }
  void map(uint64_t, uint64_t) override {}
  void write(uint64_t, Bytes) override {}
  void read(uint64_t address, std::span<std::byte> out) override { memory_.read(address, out); }
  std::unique_ptr<device::Code> load(const bundle::KernelInfo&, Bytes) override { return nullptr; }
  uint64_t execute(device::Code&, const device::Launch&) override { return 0; }

 private:
  Memory& memory_;
};

class FakeKernel final : public ImageKernel {
 public:
  FakeKernel(Memory& expected, Memory& actual) : expected_(expected), actual_(actual) {}
  void compare(ElementType type, Measure measure, device::Image&, uint64_t address,
               std::span<ChunkErrors> out) override {
    if (!measure) chunks += out.size();
    expected_.at(address + out.size() * kChunk * size_of(type) - 1);  // is there
    plain_element_kernel().compare(type, measure, expected_.at(address), actual_.at(address), out);
  }
  uint64_t chunks = 0;

 private:
  Memory &expected_, &actual_;
};

// Some have none.
std::optional<double> scale_of(size_t segment) {
  return segment % 3 == 2 ? std::nullopt : std::optional(static_cast<double>(segment * 1000));
}

struct Scene {
  std::vector<bundle::Segment> segments;
  Readings readings;
  Memory expected, actual;
  uint64_t compared_on_device = 0;

  explicit Scene(uint64_t blocks) {
    expected.bytes.resize(blocks * kBlockSize);
    for (size_t i = 0; i < expected.bytes.size(); i++) expected.bytes[i] = static_cast<char>(i % 251 + i % 7);
    actual.bytes = expected.bytes;
  }

  void add(uint64_t offset, uint64_t size, std::optional<Reading> reading) {
    segments.emplace_back();
    segments.back().address = kBase + offset;
    segments.back().size = size;
    readings.push_back(std::move(reading));
  }

  std::vector<bundle::SegmentDifference> wanted() {
    Layout layout(segments);
    Comparison comparison(layout, readings, scale_of);
    for (const Range& range : layout.ranges()) {
      comparison.add(range.address, {expected.at(range.address), range.size}, {actual.at(range.address), range.size});
    }
    return comparison.differences();
  }

  std::vector<bundle::SegmentDifference> found() {
    Layout layout(segments);
    std::vector<device::BlockChange> changes;
    for (const Range& range : layout.ranges()) {
      for (uint64_t block = range.address; block < range.address + range.size; block += kBlockSize) {
        uint64_t bytes = count_differences({expected.at(block), kBlockSize}, {actual.at(block), kBlockSize});
        if (bytes > 0) changes.push_back({block, bytes});
      }
    }
    expected.read_back = actual.read_back = 0;
    FakeImage image(expected);
    FakeDevice device(actual);
    FakeKernel kernel(expected, actual);
    auto differences =
        ImageComparison(layout, readings, scale_of, device, image, kernel, plain_element_kernel()).differences(changes);
    compared_on_device = kernel.chunks;
    return differences;
  }
};

TEST(ImageComparison, FindsWhatComparisonDoes) {
  std::mt19937_64 random(5);
  size_t different = 0, on_device = 0;
  for (int round = 0; round < 150; round++) {
    Scene scene(24);
    uint64_t at = random() % 300;
    while (at < 20 * kBlockSize) {
      std::optional<Reading> reading;
      auto type = static_cast<ElementType>(random() % kElementTypes);
      if (random() % 4 > 0) reading = Reading{type, {}};
      uint64_t size = random() % 3 ? 1 + random() % (4 * kBlockSize) : 1 + random() % 5000;
      if (random() % 2) at = (at + 15) / 16 * 16;
      if (reading && random() % 3 == 0) {
        for (uint64_t first = random() % 3000; reading->ignored.size() < 3; first += 100 + random() % 20'000) {
          reading->ignored.push_back({first, 1 + random() % 90});
        }
      }
      scene.add(at, size, reading);
      at += size + (random() % 2 ? random() % 200 : random() % 100'000);
    }
    const bool few = random() % 2;
    for (uint64_t i = few ? random() % 2000 : 0; i < scene.actual.bytes.size();) {
      scene.actual.bytes[i] = static_cast<char>(scene.actual.bytes[i] ^ static_cast<char>(1 << random() % 8));
      i += 1 + random() % (few ? 300'000 : 40);
    }
    auto wanted = scene.wanted();
    EXPECT_EQ(scene.found(), wanted) << "round " << round;
    different += wanted.size();
    on_device += scene.compared_on_device;
  }
  EXPECT_GT(different, 300u);
  EXPECT_GT(on_device, 1000u);
}

// The later chunks the worse: that of the last is read.
TEST(ImageComparison, ReadsBackLittle) {
  Scene scene(64);
  scene.add(0, 64 * kBlockSize, Reading{ElementType::kF32, {}});
  for (size_t at = 0; at < scene.actual.bytes.size(); at += sizeof(float)) {
    float one = 1, other = 2 + static_cast<float>(at);
    std::memcpy(&scene.expected.bytes[at], &one, sizeof one);
    std::memcpy(&scene.actual.bytes[at], &other, sizeof other);
  }
  EXPECT_EQ(scene.found(), scene.wanted());
  EXPECT_EQ(scene.compared_on_device, 64 * kBlockSize / sizeof(float) / kChunk);
  EXPECT_LE(scene.actual.read_back, 4 * kChunk * sizeof(float) + kBlockSize);
}

TEST(ImageComparison, WhatLiesBesideSegmentsIsNone) {
  Scene scene(2);
  scene.add(100, 1000, Reading{ElementType::kU8, {}});
  scene.add(2000, 1000, std::nullopt);
  scene.actual.bytes[50]++;
  scene.actual.bytes[1500]++;
  scene.actual.bytes[3000]++;
  EXPECT_TRUE(scene.found().empty());
  scene.actual.bytes[2999]++;
  EXPECT_EQ(scene.found().size(), 1u);
}

}  // namespace
}  // namespace mneme::verify
