// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "confined.h"

#include "base/confine.h"
#include "base/error.h"

namespace mneme::compile {

std::string compiling(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration) {
  return fmt::format("compiling the kernel '{}' with '{}'", kernel.demangled, configuration.passes);
}

// As the variant that it will be, and the code behind it.
std::string encode(const codegen::Code& code) {
  bundle::VariantInfo variant;
  variant.id = variant.kernel = variant.code_digest = digest_of("no matter");
  variant.code = code.file;
  variant.form = code.form;
  variant.stores = code.stores;
  variant.resources = code.resources;
  return bundle::write(variant) + '\0' + code.bytes;
}

codegen::Code decode(std::string_view text, const std::string& where) {
  size_t end = std::min(text.find('\0'), text.size());
  bundle::VariantInfo variant = bundle::parse_variant(text.substr(0, end), where);
  if (!variant.has_code_member()) throw Error::of("{} gave no code", where);
  return {std::string(text.substr(std::min(end + 1, text.size()))), variant.code, variant.form, variant.stores,
          variant.resources};
}

codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration) {
  std::string what = compiling(kernel, configuration);
  return decode(run_confined(what, [&] { return encode(codegen::compile(kernel, ir, configuration)); }), what);
}

codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration, const std::optional<Assembler>& assembler) {
  codegen::Code code = compile_confined(kernel, ir, configuration);
  if (!assembler) return code;
  codegen::nvptx::Assembled assembled = codegen::nvptx::assemble(*assembler, kernel, code.bytes, configuration);
  code.bytes = std::move(assembled.cubin);
  code.file = "code.cubin";
  code.resources = std::move(assembled.resources);
  return code;
}

}  // namespace mneme::compile
