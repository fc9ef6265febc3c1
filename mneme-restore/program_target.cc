// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program_target.h"

#include <algorithm>

#include "base/error.h"
#include "cli/options.h"

namespace mneme::restore {

const std::string& ProgramTarget::Kernel::name() const {
  const bundle::KernelInfo& info = compiled.kernel.info;
  return info.demangled.empty() ? info.name : info.demangled;
}

void ProgramTarget::take(const bundle::KernelMember& kernel) {
  kernels_[kernel.info.id].compiled.kernel = kernel;
  BundleTarget::take(kernel);
}

void ProgramTarget::take(const bundle::VariantMember& variant) {
  const bundle::Configuration& configuration = variant.info.configuration;
  if (!configuration.baseline) kernels_[variant.info.kernel].compiled.targets.insert(configuration.target);
  BundleTarget::take(variant);
}

void ProgramTarget::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  kernels_[instance.info.kernel].instances++;
  writer_.add_instance(instance.info, instance.prologue, instance.epilogue, bundle::blocks_of(reader, instance),
                       instance.text);
}

void ProgramTarget::check_variants() const {
  if (std::ranges::none_of(kernels_, [](const auto& kernel) { return kernel.second.has_variant(); })) {
    throw Error(
        "there is nothing that a program could run: no kernel was compiled; put mneme-compile before mneme-restore "
        "--executable");
  }
  for (const auto& [id, kernel] : kernels_) {
    if (kernel.has_variant() || kernel.instances == 0) continue;
    cli::warn(fmt::format("kernel '{}' was not compiled: the program cannot replay its {} instance(s)", kernel.name(),
                          kernel.instances));
  }
}

std::vector<Compiled> ProgramTarget::compiled() const {
  std::vector<Compiled> all;
  for (const auto& [id, kernel] : kernels_) {
    if (kernel.has_variant() && kernel.instances > 0) all.push_back(kernel.compiled);
  }
  return all;
}

}  // namespace mneme::restore
