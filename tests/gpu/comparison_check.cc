// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The comparison kernels (lib/verify/kernels) on an NVIDIA GPU: the same bits as plain C++, and how fast.
//
//   comparison_check [KERNELS.ptx]      default: those that mneme-run has
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "device/cuda/driver.h"
#include "verify/device_kernel.h"
#include "verify/kernels/code_pack.h"

namespace mneme::verify {
namespace {

using device::cuda::check;
using device::cuda::driver;

class Memory {
 public:
  explicit Memory(size_t bytes) { check(driver().cuMemAlloc_v2(&address_, bytes), "allocating device memory"); }
  explicit Memory(const std::string& piece, size_t times = 1) : Memory(piece.size() * times) {
    for (size_t i = 0; i < times; i++) {
      check(driver().cuMemcpyHtoD_v2(address_ + i * piece.size(), piece.data(), piece.size()), "copying to the device");
    }
  }
  ~Memory() { driver().cuMemFree_v2(address_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  device::cuda::Address address() const { return address_; }

 private:
  device::cuda::Address address_ = 0;
};

class Gpu {
 public:
  explicit Gpu(const std::string& ptx) {
    int device = 0, version = 0;
    char name[100] = "";
    device::cuda::Context* context = nullptr;
    check(driver().cuDeviceGet(&device, 0), "finding the device");
    check(driver().cuDeviceGetName(name, sizeof name, device), "asking for its name");
    check(driver().cuDriverGetVersion(&version), "asking for the driver's version");
    check(driver().cuDevicePrimaryCtxRetain(&context, device), "making its context");
    check(driver().cuCtxSetCurrent(context), "making its context current");
    for (bool scaled : {false, true}) {
      for (size_t i = 0; i < kElementTypes; i++) {
        std::string own(text_of(cuda_kernel(static_cast<ElementType>(i), scaled)));
        check(driver().cuModuleLoadData(&modules_[scaled][i], ptx.empty() ? own.c_str() : ptx.c_str()),
              "loading the kernels");
      }
    }
    std::printf("%s, driver for CUDA %d.%d\n", name, version / 1000, version / 10 % 100);
  }

  void compare(ElementType type, Measure measure, const Memory& expected, const Memory& replayed, const Memory& out,
               size_t chunks) {
    device::cuda::Function* function = nullptr;
    const bool scaled = measure.has_value();
    std::string name = comparison_kernel_name(type, scaled);
    check(driver().cuModuleGetFunction(&function, modules_[scaled][static_cast<size_t>(type)], name.c_str()),
          "finding a kernel");
    double scale = measure.value_or(0);
    device::cuda::Address addresses[] = {expected.address(), replayed.address(), out.address()};
    void* arguments[] = {&addresses[0], &addresses[1], &addresses[2], &scale};
    check(driver().cuLaunchKernel(function, static_cast<unsigned>(chunks), 1, 1, kLanes, kRows, 1, 0, nullptr,
                                  arguments, nullptr),
          "launching a kernel");
  }

  // The shortest of several times, in milliseconds.
  template <class Work>
  float shortest(const Work& work) {
    device::cuda::Event *from = nullptr, *to = nullptr;
    check(driver().cuEventCreate(&from, 0), "making an event");
    check(driver().cuEventCreate(&to, 0), "making an event");
    float least = 1e9f;
    for (int i = 0; i < 20; i++) {
      float time = 0;
      check(driver().cuEventRecord(from, nullptr), "recording an event");
      work();
      check(driver().cuEventRecord(to, nullptr), "recording an event");
      check(driver().cuEventSynchronize(to), "running a kernel");
      check(driver().cuEventElapsedTime(&time, from, to), "asking for the time");
      least = std::min(least, time);
    }
    return least;
  }

 private:
  device::cuda::Module* modules_[2][kElementTypes] = {};  // those that measure scaled errors second
};

// ---- the same bits ----

constexpr size_t kChunks = 64;

std::string random_bytes(std::mt19937_64& random, size_t bytes) {
  std::string out(bytes, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// Pairs of memory that differ in many ways: any bits; few; by a little, in chunks of different magnitude; and special
// values (zeros, ones, and single bits) against each other.
std::vector<std::pair<std::string, std::string>> samples(ElementType type) {
  std::mt19937_64 random(static_cast<uint64_t>(type) + 1);
  size_t bytes = kChunks * kChunk * size_of(type), word = size_of(type) / (is_complex(type) ? 2 : 1);
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back(random_bytes(random, bytes), random_bytes(random, bytes));
  std::string base = random_bytes(random, bytes), few = base;
  for (int i = 0; i < 1000; i++) few[random() % bytes] ^= static_cast<char>(1 << random() % 8);
  out.emplace_back(base, few);
  std::string little = base;
  for (size_t at = 0; at < bytes; at += word) {
    base[at + word - 1] = little[at + word - 1] = static_cast<char>(63 * (at / word / kChunk % 5));
    little[at] = static_cast<char>(random());
  }
  out.emplace_back(base, little);
  auto special = [&] {
    uint64_t bits = 0;
    uint64_t bit = uint64_t{1} << random() % (8 * word);
    switch (random() % 5) {
      case 0:
        bits = 0;
        break;
      case 1:
        bits = ~uint64_t{0};
        break;
      case 2:
        bits = bit;
        break;
      case 3:
        bits = bit - 1;
        break;
      default:
        bits = ~(bit - 1);
    }
    return bits;
  };
  std::string one(bytes, '\0'), other(bytes, '\0');
  for (size_t at = 0; at < bytes; at += word) {
    uint64_t e = special(), r = random() % 3 ? special() : e;
    std::memcpy(&one[at], &e, word);
    std::memcpy(&other[at], &r, word);
  }
  out.emplace_back(one, other);
  return out;
}

bool same(const ErrorSums& a, const ErrorSums& b) {
  return a.sum == b.sum && a.squares == b.squares && a.largest == b.largest && a.scale == b.scale;
}
bool same(const ChunkErrors& a, const ChunkErrors& b) {
  return same(a.first, b.first) && same(a.second, b.second) && a.differ == b.differ && a.bytes == b.bytes;
}

// How many chunks the two tell different things of.
size_t disagreements(Gpu& gpu, ElementType type, Measure measure) {
  size_t wrong = 0;
  Memory out(kChunks * sizeof(ChunkErrors));
  for (const auto& [expected, replayed] : samples(type)) {
    std::vector<ChunkErrors> plain(kChunks), ours(kChunks);
    plain_element_kernel().compare(type, measure, bytes_of(expected).data(), bytes_of(replayed).data(), plain);
    gpu.compare(type, measure, Memory(expected), Memory(replayed), out, kChunks);
    check(driver().cuMemcpyDtoH_v2(ours.data(), out.address(), kChunks * sizeof(ChunkErrors)), "running a kernel");
    for (size_t i = 0; i < kChunks; i++) wrong += !same(plain[i], ours[i]);
  }
  return wrong;
}

// ---- how fast ----

// Numbers near 1, whatever their type, and others that are a little off.
std::pair<std::string, std::string> near_ones(ElementType type, size_t bytes) {
  std::mt19937_64 random(1);
  size_t word = size_of(type) / (is_complex(type) ? 2 : 1);
  std::string one = random_bytes(random, bytes), other;
  for (size_t at = word - 1; at < bytes; at += word) one[at] = 0x3f;
  other = one;
  for (size_t at = 0; at < bytes; at += size_of(type)) other[at] = static_cast<char>(other[at] ^ 1);
  return {one, other};
}

// Against a copy that reads and writes as much as is read here.
void measure(Gpu& gpu, ElementType type, Measure measure) {
  const size_t piece = size_t{1} << 24, times = 64, bytes = piece * times, chunks = bytes / (kChunk * size_of(type));
  auto [one, other] = near_ones(type, piece);
  std::string few = one;
  for (size_t at = 0; at < piece; at += size_t{1} << 20) few[at] = static_cast<char>(few[at] ^ 1);
  Memory expected(one, times), alike(one, times), different(other, times), seldom(few, times);
  Memory out(chunks * sizeof(ChunkErrors));
  float copy = gpu.shortest([&] {
    check(driver().cuMemcpyDtoDAsync_v2(alike.address(), expected.address(), bytes, nullptr), "copying on the device");
  });
  std::printf("%-5s %s copy %.0f GB/s; comparing, of that rate:", name_of(type).data(), measure ? "scaled" : "plain",
              2e-6 * static_cast<double>(bytes) / copy);
  for (auto [what, replayed] : {std::pair("equal", &alike), std::pair("one in each MiB differs", &seldom),
                                std::pair("all differ", &different)}) {
    float time = gpu.shortest([&] { gpu.compare(type, measure, expected, *replayed, out, chunks); });
    std::printf(" %s %.2f;", what, copy / time);
  }
  std::printf("\n");
}

int run(const std::string& ptx) {
  Gpu gpu(ptx);
  size_t wrong = 0;
  for (size_t i = 0; i < kElementTypes; i++) {
    auto type = static_cast<ElementType>(i);
    for (Measure measure : {kPlainMeasure, Measure(0), Measure(1)}) {
      size_t found = disagreements(gpu, type, measure);
      std::printf("%-5s %s %zu of %zu chunks differ from plain C++'s\n", name_of(type).data(),
                  measure ? "scaled" : "plain", found, samples(type).size() * kChunks);
      wrong += found;
    }
  }
  for (auto type : {ElementType::kU8, ElementType::kI32, ElementType::kI64, ElementType::kF16, ElementType::kF32,
                    ElementType::kF64, ElementType::kCF64}) {
    measure(gpu, type, kPlainMeasure);
    measure(gpu, type, 1.0);
  }
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace mneme::verify

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: comparison_check [KERNELS.ptx]\n");
    return 2;
  }
  try {
    return mneme::verify::run(argc > 1 ? mneme::read_file(argv[1]) : "");
  } catch (const mneme::Error& error) {
    std::fprintf(stderr, "comparison_check: %s\n", error.what());
    return static_cast<int>(error.exit());
  }
}
