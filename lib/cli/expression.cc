// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/expression.h"

#include "base/error.h"

namespace mneme::cli {
namespace {

constexpr size_t kMatchedBytes = 64 * 1024;
constexpr char kReturnType[] = "void ";  // of every kernel; the demangled names of templates begin with it

}  // namespace

Expression::Expression(const std::string& option, const std::string& text) {
  auto compiled = std::make_unique<regex_t>();
  if (int failed = ::regcomp(compiled.get(), text.c_str(), REG_EXTENDED | REG_NOSUB)) {
    char reason[256];
    ::regerror(failed, compiled.get(), reason, sizeof reason);
    throw Error::of(
        "{} '{}' is not a valid regular expression: {}; in a kernel's name put \\ before (, ), [, *, +, ? and {{",
        option, text, reason);
  }
  compiled_ = {compiled.release(), [](regex_t* expression) {
                 ::regfree(expression);
                 delete expression;
               }};
}

bool Expression::matches(const std::string& name) const {
  const std::string start = name.substr(0, kMatchedBytes);
  auto found = [&](const char* text) { return ::regexec(compiled_.get(), text, 0, nullptr, 0) == 0; };
  return found(start.c_str()) || (start.starts_with(kReturnType) && found(start.c_str() + sizeof kReturnType - 1));
}

}  // namespace mneme::cli
