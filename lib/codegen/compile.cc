// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/compile.h"

#include "base/error.h"
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

Code compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration) {
  if (configuration.target.starts_with("cuda:")) {
    return {nvptx::compile(info, ir, configuration), "code.ptx", "", stores_if_known(info, ir)};
  }
  host::Result compiled = host::compile(info, ir, configuration);
  return {std::move(compiled.code), "code.so", std::move(compiled.form), std::move(compiled.stores)};
}

}  // namespace mneme::codegen
