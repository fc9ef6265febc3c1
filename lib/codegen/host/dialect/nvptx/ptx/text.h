// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of inline assembly, taken apart.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>
#include <vector>

namespace mneme::codegen::host {

struct PtxStatement {
  llvm::StringRef guard;  // "p" of "@p" and "@!p"; empty: none
  bool unless = false;    // "@!p"
  llvm::StringRef name;   // "add.s32", ".reg"; of a label, its name
  bool is_label = false;
  llvm::SmallVector<llvm::StringRef, 6> operands;
};

// Its statements, one after the other: braces, which only limit names, are dropped. Nothing: there is what is no
// statement. The text must stay where it is, without comments (without_comments).
std::optional<std::vector<PtxStatement>> parse_ptx(llvm::StringRef text);

std::string without_comments(llvm::StringRef text);

// The parts between commas that are in no brackets.
llvm::SmallVector<llvm::StringRef, 6> split_operands(llvm::StringRef text);

}  // namespace mneme::codegen::host
