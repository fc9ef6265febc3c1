// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plain comparison against long double, and that of devices against the plain one, bit by bit: of the host, and of
// the GPU that $MNEME_TEST_DEVICE names. What plays AMD's runtime executes the kernels for its GPUs.
#include "verify/element_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "base/file.h"
#include "memory/arena.h"
#include "verify/device_kernel.h"
#include "verify/errors.h"
#include "verify/kernels/code_pack.h"

namespace mneme::verify {
namespace {

constexpr size_t kChunks = 5;

std::string text(const ErrorSums& sums) {
  char out[200];
  std::snprintf(out, sizeof out, "sum %a squares %a (scale %llu) largest %a", sums.sum, sums.squares, +sums.scale,
                sums.largest);
  return out;
}

bool same(const ErrorSums& a, const ErrorSums& b) {
  return a.sum == b.sum && a.squares == b.squares && a.largest == b.largest && a.scale == b.scale;
}

// A GPU's, which the host device runs.
class GpuKernelHere : public ElementKernel {
 public:
  GpuKernelHere(device::Device& device, const std::string& pack) : device_(device), pack_(read_file(pack)) {}
  void compare(ElementType type, Measure measure, const std::byte* expected, const std::byte* replayed,
               std::span<ChunkErrors> out) override {
    bundle::KernelInfo kernel;
    kernel.name = kernel.demangled = comparison_kernel_name(type, measure.has_value());
    std::unique_ptr<device::Code> code = device_.load(kernel, packed_code(bytes_of(pack_), type, measure.has_value()));
    device::Launch launch;
    launch.grid = {static_cast<uint32_t>(out.size()), 1, 1};
    launch.block = {kLanes, kRows, 1};
    const void* arguments[] = {expected, replayed, out.data()};
    const double scale = measure.value_or(0);
    launch.arguments.assign(reinterpret_cast<const char*>(arguments), sizeof arguments);
    launch.arguments.append(reinterpret_cast<const char*>(&scale), sizeof scale);
    device_.execute(*code, launch);
  }

 private:
  device::Device& device_;
  std::string pack_;
};

std::string named() {
  const char* name = std::getenv("MNEME_TEST_DEVICE");
  return name ? name : "host";
}

// Memory of a GPU and an image of what is expected there.
class OnGpu : public ElementKernel {
 public:
  explicit OnGpu(device::Device& device) : device_(device), kernel_(make_image_kernel(device)) {
    device.map(kRange.address, kRange.size);
    image_ = device.make_image(std::span(&kRange, 1));
  }
  bool is_there() const { return kernel_ && image_; }

  void compare(ElementType type, Measure measure, const std::byte* expected, const std::byte* replayed,
               std::span<ChunkErrors> out) override {
    const size_t size = out.size() * kChunk * size_of(type);
    image_->write(kRange.address, {expected, size});
    device_.mark(0);
    device_.write(kRange.address, {replayed, size});
    kernel_->compare(type, measure, *image_, kRange.address, out);
    device_.wait_for(0);
  }

 private:
  static constexpr device::BlockRange kRange = {memory::kDeviceBase, 8 * bundle::kBlockSize};
  static_assert(kRange.size >= kChunks * kChunk * 16);  // of the largest elements

  device::Device& device_;
  std::unique_ptr<ImageKernel> kernel_;
  std::unique_ptr<device::Image> image_;
};

// On the GPU; or on what the machine has of x86-64's levels, and what GPUs' kernels do on the host.
struct Both {
  std::unique_ptr<device::Device> device = device::make_device(named());
  std::optional<OnGpu> on_gpu;

  Both() {
    if (named() != "host") on_gpu.emplace(*device);
  }

