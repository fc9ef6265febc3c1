// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What passes promise (pipeline.h), as checks. Each gives what breaks the promise, as the rest of a sentence, or
// nothing.
#pragma once
#include <string>

#include "codegen/host/pipeline.h"

namespace mneme::codegen::host {

std::string vendor_operation(const Compilation& compilation);      // an intrinsic or assembly of a GPU's
std::string address_space(const Compilation& compilation);         // a pointer in another one than 0
std::string indirect_call(const Compilation& compilation);         // or a function whose address is taken
std::string call_to_inline(const Compilation& compilation);        // of a function that can be inlined
std::string undefined_local(const Compilation& compilation);       // one that does not begin as zeros
std::string promising_access(const Compilation& compilation);      // of more than a GPU asks for
std::string end_of_item(const Compilation& compilation);           // mneme.end
std::string unfixed_launch(const Compilation& compilation);        // although the configuration fixes it, or vice versa
std::string unguarded_arithmetic(const Compilation& compilation);  // a division that may trap, a shift without a result
std::string local_in_memory(const Compilation& compilation);       // that could be a value
std::string block_fence(const Compilation& compilation);           // of a block or less
std::string loop_without_yield(const Compilation& compilation);    // that waits for other work-items
std::string shared_atomic(const Compilation& compilation);         // an atomic access of shared memory
std::string misplaced_collective(const Compilation& compilation);  // where the form has none
std::string service_call(const Compilation& compilation);          // by name
std::string open_query(const Compilation& compilation);            // about the launch
std::string block_variable(const Compilation& compilation);        // of shared memory, or of the device
std::string neutral_operation(const Compilation& compilation);     // of any kind
std::string number_operation(const Compilation& compilation);      // where the ring takes their place
std::string missing_export(const Compilation& compilation);        // or an import of Mneme's

}  // namespace mneme::codegen::host
