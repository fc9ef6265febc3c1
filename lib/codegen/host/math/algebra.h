// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `algebra`: code computes with elements of a ring (math/ring.h) in place of floating-point numbers, so that two codes
// which differ in the order, association, distribution and fusion of operations leave the same elements in memory.
//
//   %r = fmul fast <2 x float> %a, %b    ──▶    call i32 @mneme_ring_multiply(…) for each element, as numbers again
//
// It is the pipeline's result that is judged, so the operations are replaced behind it, and nothing optimises them
// after that. Before it, mathematical functions are calls of functions that nobody knows: inlined, they would compute
// with bits. Vectors are taken apart. Values that are only moved stay as they are: a recorded number and the element it
// stands for have different bits, and mneme-verify compares elements.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>

namespace mneme::codegen::host {

// Whether a function of a device library, by its name in C and its type, stays a call: a scalar function of numbers of
// which this ring knows no more than the name, or laws that its code would hide.
bool stays_call(llvm::StringRef name, const llvm::Function& function);
llvm::Value* call_by_name(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments);

// On neutral IR. Throws Error, with the source line, where every way out of a loop is a comparison of numbers, or the
// address of an access is computed from one: what the ring has there may never end, or lead anywhere. Of numbers that
// take a way through memory that does not show.
void refuse_number_control(llvm::Module& module, const std::string& kernel);

// Throws Error by name for an operation on numbers that is not known.
void lower_to_algebra(llvm::Module& module, const std::string& kernel);
// Whether it is an operation that lower_to_algebra() replaces.
bool computes_numbers(const llvm::Instruction& instruction);

}  // namespace mneme::codegen::host
