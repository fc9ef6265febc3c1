// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-compile: adds to a bundle a variant of each kernel, compiled as its options say.
#include "bundle/reader.h"
#include "bundle/writer.h"
#include "cli/options.h"
#include "cli/stage.h"
#include "confined.h"
#include "settings.h"

namespace mneme::compile {
namespace {

std::string describe(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant) {
  const bundle::Resources& resources = *variant.resources;
  std::string text = fmt::format(
      "'{}' takes {} registers, {} bytes of stack, {} of shared memory, and spills {} bytes in stores and {} in loads",
      kernel.demangled, resources.registers, resources.stack, resources.shared, resources.spill_stores,
      resources.spill_loads);
  for (const bundle::ConstantBank& constant : resources.constants) {
    text += fmt::format(", {} bytes of constant bank {}", constant.bytes, constant.bank);
  }
  return text + " (" + variant.assembled_by + ")";
}

void add_variant(bundle::Writer& writer, const bundle::KernelMember& kernel, const Settings& settings, bool verbose) {
  bundle::VariantInfo variant;
  variant.kernel = kernel.info.id;
  variant.configuration = settings.configuration();
  variant.id = bundle::variant_id(kernel.info.id, variant.configuration);
  const std::string& ir = settings.edited_ir() ? *settings.edited_ir() : kernel.bitcode;
  codegen::Code compiled = compile_confined(kernel.info, ir, variant.configuration);
  if (const auto& assembler = settings.assembler()) {
    compiled = assemble_confined(*assembler, kernel.info, std::move(compiled), variant.configuration);
    variant.assembled_by = assembler->kind + ' ' + assembler->version;
    variant.resources = compiled.resources;
    if (verbose) cli::note(describe(kernel.info, variant));
  }
  variant.code = compiled.file;
  variant.form = compiled.form;
  variant.stores = compiled.stores;
  variant.code_digest = digest_of(compiled.bytes);
  writer.add(bundle::variant_json_name(variant.kernel, variant.id), bundle::write(variant));
  writer.add(bundle::variant_code_name(variant.kernel, variant.id, variant.code), compiled.bytes);
}

Exit run(int argc, char** argv) {
  cli::Options options("mneme-compile", "Adds compiled variants of the kernels in a bundle.");
  cli::Input input;
  cli::Output output;
  cli::Selection selection;
  Settings settings;
  settings.add_options(options);
  selection.add_options(options);
  output.add_options(options);
  input.add_options(options);
  options.parse(argc, argv);
  settings.check(options);
  selection.check();

  input.open();
  bundle::Reader reader(input.fd(), input.name(), bundle::Memory::kPass);
  output.open();
  bundle::Writer writer(output.fd(), output.name());
  writer.add(std::string(bundle::kBundleMember),
             bundle::write(cli::with_provenance(reader.info(), "mneme-compile", options)));
  reader.copy_to(&writer);

  std::optional<bundle::Summary> summary;
  std::optional<bundle::KernelInfo> edited;
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) {
      if (!selection.kernel(kernel->info)) continue;
      if (settings.edited_ir() && edited) {
        throw Error::of("--ir gives one kernel's IR, but both '{}' and '{}' are selected: choose with --kernel",
                        edited->demangled, kernel->info.demangled);
      }
      edited = kernel->info;
      if (options.verbose()) cli::note("compiling '" + kernel->info.demangled + "'");
      add_variant(writer, *kernel, settings, options.verbose());
    } else if (auto* end = std::get_if<bundle::Summary>(&*item)) {
      summary = std::move(*end);
    }
  }
  selection.check_met();
  return cli::finish(reader, writer, output, std::move(summary));
}

}  // namespace
}  // namespace mneme::compile

int main(int argc, char** argv) {
  return mneme::cli::run_tool("mneme-compile", [&] { return mneme::compile::run(argc, argv); });
}
