// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of PTX, taken apart: its variables and functions, and the statements of their bodies. All texts are pieces of
// the one that was parsed.
#pragma once
#include <map>

#include "codegen/ptx/instruction.h"
#include "codegen/ptx/text.h"

namespace mneme::codegen::ptx {

// .global .align 8 .u64 table[3] = {0, f, generic(x)+8}; and a function's parameter, or its result.
struct PtxVariable {
  llvm::StringRef name, space;  // "global", "shared", "param", …; "reg" of a parameter in a register
  PtxType type;
  unsigned vector = 1;  // elements of .v2 and .v4
  uint64_t count = 1;   // of an array, those of all dimensions together; 0: as many as there are
  bool is_array = false;
  uint64_t align = 0;  // bytes; 0: as the type is
  bool is_extern = false, is_visible = false;
  bool is_weak = false;                          // other units may define the same
  llvm::SmallVector<llvm::StringRef, 4> values;  // of an array of arrays: all, in order

  uint64_t element_bytes() const { return uint64_t{type.bits} / 8 * vector; }
  uint64_t bytes() const { return element_bytes() * count; }
  uint64_t alignment() const { return align ? align : element_bytes(); }
};

struct PtxFunction {
  llvm::StringRef name;
  bool is_kernel = false, is_defined = false, is_visible = false, is_weak = false;
  std::vector<PtxVariable> results, parameters;
  std::map<llvm::StringRef, llvm::SmallVector<uint64_t, 3>> limits;  // "maxntid": {256, 1, 1}
  std::vector<PtxStatement> body;
};

struct PtxFile {
  unsigned major = 0, minor = 0;  // of the PTX ISA
  llvm::StringRef processor;      // "sm_90"
  std::vector<PtxVariable> variables;
  std::vector<PtxFunction> functions;                  // a function that is declared and defined is there twice
  std::map<llvm::StringRef, llvm::StringRef> aliases;  // functions, by their other names
};

// Of a text without comments (without_comments), which must stay where it is: the files in it, each of which begins
// with .version. Throws Error that names the line.
std::vector<PtxFile> parse_files(llvm::StringRef text);

// ".align 4 .b8 x[16] = {…}": what stands behind the space. False: it is none.
bool parse_variable(llvm::StringRef text, PtxVariable& variable);

// Of ".callprototype (.param .b32 _) _ (.param .b64 _)": its results and parameters. False: it is none.
bool parse_signature(llvm::StringRef text, PtxFunction& function);

// Of one of the text's pieces; 1 is the first.
unsigned line_of(llvm::StringRef text, llvm::StringRef piece);

}  // namespace mneme::codegen::ptx
