// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's functions that convert between floating point of all sizes and integers, with their roundings, and those that
// only look at the bits in another way. Those that make a floating-point number round to nearest whatever their name
// says: HIP's headers have no other rounding.

#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>

#include "check.h"

using U64 = unsigned long long;
using I64 = long long;

struct Input {
  double d, size;  // size is |d|
  float f, fsize;
  int i;
  unsigned u;
  I64 l;
  U64 ul;
  float small;  // an integer's worth of a half, with a fraction
};

// The upper half of a float, to the nearest and then even one.
static float nearest_bfloat16(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// What the device computes, and what it has to be.
#define FROM_FLOATING(CASE)                                       \
  CASE(__double2int_rd(in.d), int(std::floor(in.d)))              \
  CASE(__double2int_rn(in.d), int(std::rint(in.d)))               \
  CASE(__double2int_ru(in.d), int(std::ceil(in.d)))               \
  CASE(__double2int_rz(in.d), int(std::trunc(in.d)))              \
  CASE(__double2ll_rd(in.d), I64(std::floor(in.d)))               \
  CASE(__double2ll_rn(in.d), I64(std::rint(in.d)))                \
  CASE(__double2ll_ru(in.d), I64(std::ceil(in.d)))                \
  CASE(__double2ll_rz(in.d), I64(std::trunc(in.d)))               \
  CASE(__double2uint_rd(in.size), unsigned(std::floor(in.size)))  \
  CASE(__double2uint_rn(in.size), unsigned(std::rint(in.size)))   \
  CASE(__double2uint_ru(in.size), unsigned(std::ceil(in.size)))   \
  CASE(__double2uint_rz(in.size), unsigned(std::trunc(in.size)))  \
  CASE(__double2ull_rd(in.size), U64(std::floor(in.size)))        \
  CASE(__double2ull_rn(in.size), U64(std::rint(in.size)))         \
  CASE(__double2ull_ru(in.size), U64(std::ceil(in.size)))         \
  CASE(__double2ull_rz(in.size), U64(std::trunc(in.size)))        \
  CASE(__float2int_rd(in.f), int(std::floor(in.f)))               \
  CASE(__float2int_rn(in.f), int(std::rint(in.f)))                \
  CASE(__float2int_ru(in.f), int(std::ceil(in.f)))                \
  CASE(__float2int_rz(in.f), int(std::trunc(in.f)))               \
  CASE(__float2ll_rd(in.f), I64(std::floor(in.f)))                \
  CASE(__float2ll_rn(in.f), I64(std::rint(in.f)))                 \
  CASE(__float2ll_ru(in.f), I64(std::ceil(in.f)))                 \
  CASE(__float2ll_rz(in.f), I64(std::trunc(in.f)))                \
  CASE(__float2uint_rd(in.fsize), unsigned(std::floor(in.fsize))) \
  CASE(__float2uint_rn(in.fsize), unsigned(std::rint(in.fsize)))  \
  CASE(__float2uint_ru(in.fsize), unsigned(std::ceil(in.fsize)))  \
  CASE(__float2uint_rz(in.fsize), unsigned(std::trunc(in.fsize))) \
  CASE(__float2ull_rd(in.fsize), U64(std::floor(in.fsize)))       \
  CASE(__float2ull_rn(in.fsize), U64(std::rint(in.fsize)))        \
  CASE(__float2ull_ru(in.fsize), U64(std::ceil(in.fsize)))        \
  CASE(__float2ull_rz(in.fsize), U64(std::trunc(in.fsize)))       \
  CASE(int(lrintf(in.f)) + lround(in.d), int(std::rint(in.f)) + std::lround(in.d))

#define TO_FLOATING(CASE)                                                                     \
  CASE(__double2float_rd(in.d), float(in.d))                                                  \
  CASE(__double2float_rn(in.d), float(in.d))                                                  \
  CASE(__double2float_ru(in.d), float(in.d))                                                  \
  CASE(__double2float_rz(in.d), float(in.d))                                                  \
  CASE(__int2double_rn(in.i), double(in.i))                                                   \
  CASE(__uint2double_rn(int(in.u)), double(int(in.u)))                                        \
  CASE(__ll2double_rd(in.l), double(in.l))                                                    \
  CASE(__ll2double_rn(in.l), double(in.l))                                                    \
  CASE(__ll2double_ru(in.l), double(in.l))                                                    \
  CASE(__ll2double_rz(in.l), double(in.l))                                                    \
  CASE(__ull2double_rd(in.ul), double(in.ul))                                                 \
  CASE(__ull2double_rn(in.ul), double(in.ul))                                                 \
  CASE(__ull2double_ru(in.ul), double(in.ul))                                                 \
  CASE(__ull2double_rz(in.ul), double(in.ul))                                                 \
  CASE(__int2float_rd(in.i), float(in.i))                                                     \
  CASE(__int2float_rn(in.i), float(in.i))                                                     \
  CASE(__int2float_ru(in.i), float(in.i))                                                     \
  CASE(__int2float_rz(in.i), float(in.i))                                                     \
  CASE(__uint2float_rd(in.u), float(in.u))                                                    \
  CASE(__uint2float_rn(in.u), float(in.u))                                                    \
  CASE(__uint2float_ru(in.u), float(in.u))                                                    \
  CASE(__uint2float_rz(in.u), float(in.u))                                                    \
  CASE(__ll2float_rd(in.l), float(in.l))                                                      \
  CASE(__ll2float_rn(in.l), float(in.l))                                                      \
  CASE(__ll2float_ru(in.l), float(in.l))                                                      \
  CASE(__ll2float_rz(in.l), float(in.l))                                                      \
  CASE(__ull2float_rd(in.ul), float(in.ul))                                                   \
  CASE(__ull2float_rn(in.ul), float(in.ul))                                                   \
  CASE(__ull2float_ru(in.ul), float(in.ul))                                                   \
  CASE(__ull2float_rz(in.ul), float(in.ul))                                                   \
  CASE(hipCimagf(hipComplexDoubleToFloat(make_hipDoubleComplex(in.size, in.d))), float(in.d)) \
  CASE(hipCreal(hipComplexFloatToDouble(make_hipComplex(in.f, in.fsize))), double(in.f))      \
  CASE(float(hip_bfloat16::round_to_bfloat16(in.f)), nearest_bfloat16(in.f))

// A half made of x, as a float: on the device by HIP's type, on the host by the compiler's.
#define HALVES(HALF)                             \
  HALF(__float2half, in.f)                       \
  HALF(__float2half_rd, in.f)                    \
  HALF(__float2half_rn, in.f)                    \
  HALF(__float2half_ru, in.f)                    \
  HALF(__float2half_rz, in.f)                    \
  HALF(__int2half_rd, in.i)                      \
  HALF(__int2half_rn, in.i)                      \
  HALF(__int2half_ru, in.i)                      \
  HALF(__int2half_rz, in.i)                      \
  HALF(__uint2half_rd, in.u)                     \
  HALF(__uint2half_rn, in.u)                     \
  HALF(__uint2half_ru, in.u)                     \
  HALF(__uint2half_rz, in.u)                     \
  HALF(__ll2half_rd, in.l)                       \
  HALF(__ll2half_rn, in.l)                       \
  HALF(__ll2half_ru, in.l)                       \
  HALF(__ll2half_rz, in.l)                       \
  HALF(__ull2half_rd, in.ul)                     \
  HALF(__ull2half_rn, in.ul)                     \
  HALF(__ull2half_ru, in.ul)                     \
  HALF(__ull2half_rz, in.ul)                     \
  HALF(__short2half_rd, short(in.i))             \
  HALF(__short2half_rn, short(in.i))             \
  HALF(__short2half_ru, short(in.i))             \
  HALF(__short2half_rz, short(in.i))             \
  HALF(__ushort2half_rd, (unsigned short)(in.u)) \
  HALF(__ushort2half_rn, (unsigned short)(in.u)) \
  HALF(__ushort2half_ru, (unsigned short)(in.u)) \
  HALF(__ushort2half_rz, (unsigned short)(in.u))

// What a half is cut to, whatever the rounding is called.
#define OF_HALF(INTEGER)                     \
  INTEGER(__half2int_rd, in.small)           \
  INTEGER(__half2int_rn, in.small)           \
  INTEGER(__half2int_ru, in.small)           \
  INTEGER(__half2int_rz, in.small)           \
  INTEGER(__half2ll_rd, in.small)            \
  INTEGER(__half2ll_rn, in.small)            \
  INTEGER(__half2ll_ru, in.small)            \
  INTEGER(__half2ll_rz, in.small)            \
  INTEGER(__half2short_rd, in.small)         \
  INTEGER(__half2short_rn, in.small)         \
  INTEGER(__half2short_ru, in.small)         \
  INTEGER(__half2short_rz, in.small)         \
  INTEGER(__half2uint_rd, fabsf(in.small))   \
  INTEGER(__half2uint_rn, fabsf(in.small))   \
  INTEGER(__half2uint_ru, fabsf(in.small))   \
  INTEGER(__half2uint_rz, fabsf(in.small))   \
  INTEGER(__half2ull_rd, fabsf(in.small))    \
  INTEGER(__half2ull_rn, fabsf(in.small))    \
  INTEGER(__half2ull_ru, fabsf(in.small))    \
  INTEGER(__half2ull_rz, fabsf(in.small))    \
  INTEGER(__half2ushort_rd, fabsf(in.small)) \
  INTEGER(__half2ushort_rn, fabsf(in.small)) \
  INTEGER(__half2ushort_ru, fabsf(in.small)) \
  INTEGER(__half2ushort_rz, fabsf(in.small))

template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

#define BITS(CASE)                                                                              \
  CASE(__double_as_longlong(in.d), same_bits<I64>(in.d))                                        \
  CASE(__double_as_longlong(__longlong_as_double(in.l)) == in.l, 1)                             \
  CASE(__double2hiint(in.d), int(same_bits<I64>(in.d) >> 32))                                   \
  CASE(__double2loint(in.d), int(same_bits<I64>(in.d)))                                         \
  CASE(__hiloint2double(__double2hiint(in.size), __double2loint(in.size)) == in.size, 1)        \
  CASE(__float_as_int(in.f), same_bits<int>(in.f))                                              \
  CASE(__float_as_uint(in.f), same_bits<unsigned>(in.f))                                        \
  CASE(__int_as_float(__float_as_int(in.f)) == in.f, 1)                                         \
  CASE(__uint_as_float(__float_as_uint(in.f)) == in.f, 1)                                       \
  CASE(__half_as_short(__float2half(in.small)), same_bits<short>(_Float16(in.small)))           \
  CASE(__half_as_ushort(__float2half(in.small)), same_bits<unsigned short>(_Float16(in.small))) \
  CASE(__half_as_ushort(__short_as_half(short(in.i))) == static_cast<unsigned short>(in.i), 1)  \
  CASE(__half_as_ushort(__ushort_as_half(static_cast<unsigned short>(in.u))) == (in.u & 0xffff), 1)

#define ON_DEVICE(device, host) *out++ = static_cast<I64>(device);
#define ON_HOST(device, host) *out++ = static_cast<I64>(host);
#define NAME(device, host) #device,
#define HALF_CASE_ON_DEVICE(make, x) *floats++ = __half2float(make(x));
#define HALF_CASE_ON_HOST(make, x) *floats++ = float(_Float16(x));
#define HALF_NAME(make, x) #make,
#define INTEGER_ON_DEVICE(convert, x) *out++ = static_cast<I64>(convert(__float2half(x)));
#define INTEGER_ON_HOST(convert, x) *out++ = static_cast<I64>(float(_Float16(x)));
#define FLOAT_ON_DEVICE(device, host) *floats++ = device;
#define FLOAT_ON_HOST(device, host) *floats++ = host;

const char* const kIntegerNames[] = {FROM_FLOATING(NAME) OF_HALF(HALF_NAME) BITS(NAME)};
const char* const kFloatNames[] = {TO_FLOATING(NAME) HALVES(HALF_NAME)};
constexpr int kIntegers = sizeof kIntegerNames / sizeof *kIntegerNames;
constexpr int kFloats = sizeof kFloatNames / sizeof *kFloatNames;

__global__ void convert(const Input* inputs, I64* integers, double* all_floats, int n) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= n) return;
  const Input in = inputs[index];
  I64* out = integers + index * kIntegers;
  double* floats = all_floats + index * kFloats;
  FROM_FLOATING(ON_DEVICE)
  OF_HALF(INTEGER_ON_DEVICE)
  BITS(ON_DEVICE)
  TO_FLOATING(FLOAT_ON_DEVICE)
  HALVES(HALF_CASE_ON_DEVICE)
}

