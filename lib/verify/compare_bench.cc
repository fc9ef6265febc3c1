// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast memory is compared with what is expected, as ratios to memcmp of as many bytes in the same run.
//
//   compare_bench [MiB] [repetitions]     (256 and 5 unless given; the best repetition counts)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
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

// Numbers about 1, of which some are off by less than a part in a thousand.
template <class T>
std::vector<std::byte> make_bytes(size_t size, bool replayed, Differs differs) {
  std::vector<std::byte> bytes(size);
  uint64_t state = 1;
  for (size_t i = 0; i < size / sizeof(T); i++) {
    state = state * 6364136223846793005 + 1442695040888963407;
    T value = static_cast<T>(1 + static_cast<double>(state >> 40) * 0x1p-24);
    bool off = replayed && (differs == Differs::kEverywhere ||
                            (differs == Differs::kOncePerPage && i % (kPage / sizeof(T)) == 100));
    if (off) value *= static_cast<T>(1 + static_cast<double>((state >> 20) % 1000 + 1) * 1e-6);
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

struct Subject {
  const char* name;
  ElementType type;
  Differs differs;
};

template <class T>
void measure(const Subject& subject, size_t size, int repetitions, ElementKernel& kernel) {
  std::vector<std::byte> expected = make_bytes<T>(size, false, subject.differs);
  std::vector<std::byte> same = expected, actual = make_bytes<T>(size, true, subject.differs);
  std::vector<bundle::Segment> segments{{kBase, size, {}, "", ""}};
  Layout layout(segments);
  Readings readings{Reading{subject.type}};
  double copy = 1e9, ours = 1e9;
  for (int i = 0; i < repetitions; i++) {
    copy = std::min(copy, seconds([&] {
                      if (std::memcmp(expected.data(), same.data(), size) != 0) std::abort();
                    }));
    ours =
        std::min(ours, seconds([&] {
                   Comparison comparison(layout, readings, kernel);
                   for (size_t at = 0; at < size; at += kAtOnce) {
                     size_t piece = std::min(kAtOnce, size - at);
                     comparison.add(kBase + at, Bytes(expected).subspan(at, piece), Bytes(actual).subspan(at, piece));
                   }
                 }));
  }
  double gigabytes = static_cast<double>(size) / 1e9;
  std::printf("%s: %.2f GB/s, memcmp %.2f GB/s\n", subject.name, gigabytes / ours, gigabytes / copy);
  std::printf("ratio %s %.2f (at least 0.80)\n", subject.name, copy / ours);
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
  size_t size = mebibytes << 20;
  auto device = mneme::device::make_host_device();
  auto kernel = make_device_kernel(*device);
  measure<double>({"f64_everywhere", ElementType::kF64, Differs::kEverywhere}, size, repetitions, *kernel);
  measure<double>({"f64_once_a_page", ElementType::kF64, Differs::kOncePerPage}, size, repetitions, *kernel);
  measure<double>({"f64_nowhere", ElementType::kF64, Differs::kNowhere}, size, repetitions, *kernel);
  measure<float>({"f32_everywhere", ElementType::kF32, Differs::kEverywhere}, size, repetitions, *kernel);
  measure<float>({"f32_once_a_page", ElementType::kF32, Differs::kOncePerPage}, size, repetitions, *kernel);
  measure<float>({"f32_nowhere", ElementType::kF32, Differs::kNowhere}, size, repetitions, *kernel);
}
