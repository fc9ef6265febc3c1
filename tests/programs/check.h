// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every test program needs: checked HIP calls, data that is the same in every process, and comparisons
// that end in one line, "<name>: ok" or "<name>: FAILED …".
#pragma once

#include <errno.h>  // program_invocation_short_name
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Ends the program, saying where, if a HIP call failed. The two defaults are what std::source_location::current()
// would give; it needs C++20, and these programs keep to C++17.
inline void check(hipError_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == hipSuccess) return;
  const char* slash = std::strrchr(file, '/');
  std::printf("%s: FAILED: %s:%d: %s\n", program_invocation_short_name, slash != nullptr ? slash + 1 : file, line,
              hipGetErrorString(status));
  std::exit(1);
}

// Device memory for `count` elements, with undefined contents; release it with hipFree.
template <class T>
T* device_array(std::size_t count) {
  void* memory = nullptr;
  check(hipMalloc(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}

// A copy of `values` in device memory; release it with hipFree.
template <class T>
T* to_device(const std::vector<T>& values) {
  T* memory = device_array<T>(values.size());
  check(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return memory;
}

// A copy of `count` elements of device memory. Waits for the kernels launched before it.
template <class T>
std::vector<T> to_host(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  check(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost));
  return values;
}

// The number of blocks of `block` threads that cover `count` elements.
inline unsigned blocks_for(std::size_t count, std::size_t block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

// Pseudo-random numbers (splitmix64) that are the same everywhere; the standard library's distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // In [0, bound).
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((bits() >> 32) * bound) >> 32); }

  // In [low, high].
  template <class T>
  T between(T low, T high) {
    if constexpr (std::is_floating_point_v<T>)
      return low + static_cast<T>(static_cast<double>(bits() >> 11) * 0x1p-53) * (high - low);
    else
      return static_cast<T>(low + static_cast<T>(below(static_cast<std::uint32_t>(high - low) + 1)));
  }

  template <class T>
  std::vector<T> values(std::size_t count, T low, T high) {
    std::vector<T> result(count);
    for (T& value : result) value = between(low, high);
    return result;
  }

 private:
  std::uint64_t state_;
};

// Collects comparisons and remembers the first that failed.
class Test {
 public:
  explicit Test(const char* name) : name_(name) {}

  void expect(bool ok, const std::string& what) {
    if (!ok && failure_.empty()) failure_ = what;
  }

  template <class T>
  void equal(const char* what, T got, T want) {
    compare(what, 0, got, want, got == want);
  }

  template <class T>
  void equal(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
    expect(got.size() == want.size(), std::string(what) + " has another size");
    for (std::size_t i = 0; i < got.size() && failure_.empty(); ++i)
      compare(what, i, got[i], want[i], got[i] == want[i]);
  }

  // Equal to within `tolerance`: relative for values above 1, absolute below. A NaN is never close.
  template <class T, class U>
  void close(const char* what, const std::vector<T>& got, const std::vector<U>& want, double tolerance) {
    expect(got.size() == want.size(), std::string(what) + " has another size");
    for (std::size_t i = 0; i < got.size() && failure_.empty(); ++i) {
      double expected = static_cast<double>(want[i]);
      double error = std::fabs(static_cast<double>(got[i]) - expected);
      compare(what, i, got[i], want[i], error <= tolerance * std::fmax(1.0, std::fabs(expected)));
    }
  }

  // Prints the verdict and returns the program's exit status.
  int finish() const {
    if (failure_.empty())
      std::printf("%s: ok\n", name_);
    else
      std::printf("%s: FAILED: %s\n", name_, failure_.c_str());
    return failure_.empty() ? 0 : 1;
  }

 private:
  template <class T, class U>
  void compare(const char* what, std::size_t index, const T& got, const U& want, bool ok) {
    if (ok || !failure_.empty()) return;
    std::ostringstream text;
    text.precision(17);
    text << what << "[" << index << "] is " << +got << ", not " << +want;  // + prints a char as a number
    failure_ = text.str();
  }

  const char* name_;
  std::string failure_;
};
