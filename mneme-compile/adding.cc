// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adding.h"

#include "base/file.h"

namespace mneme::compile {

void save_texts(const std::string& folder, const Digest& variant, const codegen::Code& code) {
  std::string path = folder + "/" + variant.hex();
  write_file(path + ".ll", code.ir);
  write_file(path + ".s", code.assembly);
}

std::string_view recorded_ir(const bundle::KernelMember& kernel, const Settings& settings) {
  return settings.edited_ir(kernel.info.id) ? std::string_view(kernel.bitcode) : std::string_view();
}

Batch batch_of(const bundle::KernelMember& kernel, const bundle::InstanceInfo* instance,
               const std::vector<Wanted>& wanted, const Settings& settings) {
  auto ir = [&kernel, &settings](const bundle::Configuration& configuration) -> std::string_view {
    return configuration.ir.empty() ? kernel.bitcode : *settings.edited_ir(kernel.info.id);
  };
  Batch batch{kernel.info, ir, wanted};
  batch.code_of = [&kernel, &settings](const Wanted& one) { return code_of(kernel, one, settings.given_code()); };
  batch.given = {instance, !settings.texts_folder().empty(), settings.embeds_ir(), recorded_ir(kernel, settings)};
  batch.llvms = &settings.llvms();
  batch.jobs = settings.jobs();
  batch.timeout = settings.timeout();
  if (batch.given.texts) {
    batch.save = [&settings](const Digest& variant, const codegen::Code& code) {
      save_texts(settings.texts_folder(), variant, code);
    };
  }
  return batch;
}

}  // namespace mneme::compile
