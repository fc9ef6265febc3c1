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
// the place of the first, from the next launch on. An annotation reaches from its pointer to the end of the
// allocation, or to the next annotated pointer in it, and ends with the allocation.
//
// This header depends on nothing: no library to link (glibc 2.34 and later), C++17, host code of HIP, CUDA and plain
// C++ alike. Outside mneme-capture the calls do nothing.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <type_traits>

extern "C" {

/// What crosses into the recorder. `size` lets later versions add members at the end.
struct mneme_annotation_v1 {
  uint32_t size;   ///< sizeof(struct mneme_annotation_v1)
  uint32_t dtype;  ///< mneme::BuiltinDType
  double threshold;
  uint32_t kind;    ///< mneme::ThresholdKind
  uint32_t norm;    ///< mneme::Norm
  const char* tag;  ///< copied; may be null
};

/// `mneme_annotate_v1`, which the recorder that mneme-capture preloads defines, and nobody else.
typedef void (*mneme_annotate_v1_function)(const void* pointer, const struct mneme_annotation_v1* annotation);
}

// Declared as both vendors' headers define it, so that annotate<__half> needs neither.
struct __half;

namespace mneme {

/// How the bytes are read.
enum class BuiltinDType : uint32_t { U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64 };

/// How far a replayed value r is from the recorded value e: |r - e|, or |r - e| / |e|.
enum class ThresholdKind : uint32_t { Absolute, Relative };

/// What is held against the threshold: each element's error (None), or their sum, root of the sum of squares, or
/// maximum.
enum class Norm : uint32_t { None, L1, L2, Linf };

struct Metadata {
  BuiltinDType builtin = BuiltinDType::U8;
  double threshold = 0;  ///< the largest acceptable error; not negative
  ThresholdKind threshold_kind = ThresholdKind::Absolute;
  Norm norm = Norm::None;
  std::string tag = {};  ///< for people: names the memory in reports
};

namespace detail {

template <class T>
constexpr BuiltinDType dtype_of() {
  constexpr bool kSigned = std::is_signed<T>::value;
  if constexpr (std::is_same<T, __half>::value) {
    return BuiltinDType::F16;
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

/// Attaches `metadata` to the device memory that starts at `pointer`.
inline void annotate(const void* pointer, const Metadata& metadata) {
  // Looked up rather than linked: an executable at a fixed address would bind a weak symbol to nothing for good.
  auto record = reinterpret_cast<mneme_annotate_v1_function>(dlsym(RTLD_DEFAULT, "mneme_annotate_v1"));
  if (!record) return;  // nobody records
  mneme_annotation_v1 plain = {};
  plain.size = sizeof plain;
  plain.dtype = static_cast<uint32_t>(metadata.builtin);
  plain.threshold = metadata.threshold;
  plain.kind = static_cast<uint32_t>(metadata.threshold_kind);
  plain.norm = static_cast<uint32_t>(metadata.norm);
  plain.tag = metadata.tag.c_str();
  record(pointer, &plain);
}

/// The same, taking the element type from T: annotate<double>(out, {.threshold = 1e-6}).
template <class T>
void annotate(const typename detail::Exactly<T>::type* pointer, Metadata metadata) {
  metadata.builtin = detail::dtype_of<std::remove_cv_t<T>>();
  annotate(static_cast<const void*>(pointer), metadata);
}

}  // namespace mneme
