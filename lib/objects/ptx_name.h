// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>

namespace mneme::objects {

// How a variable is called in PTX and in what is made of it. Names of texts (.str) are none there, and LLVM's back end
// mends those that are a unit's own (NVPTXAssignValidGlobalNames). Of all others it is the name itself.
inline std::string ptx_name(std::string_view name) {
  std::string valid;
  for (char character : name) {
    if (character == '.' || character == '@') {
      valid += "_$_";
    } else {
      valid += character;
    }
  }
  return valid;
}

}  // namespace mneme::objects
