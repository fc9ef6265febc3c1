// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One value, or several side by side of which the same is computed: a GPU's work-item has one lane, a CPU's has all.
#pragma once
#include "work_item.h"

namespace mneme::verify {

template <class T, unsigned kCount>
struct ManyOf {
  using Type = T __attribute__((ext_vector_type(kCount)));
};
template <class T>
struct ManyOf<T, 1> {
  using Type = T;
};
template <class T, unsigned kCount>
using Many = typename ManyOf<T, kCount>::Type;

template <class T, unsigned kCount, class From>
MNEME_DEVICE inline Many<T, kCount> convert(From values) {
  if constexpr (kCount == 1) {
    return static_cast<T>(values);
  } else {
    return __builtin_convertvector(values, Many<T, kCount>);
  }
}

template <class T, unsigned kCount, class From>
MNEME_DEVICE inline Many<T, kCount> bits_as(From values) {
  using To = Many<T, kCount>;
  return __builtin_bit_cast(To, values);
}

// Of any alignment.
template <class T>
MNEME_DEVICE inline T load(const void* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace mneme::verify
