// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests.
#pragma once
#include <string>

#include "base/error.h"

namespace mneme::device {

// What the Error says that `body` throws.
template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace mneme::device
