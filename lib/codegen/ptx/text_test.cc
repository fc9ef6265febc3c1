// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/text.h"

#include <gtest/gtest.h>

namespace mneme::codegen::ptx {
namespace {

// Each statement as "[guard?]name(operands)".
std::string parsed(llvm::StringRef text) {
  std::string plain = without_comments(text);
  auto statements = parse_ptx(plain);
  if (!statements) return "none";
  std::string result;
  for (const PtxStatement& statement : *statements) {
    if (!statement.guard.empty()) result += (statement.unless ? "!" : "") + statement.guard.str() + "? ";
    if (statement.kind == PtxStatement::kOpen || statement.kind == PtxStatement::kClose) {
      result += statement.name.str() + " ";
      continue;
    }
    if (statement.is_label()) {
      result += statement.name.str() + ": ";
      continue;
    }
    result += statement.name.str() + "(";
    for (size_t i = 0; i < statement.operands.size(); ++i) result += (i ? "; " : "") + statement.operands[i].str();
    result += ") ";
  }
  return result;
}

TEST(PtxText, StatementsAndOperands) {
  EXPECT_EQ(parsed("mov.u32 $0, %laneid;"), "mov.u32($0; %laneid) ");
  EXPECT_EQ(parsed("{ .reg .pred p;\n\tsetp.ne.b32 p, $1, 0; @!p st.global.v2.u32 [$2+8], {a, b}; }"),
            "{ .reg(.pred p) setp.ne.b32(p; $1; 0) !p? st.global.v2.u32([$2+8]; {a, b}) } ");
  EXPECT_EQ(parsed("{.reg.b16 hl, hu;mov.b32 {hl, hu}, $1;}"), "{ .reg.b16(hl; hu) mov.b32({hl, hu}; $1) } ");
  EXPECT_EQ(parsed("shfl.sync.up.b32 r|p, $1, 1, 0, -1"), "shfl.sync.up.b32(r|p; $1; 1; 0; -1) ");
  EXPECT_EQ(parsed("ld.shared::cta.b32 $0, [a];"), "ld.shared::cta.b32($0; [a]) ");
  EXPECT_EQ(parsed("{ exit }"), "{ exit() ");
  EXPECT_EQ(parsed(""), "");
}

TEST(PtxText, CommentsAreDropped) {
  EXPECT_EQ(parsed("// one; two\nexit; /* a; b */ trap; // end"), "exit() trap() ");
  EXPECT_EQ(parsed("add.s32 a, /* in between */ b, c;"), "add.s32(a; b; c) ");
}

TEST(PtxText, Labels) {
  EXPECT_EQ(parsed("L1: bra L1;\n$done :\n@p bra.uni L1;"), "L1: bra(L1) $done: p? bra.uni(L1) ");
  EXPECT_EQ(parsed("L1: }"), "L1: } ");
}

TEST(PtxText, WhatIsNoStatement) { EXPECT_EQ(parsed("@ add.s32 a, b, c;"), "none"); }

}  // namespace
}  // namespace mneme::codegen::ptx
