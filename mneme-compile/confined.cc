// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "confined.h"

#include "base/confine.h"
#include "base/error.h"

namespace mneme::compile {

codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration) {
  std::string what = fmt::format("compiling the kernel '{}' with '{}'", kernel.demangled, configuration.passes);
  std::string answer = run_confined(what, [&] {
    codegen::Code compiled = codegen::compile(kernel, ir, configuration);
    // As the variant that it will be, and the code behind it.
    bundle::VariantInfo variant;
    variant.id = variant.kernel = variant.code_digest = digest_of(compiled.bytes);
    variant.configuration = configuration;
    variant.code = compiled.file;
    variant.form = compiled.form;
    variant.stores = compiled.stores;
    return bundle::write(variant) + '\0' + compiled.bytes;
  });
  size_t end = answer.find('\0');
  bundle::VariantInfo variant = bundle::parse_variant(answer.substr(0, end), what);
  return {answer.substr(end + 1), variant.code, variant.form, variant.stores};
}

codegen::Code assemble_confined(const codegen::nvptx::Assembler& assembler, const bundle::KernelInfo& kernel,
                                codegen::Code code, const bundle::Configuration& configuration) {
  codegen::nvptx::Assembled assembled = codegen::nvptx::assemble(assembler, kernel, code.bytes, configuration);
  code.bytes = std::move(assembled.cubin);
  code.file = "code.cubin";
  code.resources = std::move(assembled.resources);
  return code;
}

}  // namespace mneme::compile