  void expect_same(ElementType type, const std::string& expected, const std::string& replayed, const char* what) {
    if (on_gpu) return expect_same(*on_gpu, type, expected, replayed, what);
    for (unsigned level : {2, 3, 4}) {
      SCOPED_TRACE(level);
      expect_same(*make_device_kernel(*device, level), type, expected, replayed, what);
    }
    for (const char* pack : {CUDA_KERNELS, HIP_KERNELS}) {
      SCOPED_TRACE(pack);
      GpuKernelHere gpu(*device, pack);
      expect_same(gpu, type, expected, replayed, what);
    }
  }

  void expect_same(ElementKernel& kernel, ElementType type, const std::string& expected, const std::string& replayed,
                   const char* what) {
    for (Measure measure : {kPlainMeasure, Measure(0), Measure(1), Measure(0x1p-1060), Measure(1e300)}) {
      SCOPED_TRACE(measure.value_or(-1));
      expect_same(kernel, type, measure, expected, replayed, what);
    }
  }

  void expect_same(ElementKernel& kernel, ElementType type, Measure measure, const std::string& expected,
                   const std::string& replayed, const char* what) {
    size_t count = expected.size() / size_of(type) / kChunk;
    std::vector<ChunkErrors> plain(count), ours(count);
    auto* e = reinterpret_cast<const std::byte*>(expected.data());
    auto* r = reinterpret_cast<const std::byte*>(replayed.data());
    plain_element_kernel().compare(type, measure, e, r, plain);
    kernel.compare(type, measure, e, r, ours);
    for (size_t i = 0; i < count; i++) {
      EXPECT_EQ(ours[i].differ, plain[i].differ) << what << " " << name_of(type) << " chunk " << i;
      EXPECT_EQ(ours[i].bytes, plain[i].bytes) << what << " " << name_of(type) << " chunk " << i;
      for (auto norm : {&ChunkErrors::first, &ChunkErrors::second}) {
        EXPECT_PRED2(same, ours[i].*norm, plain[i].*norm) << what << " " << name_of(type) << " chunk " << i << "\n"
                                                          << text(ours[i].*norm) << "\n"
                                                          << text(plain[i].*norm);
      }
    }
  }
};

class EveryType : public testing::TestWithParam<ElementType> {
 protected:
  void SetUp() override {
    if (both_.on_gpu && !both_.on_gpu->is_there()) GTEST_SKIP() << "this device has none";
  }
  size_t bytes() const { return kChunks * kChunk * size_of(GetParam()); }
  Both both_;
  std::mt19937_64 random_{static_cast<uint64_t>(GetParam()) + 1};

