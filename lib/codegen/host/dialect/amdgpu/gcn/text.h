// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of AMD's inline assembly, taken apart: one instruction a line, its operands between commas or spaces, then
// modifiers ("offset:16", "glc").
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mneme::codegen::host {

struct GcnStatement {
  std::string name;                        // in lower case, without its encoding ("_e32", "_e64", "_dpp", "_sdwa")
  bool is_label = false;                   // then `name` is the label's, as it is written
  std::vector<std::string> operands;       // "$0", "v[0:1]", "-|$2|", "vcc", "off", "1.0"
  llvm::StringMap<std::string> modifiers;  // "offset": "16"; a flag's value is empty

  bool has(llvm::StringRef modifier) const { return modifiers.contains(modifier); }
  // Its value; nothing: it is none that can be read. `otherwise` where the modifier is not there.
  std::optional<int64_t> number(llvm::StringRef modifier, int64_t otherwise) const;
  // "[0,1]" as bits, the first the lowest; `otherwise` where the modifier is not there.
  std::optional<uint32_t> bits(llvm::StringRef modifier, uint32_t otherwise) const;
  // "[3,2,1,0]"; empty: there is no such list.
  llvm::SmallVector<uint32_t, 8> list(llvm::StringRef modifier) const;
};

// Its instructions and labels. Nothing: there is a directive. Comments begin with ";" or "//", or are C's.
std::optional<std::vector<GcnStatement>> parse_gcn(llvm::StringRef text);
// The label that the statement at `from` names: a name, or a number with its direction ("1b", "1f"). Nothing: there is
// none, or several.
std::optional<size_t> find_label(llvm::ArrayRef<GcnStatement> statements, size_t from, llvm::StringRef name);

}  // namespace mneme::codegen::host
