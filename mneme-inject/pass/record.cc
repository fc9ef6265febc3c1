// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/record.h"

#include <algorithm>

#include "objects/embedded.h"
#include "pass/closure.h"
#include "pass/describe.h"

namespace mneme::inject {

std::string record_of(const llvm::Function& kernel, const Told& told) {
  std::unique_ptr<llvm::Module> closure = closure_of(kernel);
  std::string bitcode = bitcode_of(*closure);
  bundle::KernelInfo info = describe(*closure, kernel.getName(), bitcode, kernel.getParent()->getSourceFileName());
  info.own_passes = told.own_passes;
  info.lifted = told.lifted;
  if (auto known = told.compilations.find(kernel.getName().str()); known != told.compilations.end()) {
    info.command = known->second->command;
    if (!known->second->source.empty()) info.source_text = digest_of(known->second->source);
  }
  auto named = told.names.find(kernel.getName().str());
  for (size_t i = 0; named != told.names.end() && i < std::min(info.arguments.size(), named->second.size()); i++) {
    info.arguments[i].name = named->second[i];
  }
  // What debuggers are told is no part of what the kernel is.
  if (is_debuggable(kernel)) {
    bitcode = bitcode_of(*closure_of(kernel, /*debuggable=*/true));
    info.bitcode = digest_of(bitcode);
  }
  return objects::write_embedded(bundle::write(info), bytes_of(bitcode));
}

}  // namespace mneme::inject