  std::string random_bytes() {
    std::string out(bytes(), '\0');
    for (char& c : out) c = static_cast<char>(random_());
    return out;
  }
};

TEST_P(EveryType, AnyBits) { both_.expect_same(GetParam(), random_bytes(), random_bytes(), "any bits"); }

TEST_P(EveryType, FewDiffer) {
  std::string expected = random_bytes(), replayed = expected;
  for (int i = 0; i < 100; i++) replayed[random_() % replayed.size()] ^= static_cast<char>(1 << random_() % 8);
  both_.expect_same(GetParam(), expected, replayed, "few differ");
  both_.expect_same(GetParam(), expected, expected, "none differs");
}

// Each chunk has its own magnitudes: numbers of about one size, and off by about as much.
TEST_P(EveryType, LastBits) {
  std::string expected = random_bytes(), replayed = expected;
  size_t size = size_of(GetParam()) / (is_complex(GetParam()) ? 2 : 1);
  for (size_t at = 0; at < replayed.size(); at += size) {
    expected[at + size - 1] = replayed[at + size - 1] = static_cast<char>(63 * (at / size / kChunk % 5));
    replayed[at] = static_cast<char>(random_());
  }
  both_.expect_same(GetParam(), expected, replayed, "last bits");
}

// Every pair of what is special.
TEST_P(EveryType, Extremes) {
  size_t size = size_of(GetParam()) / (is_complex(GetParam()) ? 2 : 1);
  std::vector<std::string> values;
  auto add = [&](uint64_t bits) {
    std::string value(size, '\0');
    std::memcpy(value.data(), &bits, size);
    values.push_back(value);
  };
  for (uint64_t bits : {0ull, 1ull, 2ull, 3ull, ~0ull, ~0ull - 1}) add(bits);
  for (unsigned bit = 0; bit < 8 * size; bit++) {
    add(uint64_t{1} << bit);
    add((uint64_t{1} << bit) - 1);
    add((uint64_t{1} << bit) + 1);
  }
  // Infinities, NaN, and the largest numbers, by the exponent's bits.
  unsigned exponent = size == 8 ? 52 : size == 4 ? 23 : 10;
  for (unsigned low : {exponent, 7u}) {
    uint64_t top = uint64_t{1} << (8 * size - 1), infinite = top - (uint64_t{1} << std::min<size_t>(low, 8 * size - 1));
    for (uint64_t bits : {infinite, infinite + 1, infinite - 1, top + infinite, top + infinite + 1, top + infinite - 1,
                          infinite - (uint64_t{1} << low), infinite / 2, infinite / 2 + 1}) {
      add(bits);
    }
  }
  std::string expected(bytes(), '\0'), replayed = expected;
  for (size_t at = 0; at < expected.size(); at += size) {
    // A chunk of few of them among equal ones, and chunks of all.
    bool rare = at / size / kChunk % 2 && random_() % 200;
    const std::string &e = values[random_() % values.size()], &r = rare ? e : values[random_() % values.size()];
    std::memcpy(&expected[at], e.data(), size);
    std::memcpy(&replayed[at], r.data(), size);
  }
  both_.expect_same(GetParam(), expected, replayed, "extremes");
  for (size_t at = 0; at < expected.size(); at += size) {  // one value a chunk
    size_t number = at / size / kChunk * 37;
    std::memcpy(&expected[at], values[number % values.size()].data(), size);
    std::memcpy(&replayed[at], values[(number + at / size % 3) % values.size()].data(), size);
  }
  both_.expect_same(GetParam(), expected, replayed, "one extreme a chunk");
}

std::vector<ElementType> all_types() {
  std::vector<ElementType> types;
  for (size_t i = 0; i < kElementTypes; i++) types.push_back(static_cast<ElementType>(i));
  return types;
}
INSTANTIATE_TEST_SUITE_P(ElementKernel, EveryType, testing::ValuesIn(all_types()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

// Doubles of all magnitudes that one chunk may have, added up in long double.
TEST(PlainElementKernel, SumsAreNearLongDoubles) {
  std::mt19937_64 random(7);
  for (int magnitude : {-1060, -500, -100, 0, 100, 500, 1000}) {
    std::vector<double> expected(kChunk, 0), replayed(kChunk);
    long double sum = 0, squares = 0;
    double largest = 0;
    for (double& value : replayed) {
      value = std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53, magnitude + static_cast<int>(random() % 12));
      sum += value;
      squares += static_cast<long double>(value) * value;
      largest = std::max(largest, value);
    }
    ChunkErrors errors;
    plain_element_kernel().compare(ElementType::kF64, kPlainMeasure,
                                   reinterpret_cast<const std::byte*>(expected.data()),
                                   reinterpret_cast<const std::byte*>(replayed.data()), std::span(&errors, 1));
    EXPECT_NEAR(errors.first.sum, static_cast<double>(sum), 3e-15 * static_cast<double>(sum)) << magnitude;
    EXPECT_EQ(errors.first.largest, largest) << magnitude;
    RootOfSquares root;
    root.add(errors.first.squares, errors.first.scale);
    double wanted = static_cast<double>(std::sqrt(squares));
    EXPECT_NEAR(root.value(), wanted, 3e-15 * wanted) << magnitude;
    EXPECT_EQ(errors.second.largest, kInfinite);
  }
}

}  // namespace
}  // namespace mneme::verify
