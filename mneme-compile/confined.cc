// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "confined.h"

#include "base/confine.h"
#include "base/error.h"

namespace mneme::compile {

codegen::host::Result compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                                       const bundle::Configuration& configuration) {
  std::string what = fmt::format("compiling the kernel '{}' with '{}'", kernel.demangled, configuration.passes);
  std::string answer = run_confined(what, [&] {
    codegen::host::Result compiled = codegen::host::compile(kernel, ir, configuration);
    return compiled.form + '\0' + compiled.code;
  });
  size_t form_end = answer.find('\0');
  return {answer.substr(form_end + 1), answer.substr(0, form_end)};
}

}  // namespace mneme::compile
