// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of PTX, taken apart into statements: that of a function's body, or of inline assembly.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>
#include <vector>

namespace mneme::codegen::ptx {

struct PtxStatement {
  enum Kind { kInstruction, kLabel, kOpen, kClose };  // the last two: braces, which limit names
  Kind kind = kInstruction;
  llvm::StringRef guard;  // "p" of "@p" and "@!p"; empty: none
  bool unless = false;    // "@!p"
  llvm::StringRef name;   // "add.s32", ".reg"; of a label, its name
  llvm::SmallVector<llvm::StringRef, 6> operands;

  bool is_label() const { return kind == kLabel; }
  llvm::StringRef operation() const { return name.split('.').first; }  // "add"
  // Whether it reads the carry flag (addc), and whether it writes it (add.cc).
  bool takes_carry() const;
  bool gives_carry() const;
};

// Its statements, one after the other. Nothing: there is what is no statement, and `wrong`, if given, is it. The text
// must stay where it is, without comments (without_comments).
std::optional<std::vector<PtxStatement>> parse_ptx(llvm::StringRef text, llvm::StringRef* wrong = nullptr);

// The same lines, with spaces in place of comments.
std::string without_comments(llvm::StringRef text);

// The parts between commas that are in no brackets.
llvm::SmallVector<llvm::StringRef, 6> split_operands(llvm::StringRef text);

// Whether the first operand is what the instruction gives.
bool writes_first(const PtxStatement& statement);

// Whether it has no effect but its results: it may be moved, done in vain, and left out.
bool is_pure(llvm::StringRef operation);

// Whether it is on parts of registers: vadd, vset4.
bool is_video(llvm::StringRef operation);
// Of a video instruction's "-%r1.b0" its register, and "-b0".
struct PtxPart {
  llvm::StringRef name;
  std::string part;
};
PtxPart split_part(llvm::StringRef operand);

// The names in "a", "a|p", "{a, b}", "{a, b}|p". Nothing: none of these.
std::optional<llvm::SmallVector<llvm::StringRef, 4>> split_targets(llvm::StringRef operand);

}  // namespace mneme::codegen::ptx
