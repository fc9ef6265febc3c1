// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MFMA by clang's built-ins: products of tiles that a wave of 64 multiplies, of halves, bfloat16, singles, doubles and
// bytes; many small products at once, with blocks and lanes that others take theirs from.
#include "check.h"

using Half4 = _Float16 __attribute__((ext_vector_type(4)));
using Short4 = short __attribute__((ext_vector_type(4)));
using Float4 = float __attribute__((ext_vector_type(4)));
using Float16 = float __attribute__((ext_vector_type(16)));
using Double4 = double __attribute__((ext_vector_type(4)));
using Int4 = int __attribute__((ext_vector_type(4)));

// The built-ins are of the device's compilation only, and of gfx90a.
#if defined(__HIP_DEVICE_COMPILE__)
#define MFMA(name, ...) __builtin_amdgcn_mfma_##name(__VA_ARGS__)
#else
#define MFMA(name, a, b, c, ...) (static_cast<void>(a), static_cast<void>(b), c)
#endif

// C += A * B: a tile of 16 rows and columns a block of one wave, A in rows and B in columns.
__global__ void halves(const _Float16* a, const _Float16* b, float* c, int n, int k) {
  int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.y) * 16,
      column = static_cast<int>(blockIdx.x) * 16;
  Float4 sum;
  for (int i = 0; i < 4; ++i) sum[i] = c[(row + lane / 16 * 4 + i) * n + column + lane % 16];
  for (int first = 0; first < k; first += 16) {
    Half4 left, right;
    for (int i = 0; i < 4; ++i) {
      left[i] = a[(row + lane % 16) * k + first + lane / 16 * 4 + i];
      right[i] = b[(column + lane % 16) * k + first + lane / 16 * 4 + i];
    }
    sum = MFMA(f32_16x16x16f16, left, right, sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) c[(row + lane / 16 * 4 + i) * n + column + lane % 16] = sum[i];
}

// The upper halves of singles, in tiles of 32.
__global__ void brains(const short* a, const short* b, float* c, int n, int k) {
  int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.y) * 32,
      column = static_cast<int>(blockIdx.x) * 32;
  Float16 sum;
  auto at = [&](int i) { return (row + i / 4 * 8 + lane / 32 * 4 + i % 4) * n + column + lane % 32; };
  for (int i = 0; i < 16; ++i) sum[i] = c[at(i)];
  for (int first = 0; first < k; first += 8) {
    Short4 left, right;
    for (int i = 0; i < 4; ++i) {
      left[i] = a[(row + lane % 32) * k + first + lane / 32 * 4 + i];
      right[i] = b[(column + lane % 32) * k + first + lane / 32 * 4 + i];
    }
    sum = MFMA(f32_32x32x8bf16_1k, left, right, sum, 0, 0, 0);
  }
  for (int i = 0; i < 16; ++i) c[at(i)] = sum[i];
}

__global__ void singles(const float* a, const float* b, float* c, int n, int k) {
  int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.y) * 32,
      column = static_cast<int>(blockIdx.x) * 32;
  Float16 sum;
  auto at = [&](int i) { return (row + i / 4 * 8 + lane / 32 * 4 + i % 4) * n + column + lane % 32; };
  for (int i = 0; i < 16; ++i) sum[i] = c[at(i)];
  for (int first = 0; first < k; first += 2) {
    sum = MFMA(f32_32x32x2f32, a[(row + lane % 32) * k + first + lane / 32],
               b[(column + lane % 32) * k + first + lane / 32], sum, 0, 0, 0);
  }
  for (int i = 0; i < 16; ++i) c[at(i)] = sum[i];
}

__global__ void doubles(const double* a, const double* b, double* c, int n, int k) {
  int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.y) * 16,
      column = static_cast<int>(blockIdx.x) * 16;
  Double4 sum;
  for (int i = 0; i < 4; ++i) sum[i] = c[(row + i * 4 + lane / 16) * n + column + lane % 16];
  for (int first = 0; first < k; first += 4) {
    sum = MFMA(f64_16x16x4f64, a[(row + lane % 16) * k + first + lane / 16],
               b[(column + lane % 16) * k + first + lane / 16], sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) c[(row + i * 4 + lane / 16) * n + column + lane % 16] = sum[i];
}

