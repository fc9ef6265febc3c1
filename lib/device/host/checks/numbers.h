// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <span>

#include "codegen/host/abi.h"
#include "device/host/checks/findings.h"

namespace mneme::device::host {

// The check "nan": notes an operation that made a NaN or an infinity, unless an operand is one. `operation` is "/", or
// a function's name.
void note_number(Findings& findings, const codegen::host::BlockContext& context, uint32_t thread, const char* operation,
                 double result, std::span<const double> operands, const codegen::host::Site& site);

}  // namespace mneme::device::host
