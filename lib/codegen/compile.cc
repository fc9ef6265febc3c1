// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/compile.h"

#include "base/error.h"
#include "codegen/amdgpu/amdgpu.h"
#include "codegen/amdgpu/target_id.h"
#include "codegen/choices.h"
#include "codegen/host/host.h"
#include "codegen/nvptx/nvptx.h"

namespace mneme::codegen {

std::string target_named(const std::string& text) {
  if (text == "host") return host::default_target();
  if (text.starts_with("host:")) {
    host::check_target(text);
    return text;
  }
  bool amd = text.starts_with("hip:");
  if (auto target = amdgpu::parse_target_id(amd ? text.substr(sizeof "hip:" - 1) : text))
    return "hip:" + target->text();
  if (amd || text.starts_with("gfx")) {
    throw Error::of(
        "'{}' is no target: of AMD's GPUs there are those of the generations gfx9 to gfx11 that LLVM knows, such as "
        "gfx90a, gfx90a:xnack+, gfx1100 or gfx11-generic",
        text);
  }
  std::string processor = text.starts_with("cuda:") ? text.substr(sizeof "cuda:" - 1) : text;
  if (!nvptx::is_processor(processor)) {
    throw Error::of("'{}' is no target: use host, host:x86-64-v2, -v3 or -v4, or a GPU's such as sm_90 or gfx90a",
                    text);
  }
  return "cuda:" + processor;
}

namespace {

// What mneme-inject did not find the host device's front end may. A kernel may use what that lacks: then nothing is
// known.
std::vector<bundle::StoreType> stores_if_known(const bundle::KernelInfo& info, std::string_view ir) {
  if (info.stores) return *info.stores;
  try {
    return host::stored_types(info, ir);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Code compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration,
             const Given& given) {
  if (is_specialised(configuration) && !given.instance) {
    throw Error::of("kernel '{}': there is no instance whose values its code could be specialised to", info.demangled);
  }
  Code code;
  if (configuration.target.starts_with("cuda:")) {
    nvptx::Result compiled = nvptx::compile(info, ir, configuration, given.instance, given.texts);
    code = {compiled.ptx, "code.ptx", "", stores_if_known(info, ir)};
    code.ir = std::move(compiled.ir);
    code.remarks = std::move(compiled.passes);
    if (given.texts) code.assembly = std::move(compiled.ptx);
  } else if (configuration.target.starts_with("hip:")) {
    amdgpu::Result compiled = amdgpu::compile(info, ir, configuration, given.instance, given.texts, given.embed);
    code = {std::move(compiled.code_object), "code.hsaco", "", stores_if_known(info, ir),
            std::move(compiled.resources)};
    code.ir = std::move(compiled.ir);
    code.assembly = std::move(compiled.assembly);
    code.remarks = std::move(compiled.passes);
    code.replaced = host::replaced_functions(info, ir);
  } else {
    host::Result compiled = host::compile(info, ir, configuration, given.instance, {given.texts, given.print_after});
    code = {std::move(compiled.code), "code.so", std::move(compiled.form), std::move(compiled.stores)};
    code.ir = std::move(compiled.ir);
    code.assembly = std::move(compiled.assembly);
    code.remarks = std::move(compiled.remarks);
    code.replaced = std::move(compiled.replaced);
  }
  if (!given.recorded.empty()) {
    code.stores = stores_if_known(info, given.recorded);
    if (!configuration.target.starts_with("cuda:")) code.replaced = host::replaced_functions(info, given.recorded);
  }
  return code;
}

}  // namespace mneme::codegen
