// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/gpu_module.h"

#include "base/error.h"
#include "bundle/launch.h"
#include "codegen/adjust.h"

namespace mneme::codegen {

void refuse_host_options(const bundle::KernelInfo& info, const bundle::Configuration& configuration) {
  if (configuration.check_memory || (configuration.form != "auto" && !configuration.form.empty())) {
    throw Error::of("kernel '{}': --check-memory and --form are for the host device, not for --target {}",
                    info.demangled, configuration.target);
  }
}

void allow_optimisation(llvm::Module& module, const bundle::KernelInfo& info) {
  if (!module.getFunction(info.name)->hasFnAttribute(llvm::Attribute::OptimizeNone)) return;
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(llvm::Attribute::OptimizeNone)) continue;
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::NoInline);  // the two go together
  }
}

void adjust(llvm::Module& module, const bundle::KernelInfo& info, const bundle::Configuration& configuration,
            const bundle::InstanceInfo* instance) {
  llvm::Function& kernel = *module.getFunction(info.name);
  set_launch_bounds(kernel, configuration.max_threads, configuration.min_blocks);
  if (!configuration.specialize_args.empty()) {
    fix_arguments(kernel, info, configuration.specialize_args, instance->arguments);
  }
  if (configuration.specialize_dims) {
    bundle::LaunchSize size = bundle::launch_size(*instance, configuration);
    fix_dimensions(kernel, size.grid, size.block);
  }
  if (!configuration.fast_math.empty()) add_fast_math(module, configuration.fast_math);
  add_attributes(kernel, configuration.attributes);
}

}  // namespace mneme::codegen
