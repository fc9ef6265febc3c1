// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

namespace mneme::codegen::host {

// A loop that all work-items of a block go round equally often, such as that over the inner dimension of a matrix
// product, becomes one that they go round in step: each iteration begins with `mneme.step` (neutral.h), and so does
// what follows the loop. The loop over work-items is then the innermost one, and vectorises where neighbouring
// work-items touch neighbouring elements.
//
//   for (t…) for (k…) sum[t] += a[k] * b[k][t]   ──▶   for (k…) for (t…) sum[t] += a[k] * b[k][t]
//
// What work-items carry from one iteration to the next lives in arrays, so only loops are chosen that gain by it, and
// none in kernels with other collectives than barriers. Relies on the work-item function (lower.h), before it is cut.
void step_through_loops(llvm::Function& item);

// Where fewer work-items stand side by side in x it is not worth it.
inline constexpr uint32_t kFewestInStep = 8;

}  // namespace mneme::codegen::host
