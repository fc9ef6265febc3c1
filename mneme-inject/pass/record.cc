// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/record.h"

#include "objects/embedded.h"
#include "pass/closure.h"
#include "pass/describe.h"

namespace mneme::inject {

std::string record_of(const llvm::Function& kernel) {
  std::unique_ptr<llvm::Module> closure = closure_of(kernel);
  std::string bitcode = bitcode_of(*closure);
  bundle::KernelInfo info = describe(*closure, kernel.getName(), bitcode, kernel.getParent()->getSourceFileName());
  // What debuggers are told is no part of what the kernel is.
  if (is_debuggable(kernel)) {
    bitcode = bitcode_of(*closure_of(kernel, /*debuggable=*/true));
    info.bitcode = digest_of(bitcode);
  }
  return objects::write_embedded(bundle::write(info), bytes_of(bitcode));
}

}  // namespace mneme::inject
