// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/fatal_errors.h"

#include <llvm/Support/ErrorHandling.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace mneme::ir {
namespace {

void throw_it(void* /*nothing*/, const char* reason, bool /*with a trace*/) {
  std::string_view text = reason;
  const char* help = text.find("did not reach a fixpoint") == std::string_view::npos
                         ? ""
                         : " (in a pipeline, instcombine<no-verify-fixpoint> does not insist)";
  throw Error::of("LLVM gave up: {}{}", text.substr(0, text.find_last_not_of("\n. ") + 1), help);
}

}  // namespace

void throw_fatal_errors() {
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler(throw_it);
}

}  // namespace mneme::ir
