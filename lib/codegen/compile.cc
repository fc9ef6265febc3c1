// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/compile.h"

#include "base/error.h"
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
  std::string processor = text.starts_with("cuda:") ? text.substr(sizeof "cuda:" - 1) : text;
  if (!nvptx::is_processor(processor)) {
    throw Error::of("'{}' is no target: use host, host:x86-64-v2, -v3 or -v4, or an NVIDIA GPU's such as sm_90", text);
  }
  return "cuda:" + processor;
}

namespace {

// A kernel may use what the host device lacks: then nothing is known.
std::vector<bundle::StoreType> stores_if_known(const bundle::KernelInfo& info, std::string_view ir) {
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
    if (given.texts) code.assembly = std::move(compiled.ptx);
  } else {
    host::Result compiled = host::compile(info, ir, configuration, given.instance, given.texts);
    code = {std::move(compiled.code), "code.so", std::move(compiled.form), std::move(compiled.stores)};
    code.ir = std::move(compiled.ir);
    code.assembly = std::move(compiled.assembly);
  }
  return code;
}

}  // namespace mneme::codegen
