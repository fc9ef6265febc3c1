// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Between integers and floating-point numbers, as CUDA's kernels convert them.
#include <limits>
#include <type_traits>

#include "codegen/host/dialect/nvptx/operations.h"

namespace mneme::codegen::host {
namespace {

// Beyond the range: its ends; a NaN: 0, or, where a wide type is on either side, the upper bit.
template <typename To, typename From>
To converted(From x, int mode) {
  constexpr bool kWide = sizeof(From) == 8 || sizeof(To) == 8;
  if (std::isnan(x)) return kWide ? To{1} << (sizeof(To) * 8 - 1) : To{0};
  std::fesetround(mode);
  long double whole = std::nearbyint(static_cast<long double>(x));
  std::fesetround(FE_TONEAREST);
  if (whole <= static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (whole >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(whole);
}

template <typename From, typename To>
void check_to_integers(const std::vector<From>& values, const std::string& name) {
  // The IR has no signs.
  Operations<std::make_unsigned_t<To>, From> one;
  for (Mode mode : kModes) {
    one.add("@llvm.nvvm." + name + "." + mode.name,
            [m = mode.mode](From x) { return static_cast<std::make_unsigned_t<To>>(converted<To, From>(x, m)); });
  }
  one.check(each(values));
}

TEST(NvptxConversions, ToIntegers) {
  check_to_integers<float, int32_t>(singles(), "f2i");
  check_to_integers<float, uint32_t>(singles(), "f2ui");
  check_to_integers<float, int64_t>(singles(), "f2ll");
  check_to_integers<float, uint64_t>(singles(), "f2ull");
  check_to_integers<double, int32_t>(doubles(), "d2i");
  check_to_integers<double, uint32_t>(doubles(), "d2ui");
  check_to_integers<double, int64_t>(doubles(), "d2ll");
  check_to_integers<double, uint64_t>(doubles(), "d2ull");
}

template <typename From, typename To>
void check_from_integers(const std::string& name) {
  std::vector<std::make_unsigned_t<From>> values = {0,         1,          2,          0xffffff,  0x1000001,
                                                    0x1000003, 0x7fffffff, 0x80000000, 0xffffffff};
  if (sizeof(From) == 8) {
    for (uint64_t value :
         {0x1fffffffffffffu, 0x20000000000001u, 0x20000000000003u, 0x7fffffffffffffffu, 0x8000000000000000u,
          0x8000000000000401u, 0xfffffffffffffc01u, 0xffffffffffffffffu, 0x8000008000000001u, 0x123456789abcdefu}) {
      values.push_back(static_cast<std::make_unsigned_t<From>>(value));
    }
  }
  Operations<To, std::make_unsigned_t<From>> one;
  for (Mode mode : kModes) {
    one.add("@llvm.nvvm." + name + "." + mode.name, [m = mode.mode](std::make_unsigned_t<From> n) {
      // A long double holds all 64 bits.
      return in_mode<To>(
          m, [](volatile const long double& x) { return static_cast<To>(x); },
          static_cast<long double>(static_cast<From>(n)));
    });
  }
  one.check(each(values));
}

TEST(NvptxConversions, FromIntegers) {
  check_from_integers<int32_t, float>("i2f");
  check_from_integers<uint32_t, float>("ui2f");
  check_from_integers<int64_t, float>("ll2f");
  check_from_integers<uint64_t, float>("ull2f");
  check_from_integers<int32_t, double>("i2d");
  check_from_integers<uint32_t, double>("ui2d");
  check_from_integers<int64_t, double>("ll2d");
  check_from_integers<uint64_t, double>("ull2d");
}

}  // namespace
}  // namespace mneme::codegen::host
