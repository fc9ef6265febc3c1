// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast memory is compared with what is expected, as ratios to memcmp of as many bytes in the same run.
//
//   compare_bench [MiB] [repetitions]     (256 and 5 unless given; the best repetition counts)
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "verify/compare.h"
#include "verify/device_kernel.h"

namespace mneme::verify {
namespace {

constexpr uint64_t kBase = 0x400000000000;
constexpr size_t kPage = 4096;
constexpr size_t kAtOnce = 4 << 20;

double seconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

enum class Differs { kEverywhere, kOncePerPage, kNowhere };

// Each element that differs takes a division of doubles, and a complex one two roots: where all of the narrower ones
// do, memory brings them faster than a CPU or two compute that.
bool has_goal(ElementType type, Differs differs) {
  return differs != Differs::kEverywhere || (size_of(type) >= 4 && type != ElementType::kCF32);
}

// The upper half of a float, as bf16 has it.
struct BrainNumber {
  explicit BrainNumber(double value)
      : bits(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16)) {}
  bool operator==(const BrainNumber&) const = default;
  uint16_t bits;
};

// Numbers within a factor of two, of which some are off by up to a part in a thousand, or to the next number of the
// type.
template <class T>
std::vector<std::byte> make_bytes(size_t size, bool replayed, Differs differs) {
  double scale = 1;
  if constexpr (std::is_integral_v<T>) scale = static_cast<double>(std::numeric_limits<T>::max() / 4);
  std::vector<std::byte> bytes(size);
  uint64_t state = 1;
  for (size_t i = 0; i < size / sizeof(T); i++) {
    state = state * 6364136223846793005 + 1442695040888963407;
    double number = scale * (1 + static_cast<double>(state >> 40) * 0x1p-24);
    T value = static_cast<T>(number);
    bool off = replayed && (differs == Differs::kEverywhere ||
                            (differs == Differs::kOncePerPage && i % (kPage / sizeof(T)) == 100));
    if (off) {
      T right = value;
      value = static_cast<T>(number * (1 + static_cast<double>((state >> 20) % 1000 + 1) * 1e-6));
      if (value == right) value = static_cast<T>(number * 1.01 + (std::is_integral_v<T> ? 1 : 0));
    }
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

struct Sizes {
  size_t bytes;
  int repetitions;
  ElementKernel& kernel;
  ScaleOf scale_of;  // as mneme-run has it
};

// T is the type of an element's words.
template <class T>
void measure(ElementType type, const char* where, Differs differs, const Sizes& sizes) {
  const size_t size = sizes.bytes;
  std::vector<std::byte> expected = make_bytes<T>(size, false, differs);
  std::vector<std::byte> same = expected, actual = make_bytes<T>(size, true, differs);
  std::vector<bundle::Segment> segments{{kBase, size, {}, "", ""}};
  Layout layout(segments);
  Readings readings{Reading{type}};
  double copy = 1e9, ours = 1e9;
  for (int i = 0; i < sizes.repetitions; i++) {
    copy = std::min(copy, seconds([&] {
                      if (std::memcmp(expected.data(), same.data(), size) != 0) std::abort();
                    }));
    ours =
        std::min(ours, seconds([&] {
                   Comparison comparison(layout, readings, sizes.scale_of, sizes.kernel);
                   for (size_t at = 0; at < size; at += kAtOnce) {
                     size_t piece = std::min(kAtOnce, size - at);
                     comparison.add(kBase + at, Bytes(expected).subspan(at, piece), Bytes(actual).subspan(at, piece));
                   }
                 }));
  }
  double gigabytes = static_cast<double>(size) / 1e9;
  std::printf("%s %s: %.2f GB/s, memcmp %.2f GB/s\n", name_of(type).data(), where, gigabytes / ours, gigabytes / copy);
  std::printf("ratio %s_%s %.2f", name_of(type).data(), where, copy / ours);
  std::printf(has_goal(type, differs) ? " (at least 0.80)\n" : "\n");
}

template <class T>
void measure(ElementType type, const Sizes& sizes) {
  measure<T>(type, "everywhere", Differs::kEverywhere, sizes);
  measure<T>(type, "once_a_page", Differs::kOncePerPage, sizes);
  measure<T>(type, "nowhere", Differs::kNowhere, sizes);
}

}  // namespace
}  // namespace mneme::verify

int main(int argc, char** argv) {
  using namespace mneme::verify;
  size_t mebibytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  if (mebibytes < 1 || repetitions < 1) {
    std::fprintf(stderr, "usage: compare_bench [MiB] [repetitions]\n");
    return 2;
  }
  auto device = mneme::device::make_host_device();
  auto kernel = make_device_kernel(*device);
  Sizes sizes{mebibytes << 20, repetitions, *kernel, [](size_t) { return 1.0; }};
  measure<double>(ElementType::kF64, sizes);
  measure<float>(ElementType::kF32, sizes);
  measure<_Float16>(ElementType::kF16, sizes);
  measure<BrainNumber>(ElementType::kBF16, sizes);
  measure<int64_t>(ElementType::kI64, sizes);
  measure<int32_t>(ElementType::kI32, sizes);
  measure<int16_t>(ElementType::kI16, sizes);
  measure<int8_t>(ElementType::kI8, sizes);
  measure<double>(ElementType::kCF64, sizes);
  measure<float>(ElementType::kCF32, sizes);
}
