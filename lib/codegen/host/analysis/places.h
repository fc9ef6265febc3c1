// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the lanes of a wave meet again after they have parted.
//
// A wave has one program counter on a GPU: lanes that part run one after the other, and go on together where their
// ways meet. Here each lane runs by itself up to a place where work-items meet (neutral.h) and waits there. Two lanes
// meet at a wave place if they are at the same one in the same iteration of every loop around it. So they are led on
// in the order of (outermost loop, iteration in it, loop in that, iteration, …, place), smallest first: whenever all
// lanes of a wave wait or have ended, the wave place to go on from is the least at which any waits, with the lanes
// that wait there. (One that waits at a place of the block waits for more than the wave, and has no part in this.)
//
// Nobody has to count iterations for that. In each loop that has places, and in which lanes may part, some place is
// made to lie on every way round: there all lanes that are still in the loop come together once an iteration. In the
// order of places it is the loop's last; then no lane is ever an iteration ahead of another one that waits at a place
// before that, and a number for each place is order enough.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <optional>
#include <vector>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

class Uniformity;

struct Place {
  llvm::CallInst* call;
  // None: a call of a function that may have places of its own. While a lane is in there, it is where the call's
  // number says, then (if several functions can be what is called) which of them, then what that function's places say;
  // such sequences compare lexicographically.
  std::optional<Operation> operation;
  uint32_t number;  // 1, 2, … in the order explained above
};

// The places of a function that can be reached, by number. Inserts `mneme.wave.meet` where a loop wants a place on
// every way round, and makes irreducible cycles loops; both only if there are wave places, or calls for which
// `has_places` holds. Branches at which `uniformity` (made for this very function; null: unknown) knows that nobody
// parts call for nothing.
std::vector<Place> order_places(
    llvm::Function& function, const Uniformity* uniformity,
    llvm::function_ref<bool(const llvm::CallInst&)> has_places = [](const llvm::CallInst&) { return false; });

}  // namespace mneme::codegen::host