static void expected(const Input& in, I64* out, double* floats) {
  FROM_FLOATING(ON_HOST)
  OF_HALF(INTEGER_ON_HOST)
  BITS(ON_HOST)
  TO_FLOATING(FLOAT_ON_HOST)
  HALVES(HALF_CASE_ON_HOST)
}

int main() {
  Test test("conversions");
  Random random(11);
  constexpr int n = 500;
  std::vector<Input> inputs(n);
  for (int i = 0; i < n; ++i) {
    Input& in = inputs[i];
    // Halves between integers among them: where the roundings differ.
    in.d = i % 3 == 0 ? static_cast<double>(random.below(2000)) - 999.5 : random.between(-2e9, 2e9);
    in.f = i % 3 == 1 ? static_cast<float>(random.below(2000)) - 999.5f : random.between(-1e6f, 1e6f);
    in.size = std::fabs(in.d);
    in.fsize = std::fabs(in.f);
    in.ul = random.bits() >> random.below(64);
    in.l = static_cast<I64>(random.bits()) >> random.below(64);
    in.u = static_cast<unsigned>(in.ul);
    in.i = static_cast<int>(in.l);
    in.small = random.between(-1000.0f, 1000.0f);
  }
  std::vector<I64> want(n * kIntegers);
  std::vector<double> want_floats(n * kFloats);
  for (int i = 0; i < n; ++i) expected(inputs[i], &want[i * kIntegers], &want_floats[i * kFloats]);

  Input* in = to_device(inputs);
  I64* out = device_array<I64>(want.size());
  double* floats = device_array<double>(want_floats.size());
  convert<<<blocks_for(n, 64), 64>>>(in, out, floats, n);
  check(hipGetLastError());
  std::vector<I64> got = to_host(out, want.size());
  std::vector<double> got_floats = to_host(floats, want_floats.size());
  for (std::size_t i = 0; i < want.size(); ++i) test.equal(kIntegerNames[i % kIntegers], got[i], want[i]);
  for (std::size_t i = 0; i < want_floats.size(); ++i) {
    test.equal(kFloatNames[i % kFloats], got_floats[i], want_floats[i]);
  }
  return test.finish();
}
