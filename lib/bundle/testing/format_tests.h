// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the tests of members' texts.
#pragma once

#include <string>

#include "base/error.h"
#include "bundle/format.h"

namespace mneme::bundle {

inline const Digest kOne = digest_of("one"), kTwo = digest_of("two"), kThree = digest_of("three");

// The sentence of a failing call, or "none".
template <typename Function>
std::string fault_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// A member's text that was changed, with the seal that goes with it.
inline std::string resealed(std::string text) {
  text.resize(text.rfind(",\"digest\""));
  return text + ",\"digest\":\"" + digest_of(text).hex() + "\"}";
}

}  // namespace mneme::bundle
