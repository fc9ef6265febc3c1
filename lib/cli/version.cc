// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/options.h"
#include "version_text.h"

namespace mneme::cli {

const char* version_text() { return MNEME_VERSION_TEXT; }

}  // namespace mneme::cli