__global__ void bytes(const int8_t* a, const int8_t* b, int* c, int n, int k) {
  int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.y) * 16,
      column = static_cast<int>(blockIdx.x) * 16;
  Int4 sum;
  for (int i = 0; i < 4; ++i) sum[i] = c[(row + lane / 16 * 4 + i) * n + column + lane % 16];
  for (int first = 0; first < k; first += 16) {
    int left, right;
    memcpy(&left, a + (row + lane % 16) * k + first + lane / 16 * 4, sizeof left);
    memcpy(&right, b + (column + lane % 16) * k + first + lane / 16 * 4, sizeof right);
    sum = MFMA(i32_16x16x16i8, left, right, sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) c[(row + lane / 16 * 4 + i) * n + column + lane % 16] = sum[i];
}

// Sixteen products of four rows and columns: first each its own, then all with A's fifth of each eight, then with B's
// of the upper half of lanes.
__global__ void small(const float* a, const float* b, float* c) {
  int lane = static_cast<int>(threadIdx.x);
  Float4 sum = {};
  sum = MFMA(f32_4x4x1f32, a[lane], b[lane], sum, 0, 0, 0);
  sum = MFMA(f32_4x4x1f32, a[lane], b[lane], sum, 3, 5, 0);
  sum = MFMA(f32_4x4x1f32, a[lane], b[lane], sum, 0, 0, 2);
  for (int i = 0; i < 4; ++i) c[(lane / 4 * 4 + i) * 4 + lane % 4] = sum[i];
}

constexpr int kM = 64, kN = 96, kK = 48;
Random numbers(23);

template <class T, class Sum, class To, class Kernel>
void check_product(Test& test, const char* what, Kernel kernel, int tile, int low, int high, To to) {
  std::vector<int> a = numbers.values<int>(kM * kK, low, high), b = numbers.values<int>(kN * kK, low, high),
                   c = numbers.values<int>(kM * kN, -999, 999);
  auto converted = [&](const std::vector<int>& values) {
    std::vector<T> result;
    for (int value : values) result.push_back(to(value));
    return result;
  };
  T *left = to_device(converted(a)), *right = to_device(converted(b));
  Sum* sums = to_device(std::vector<Sum>(c.begin(), c.end()));
  kernel<<<dim3(static_cast<unsigned>(kN / tile), static_cast<unsigned>(kM / tile)), 64>>>(left, right, sums, kN, kK);
  check(hipGetLastError());
  std::vector<Sum> want;
  for (int i = 0; i < kM * kN; ++i) {
    int sum = c[i];
    for (int k = 0; k < kK; ++k) sum += a[i / kN * kK + k] * b[i % kN * kK + k];
    want.push_back(static_cast<Sum>(sum));
  }
  test.equal(what, to_host(sums, kM * kN), want);
  check(hipFree(left));
  check(hipFree(right));
  check(hipFree(sums));
}

int main() {
  Test test("matrix_cores");
  check_product<_Float16, float>(test, "halves", halves, 16, -60, 60, [](int x) { return static_cast<_Float16>(x); });
  check_product<short, float>(test, "bfloat16", brains, 32, -60, 60, [](int x) {
    float single = static_cast<float>(x);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    return static_cast<short>(bits >> 16);
  });
  check_product<float, float>(test, "singles", singles, 32, -300, 300, [](int x) { return static_cast<float>(x); });
  check_product<double, double>(test, "doubles", doubles, 16, -3000, 3000,
                                [](int x) { return static_cast<double>(x); });
  check_product<int8_t, int>(test, "bytes", bytes, 16, -128, 127, [](int x) { return static_cast<int8_t>(x); });

  std::vector<float> a = numbers.values<float>(64, -2, 2), b = numbers.values<float>(64, -2, 2), want;
  for (float& x : a) x = std::round(x * 16) / 16;
  for (float& x : b) x = std::round(x * 16) / 16;
  float *left = to_device(a), *right = to_device(b), *sums = device_array<float>(256);
  small<<<1, 64>>>(left, right, sums);
  for (int i = 0; i < 256; ++i) {
    int block = i / 16, row = i / 4 % 4, column = i % 4;
    float own = a[block * 4 + row] * b[block * 4 + column],
          of_fifth = a[(block / 8 * 8 + 5) * 4 + row] * b[block * 4 + column],
          of_upper = a[block * 4 + row] * b[(block % 8 + 8) * 4 + column];
    want.push_back(own + of_fifth + of_upper);
  }
  test.equal("small", to_host(sums, 256), want);
  check(hipFree(left));
  check(hipFree(right));
  check(hipFree(sums));
  return test.finish();
}
