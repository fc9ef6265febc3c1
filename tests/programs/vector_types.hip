// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's vector types of various element types and lengths: layout and alignment in memory, constructors, members, and
// operators element by element.

#include "check.h"

template <class V>
struct Elements;  // its type, and how many
#define VECTOR(type, element, count)     \
  template <>                            \
  struct Elements<type> {                \
    using Type = element;                \
    static constexpr int kCount = count; \
  };
VECTOR(char2, signed char, 2)
VECTOR(uchar4, unsigned char, 4)
VECTOR(short3, short, 3)
VECTOR(ushort4, unsigned short, 4)
VECTOR(int1, int, 1)
VECTOR(int4, int, 4)
VECTOR(uint3, unsigned, 3)
VECTOR(ulong2, unsigned long, 2)
VECTOR(longlong4, long long, 4)
VECTOR(float3, float, 3)
VECTOR(float4, float, 4)
VECTOR(double2, double, 2)
#undef VECTOR

constexpr int kResults = 8;

template <class V>
__global__ void operate(const V* x, const V* y, V* out, int n) {
  using T = typename Elements<V>::Type;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  V a = x[i], b = y[i];
  V sum = a;
  sum += b;
  V next = a;
  ++next;
  V mixed = a;
  if constexpr (std::is_floating_point_v<T>) {
    mixed = -a / b;
  } else {
    mixed = ((a & b) | (a ^ b)) % (b | T(1));
  }
  V last = a;
  last.x = static_cast<T>(a == b);
  if constexpr (Elements<V>::kCount > 1) last.y = b.x;
  const V results[kResults] = {sum, a - b, a * b, a * T(3), next, mixed, V(T(7)), last};
  for (int f = 0; f < kResults; ++f) out[f * n + i] = results[f];
}

template <class T>
static T value(Random& random) {
  if constexpr (std::is_floating_point_v<T>) {
    return random.between(T(-100), T(100));
  } else {
    return static_cast<T>(random.bits() >> 3);
  }
}

template <class T>
static T mixture(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return -a / b;
  } else {
    return static_cast<T>(static_cast<T>((a & b) | (a ^ b)) % static_cast<T>(b | 1));
  }
}

template <class V>
static void run(Test& test, const char* name) {
  using T = typename Elements<V>::Type;
  using Wide = std::conditional_t<std::is_integral_v<T>, unsigned long long, T>;  // wraps, as the device does
  constexpr int kCount = Elements<V>::kCount;
  constexpr int kPlaces = sizeof(V) / sizeof(T);  // in memory
  const int n = 200;
  Random random(21);
  std::vector<T> x(n * kPlaces), y(n * kPlaces);
  for (int i = 0; i < n * kPlaces; ++i) {
    x[i] = value<T>(random);
    y[i] = i / kPlaces % 4 ? value<T>(random) : x[i];
    if (std::is_floating_point_v<T> && y[i] == 0) y[i] = 1;
  }
  auto* device_x = reinterpret_cast<V*>(to_device(x));
  auto* device_y = reinterpret_cast<V*>(to_device(y));
  V* out = device_array<V>(n * kResults);
  check(hipMemset(out, 0, n * kResults * sizeof(V)));
  operate<<<blocks_for(n, 64), 64>>>(device_x, device_y, out, n);
  check(hipGetLastError());
  std::vector<T> got = to_host(reinterpret_cast<T*>(out), n * kResults * kPlaces);
  for (int i = 0; i < n; ++i) {
    bool equal = std::equal(&x[i * kPlaces], &x[i * kPlaces] + kCount, &y[i * kPlaces]);
    for (int c = 0; c < kCount; ++c) {
      T a = x[i * kPlaces + c], b = y[i * kPlaces + c];
      Wide wa = static_cast<Wide>(a), wb = static_cast<Wide>(b);
      T last = c == 0 ? static_cast<T>(equal) : c == 1 ? y[i * kPlaces] : a;
      const T want[kResults] = {
          static_cast<T>(wa + wb), static_cast<T>(wa - wb), static_cast<T>(wa * wb), static_cast<T>(wa * 3),
          static_cast<T>(wa + 1),  mixture(a, b),           static_cast<T>(7),       last};
      for (int f = 0; f < kResults; ++f) {
        T result = got[(f * n + i) * kPlaces + c];
        if (result != want[f]) {
          test.expect(false, std::string(name) + std::to_string(kCount) + ": result " + std::to_string(f) + " of " +
                                 std::to_string(i));
        }
      }
    }
  }
  check(hipFree(device_x));
  check(hipFree(device_y));
  check(hipFree(out));
}

// What a program ported from CUDA calls instead of constructors.
#define EACH_TYPE(MAKE) \
  MAKE(char)            \
  MAKE(uchar)           \
  MAKE(short)           \
  MAKE(ushort) MAKE(int) MAKE(uint) MAKE(long) MAKE(ulong) MAKE(longlong) MAKE(ulonglong) MAKE(float) MAKE(double)
#define MAKE(type)                                                                                  \
  {                                                                                                 \
    type##1 one = make_##type##1(i);                                                                \
    type##2 two = make_##type##2(i, i + 1);                                                         \
    type##3 three = make_##type##3(i, i + 1, i + 2);                                                \
    type##4 four = make_##type##4(i, i + 1, i + 2, i + 3);                                          \
    *out++ = static_cast<int>(one.x + 2 * two.x + 4 * two.y + three.x + 2 * three.y + 4 * three.z); \
    *out++ = static_cast<int>(four.x + 2 * four.y + 3 * four.z + 4 * four.w);                       \
  }
constexpr int kMade = 2 * 12;

__global__ void make(int* out) {
  int i = threadIdx.x % 8;
  out += kMade * threadIdx.x;
  EACH_TYPE(MAKE)
}
#undef MAKE

static void check_made(Test& test) {
  constexpr int n = 16;
  int* out = device_array<int>(kMade * n);
  make<<<1, n>>>(out);
  check(hipGetLastError());
  std::vector<int> got = to_host(out, kMade * n);
  for (int t = 0; t < kMade * n; ++t) {
    int i = t / kMade % 8;
    test.equal("made", got[t], t % 2 ? 10 * i + 20 : i + 2 * i + 4 * (i + 1) + 7 * i + 10);
  }
  check(hipFree(out));
}

int main() {
  Test test("vector_types");
  run<char2>(test, "char");
  run<uchar4>(test, "uchar");
  run<short3>(test, "short");
  run<ushort4>(test, "ushort");
  run<int1>(test, "int");
  run<int4>(test, "int");
  run<uint3>(test, "uint");
  run<ulong2>(test, "ulong");
  run<longlong4>(test, "longlong");
  run<float3>(test, "float");
  run<float4>(test, "float");
  run<double2>(test, "double");
  check_made(test);
  return test.finish();
}
