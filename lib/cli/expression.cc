// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/expression.h"

#include "base/error.h"

namespace mneme::cli {
namespace {

constexpr size_t kMatchedBytes = 64 * 1024;

}  // namespace

Expression::Expression(const std::string& option, const std::string& text) {
  auto compiled = std::make_unique<regex_t>();
  if (int failed = ::regcomp(compiled.get(), text.c_str(), REG_EXTENDED | REG_NOSUB)) {
    char reason[256];
    ::regerror(failed, compiled.get(), reason, sizeof reason);
    throw Error::of("{} '{}' is not a valid regular expression: {}", option, text, reason);
  }
  compiled_ = {compiled.release(), [](regex_t* expression) {
                 ::regfree(expression);
                 delete expression;
               }};
}

bool Expression::matches(const std::string& name) const {
  return ::regexec(compiled_.get(), name.substr(0, kMatchedBytes).c_str(), 0, nullptr, 0) == 0;
}

}  // namespace mneme::cli
