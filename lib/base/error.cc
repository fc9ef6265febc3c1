// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace mneme {

Error system_error(const std::string& what) { return Error(what + ": " + std::strerror(errno)); }

}  // namespace mneme
