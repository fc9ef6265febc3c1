// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/Any.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/PassInstrumentation.h>

namespace mneme::ir {

// LLVM makes of a constant table of addresses one of distances from the table itself, and the back end for NVIDIA's
// GPUs ends on what it then takes for a circle ("Circular dependency found in global variable set"). Passes that run
// with these callbacks leave such tables as they are. In a header, since the compiler's plugin uses the compiler's
// LLVM.
inline void leave_tables_of_addresses(llvm::PassInstrumentationCallbacks& callbacks) {
  callbacks.registerShouldRunOptionalPassCallback(
      [](llvm::StringRef pass, llvm::Any) { return pass != "RelLookupTableConverterPass"; });
}

}  // namespace mneme::ir
