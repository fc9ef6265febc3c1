// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What runtime.h declares is what the vendor's header says, where there is one.
#include "device/hip/runtime.h"

#include <gtest/gtest.h>

#include <type_traits>

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#include <hip/hip_runtime_api.h>

namespace mneme::device::hip {
namespace {

// Whether arguments for the one are passed as those for the other are.
template <class One, class Other>
constexpr bool kPassedAlike = sizeof(One) == sizeof(Other) && std::is_pointer_v<One> == std::is_pointer_v<Other> &&
                              std::is_floating_point_v<One> == std::is_floating_point_v<Other>;
template <class One, class Other>
constexpr bool kAlike = false;
template <class One, class... Ours, class Other, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
constexpr bool kAlike<One (*)(Ours...), Other (*)(Theirs...)> =
    kPassedAlike<One, Other> && (kPassedAlike<Ours, Theirs> && ...);
static_assert(!kAlike<int (*)(int), int (*)(int, int)> && !kAlike<int (*)(int), int (*)(long)> &&
              !kAlike<int (*)(long), int (*)(void*)>);

#define MNEME_ALIKE(name) static_assert(kAlike<decltype(Runtime::name), decltype(&::name)>, #name)
#define FUNCTION(type, name, parameters) MNEME_ALIKE(name);
#define OPTIONAL(type, name, parameters)  // the header need not have it
#include "device/hip/runtime.def"
#undef FUNCTION
#undef OPTIONAL
MNEME_ALIKE(hipDeviceGetLimit);
MNEME_ALIKE(hipMemAddressReserve);
MNEME_ALIKE(hipMemAddressFree);
MNEME_ALIKE(hipMemCreate);
MNEME_ALIKE(hipMemRelease);
MNEME_ALIKE(hipMemMap);
MNEME_ALIKE(hipMemUnmap);
MNEME_ALIKE(hipMemSetAccess);
#undef MNEME_ALIKE

static_assert(kOutOfMemory == hipErrorOutOfMemory && kNotFound == hipErrorNotFound);
static_assert(kLocationDevice == hipMemLocationTypeDevice && kPinned == hipMemAllocationTypePinned);
static_assert(kReadWrite == hipMemAccessFlagsProtReadWrite && kCopyAnyWay == hipMemcpyDefault);
static_assert(kRegisterPortable == hipHostRegisterPortable && kRegisterMapped == hipHostRegisterMapped);
static_assert(kNoTiming == hipEventDisableTiming && kL2CacheSize == hipDeviceAttributeL2CacheSize);

// The vendor's are casts, which no constant expression may have.
TEST(HipRuntime, KeysOfLaunchesAreTheVendors) {
  EXPECT_EQ(kArgumentBuffer, reinterpret_cast<uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_POINTER));
  EXPECT_EQ(kArgumentSize, reinterpret_cast<uintptr_t>(HIP_LAUNCH_PARAM_BUFFER_SIZE));
  EXPECT_EQ(kArgumentEnd, reinterpret_cast<uintptr_t>(HIP_LAUNCH_PARAM_END));
}

}  // namespace
}  // namespace mneme::device::hip
#endif

// The comparison is the compiler's; this says that it took place.
TEST(HipRuntime, AgreesWithTheVendorsHeader) { EXPECT_EQ(mneme::device::hip::kPinned, 1); }
