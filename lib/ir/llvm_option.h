// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::ir {

// Sets an option of LLVM's command line, such as "disable-lsr", for this process; one that this LLVM lacks is passed
// over. Links by lld set all options back.
void set_llvm_option(const char* name, const char* value = "true");

}  // namespace mneme::ir
