// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the lanes of a wave reconverge.
//
// A wave has one program counter on a GPU: lanes that diverge run one after the other, and go on together where their
// control flow joins. Here each lane runs by itself up to a convergence point (neutral.h) and waits there. Two lanes
// converge at a collective of the wave if they are at the same one in the same iteration of every loop around it. So
// they are led on in the order of (outermost loop, iteration in it, loop in that, iteration, …, convergence point),
// smallest first: whenever all lanes of a wave wait or have ended, the collective of the wave to go on from is the
// least at which any waits, with the lanes that wait there. (One that waits at a barrier waits for more than the wave,
// and has no part in this.)
//
// Nobody has to count iterations for that. In each loop that has convergence points, and in which lanes may diverge,
// some convergence point is made to lie on every way round: there all lanes that are still in the loop converge once an
// iteration. In the order it is the loop's last; then no lane is ever an iteration ahead of another one that waits at a
// convergence point before that, and a number for each is order enough.
//
//   loop { if (a) { vote } else { x } }   ──▶   loop { if (a) { vote (1) } else { x }; mneme.wave.sync (2) }
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <optional>
#include <vector>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

class Uniformity;

struct ConvergencePoint {
  llvm::CallInst* call;
  // None: a call of a function that may have convergence points of its own. While a lane is in there, it is where the
  // call's number says, then what that function's convergence points say; such sequences compare lexicographically.
  std::optional<Operation> operation;
  uint32_t number;  // 1, 2, … in the order explained above
};

// The convergence points of a function that can be reached, by number. Inserts `mneme.wave.sync` where a loop wants one
// on every way round, and makes irreducible cycles loops; both only if there are collectives of the wave, or calls of
// functions that `may_converge`. Branches that `uniformity` (made for this very function; null: unknown) knows to be
// uniform call for nothing.
std::vector<ConvergencePoint> order_convergence_points(
    llvm::Function& function, const Uniformity* uniformity,
    llvm::function_ref<bool(const llvm::CallInst&)> may_converge = [](const llvm::CallInst&) { return false; });

}  // namespace mneme::codegen::host
