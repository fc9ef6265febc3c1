// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says, in the application, what "right enough" means for a piece of device memory:
//
//     mneme::annotate(out, mneme::Metadata{
//         .builtin = mneme::BuiltinDType::F64,
//         .threshold = 1e-6,
//         .threshold_kind = mneme::ThresholdKind::Relative,
//         .norm = mneme::Norm::Linf,
//         .tag = std::string("out"),
//     });
//
// Call it before the launch whose results it is about. mneme-capture stores it with the memory, and mneme-verify
// judges that memory by it; memory without one is compared byte for byte. A second call for the same pointer takes
// the place of the first, from the next launch on. An annotation reaches from its pointer over `elements`, or to the
// end of the allocation, or to the next annotated pointer in it, whatever comes first, and ends with the allocation.
// mneme::unannotate takes it away. A variable of the device is annotated as a whole or not at all.
//
// This header depends on nothing: no library to link (glibc 2.34 and later), C++17, host code of HIP, CUDA and plain
// C++ alike. Outside mneme-capture the calls do nothing.
#pragma once

#include <dlfcn.h>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "annotate.h"

// Declared as the vendors' headers define them, so that annotate<__half> needs none.
struct __half;
struct hip_bfloat16;
struct __hip_bfloat16;
struct __nv_bfloat16;

namespace mneme {

/// How the bytes are read; CF32 and CF64 are complex numbers of two F32 or F64, the real part first.
enum class BuiltinDType : uint32_t { U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64, BF16, CF32, CF64 };

/// How far a replayed value r is from the recorded value e: |r - e|; |r - e| / |e|; |r - e| / max(|e|, scale), which
/// bears values near zero among larger ones; or how many steps from one number of the type to the next lie between
/// them.
enum class ThresholdKind : uint32_t { Absolute, Relative, Scaled, Ulp };

/// What is held against the threshold: each element's error (None), or their sum, root of the sum of squares, or
/// maximum.
enum class Norm : uint32_t { None, L1, L2, Linf };

struct Metadata {
  BuiltinDType builtin = BuiltinDType::U8;
  double threshold = 0;  ///< the largest acceptable error; not negative
  ThresholdKind threshold_kind = ThresholdKind::Absolute;
  Norm norm = Norm::None;
  std::string tag = {};   ///< for people: names the memory in reports
  uint64_t elements = 0;  ///< that it reaches over, from its pointer; 0: to the allocation's end or the next annotation
  /// True for an element that is not to be compared; those beyond its end are. All annotations together may have
  /// 1000000 runs of such elements.
  std::vector<bool> ignore = {};
  double scale = 0;  ///< of Scaled; 0: the root mean square of the recorded elements
};

namespace detail {

template <class T>
constexpr BuiltinDType dtype_of() {
  constexpr bool kSigned = std::is_signed<T>::value;
  if constexpr (std::is_same<T, __half>::value) {
    return BuiltinDType::F16;
  } else if constexpr (std::is_same<T, hip_bfloat16>::value || std::is_same<T, __hip_bfloat16>::value ||
                       std::is_same<T, __nv_bfloat16>::value) {
    return BuiltinDType::BF16;
  } else if constexpr (std::is_same<T, std::complex<float>>::value) {
    return BuiltinDType::CF32;
  } else if constexpr (std::is_same<T, std::complex<double>>::value) {
    return BuiltinDType::CF64;
  } else if constexpr (std::is_enum<T>::value) {
    return dtype_of<std::underlying_type_t<T>>();
  } else if constexpr (std::is_integral<T>::value && sizeof(T) == 1) {
    return kSigned ? BuiltinDType::I8 : BuiltinDType::U8;
  } else if constexpr (std::is_integral<T>::value && sizeof(T) == 2) {
    return kSigned ? BuiltinDType::I16 : BuiltinDType::U16;
  } else if constexpr (std::is_integral<T>::value && sizeof(T) == 4) {
    return kSigned ? BuiltinDType::I32 : BuiltinDType::U32;
  } else if constexpr (std::is_integral<T>::value && sizeof(T) == 8) {
    return kSigned ? BuiltinDType::I64 : BuiltinDType::U64;
#ifdef __FLT16_MANT_DIG__
  } else if constexpr (std::is_same<T, _Float16>::value) {
    return BuiltinDType::F16;
#endif
  } else if constexpr (std::is_same<T, float>::value) {
    return BuiltinDType::F32;
  } else {
    static_assert(std::is_same<T, double>::value, "mneme::annotate<T>: T is none of the types of BuiltinDType");
    return BuiltinDType::F64;
  }
}

// Keeps T from being deduced: annotate(pointer, metadata) is the call that takes the type from the metadata.
template <class T>
struct Exactly {
  using type = T;
};

}  // namespace detail

namespace detail {

// Looked up rather than linked: an executable at a fixed address would bind a weak symbol to nothing for good. Once:
// the recorder is there from the beginning, or never.
inline mneme_annotate_v1_function recorder() {
  static const auto function = reinterpret_cast<mneme_annotate_v1_function>(dlsym(RTLD_DEFAULT, "mneme_annotate_v1"));
  return function;
}

}  // namespace detail

/// Attaches `metadata` to the device memory that starts at `pointer`.
inline void annotate(const void* pointer, const Metadata& metadata) {
  mneme_annotate_v1_function record = detail::recorder();
  if (!record) return;  // nobody records
  std::vector<uint8_t> ignore(metadata.ignore.begin(), metadata.ignore.end());
  mneme_annotation_v1 plain = {};
  plain.size = sizeof plain;
  plain.dtype = static_cast<uint32_t>(metadata.builtin);
  plain.threshold = metadata.threshold;
  plain.kind = static_cast<uint32_t>(metadata.threshold_kind);
  plain.norm = static_cast<uint32_t>(metadata.norm);
  plain.tag = metadata.tag.c_str();
  plain.elements = metadata.elements;
  plain.ignore = ignore.data();
  plain.ignore_count = ignore.size();
  plain.scale = metadata.scale;
  record(pointer, &plain);
}

/// From `pointer` to the next annotated one, memory is compared byte for byte again.
inline void unannotate(const void* pointer) {
  if (mneme_annotate_v1_function record = detail::recorder()) record(pointer, nullptr);
}

/// The same, taking the element type from T: annotate<double>(out, {.threshold = 1e-6}).
template <class T>
void annotate(const typename detail::Exactly<T>::type* pointer, Metadata metadata) {
  metadata.builtin = detail::dtype_of<std::remove_cv_t<T>>();
  annotate(static_cast<const void*>(pointer), metadata);
}

}  // namespace mneme
