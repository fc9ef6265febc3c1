// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "confined.h"

#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <sstream>

#include "base/confine.h"
#include "base/error.h"
#include "ir/fatal_errors.h"

namespace mneme::compile {

std::string compiling(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration) {
  return fmt::format("compiling the kernel '{}' with '{}'", kernel.demangled, configuration.passes);
}

namespace {

// The number in front of a space, which goes.
size_t take_size(std::string_view& text) {
  size_t size = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (failed != std::errc{} || end == text.data() + text.size()) throw Error("the compiled code is cut short");
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return size;
}

}  // namespace

// As the variant that it will be, its remarks and texts, and the code behind it.
std::string encode(const codegen::Code& code) {
  bundle::VariantInfo variant;
  variant.id = variant.kernel = variant.code_digest = digest_of("no matter");
  variant.code = code.file;
  variant.form = code.form;
  variant.stores = code.stores;
  variant.resources = code.resources;
  variant.replaced = code.replaced;
  std::string remarks = fmt::format("{}", fmt::join(code.remarks, "\n"));
  return bundle::write(variant) + '\0' +
         fmt::format("{} {} {} ", remarks.size(), code.ir.size(), code.assembly.size()) + remarks + code.ir +
         code.assembly + code.bytes;
}

codegen::Code decode(std::string_view text, const std::string& where) {
  size_t end = std::min(text.find('\0'), text.size());
  bundle::VariantInfo variant = bundle::parse_variant(text.substr(0, end), where);
  if (!variant.has_code_member()) throw Error::of("{} gave no code", where);
  text.remove_prefix(std::min(end + 1, text.size()));
  std::array<size_t, 3> sizes = {};
  for (size_t& size : sizes) size = take_size(text);
  std::array<std::string_view, 3> parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > text.size()) throw Error::of("{} gave no code", where);
    parts[i] = text.substr(0, sizes[i]);
    text.remove_prefix(sizes[i]);
  }
  codegen::Code code{std::string(text), variant.code, variant.form, variant.stores, variant.resources};
  code.replaced = std::move(variant.replaced);
  code.ir = parts[1];
  code.assembly = parts[2];
  std::istringstream remarks{std::string(parts[0])};
  for (std::string line; std::getline(remarks, line);) code.remarks.push_back(line);
  return code;
}

codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration, const codegen::Given& given) {
  std::string what = compiling(kernel, configuration);
  std::string made = run_confined(what, [&] {
    ir::throw_fatal_errors();
    return encode(codegen::compile(kernel, ir, configuration, given));
  });
  return decode(made, what);
}

codegen::Code compile_confined(const bundle::KernelInfo& kernel, std::string_view ir,
                               const bundle::Configuration& configuration, const std::optional<Assembler>& assembler,
                               const codegen::Given& given) {
  return assembled(kernel, compile_confined(kernel, ir, configuration, given), configuration, assembler);
}

codegen::Code assembled(const bundle::KernelInfo& kernel, codegen::Code code,
                        const bundle::Configuration& configuration, const std::optional<Assembler>& assembler) {
  if (!assembler) return code;
  codegen::nvptx::Assembled cubin = codegen::nvptx::assemble(*assembler, kernel, code.bytes, configuration);
  code.bytes = std::move(cubin.cubin);
  code.file = "code.cubin";
  code.resources = std::move(cubin.resources);
  return code;
}

}  // namespace mneme::compile
