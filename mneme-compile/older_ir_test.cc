// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "older_ir.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::compile {
namespace {

constexpr char kIr[] = R"(
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
declare range(i32 0, 8) i32 @narrow(float nofpclass(nan))
define amdgpu_kernel void @k(ptr addrspace(1) writable dead_on_unwind %p, i32 %a, i32 %b) {
  %wide = zext nneg i32 %a to i64
  %either = or disjoint i32 %a, %b
  %cut = trunc nuw nsw i32 %either to i8
  %at = getelementptr inbounds nuw i8, ptr addrspace(1) %p, i64 %wide
  %next = getelementptr nusw i8, ptr addrspace(1) %at, i64 1
  %sum = add nuw nsw i32 %a, %b
  %n = call range(i32 0, 4) i32 @narrow(float nofpclass(inf) 1.0)
  store i8 %cut, ptr addrspace(1) %at
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
)";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(OlderIr, LeavesOutWhatAReleaseLacks) {
  unsigned code_object = 0;
  const std::string text = ir_for_release(kIr, 16, code_object);
  EXPECT_EQ(code_object, 5u);
  for (const char* later : {"range(", "nofpclass", "writable", "dead_on_unwind", "nneg", "disjoint", "trunc nuw",
                            "inbounds nuw", "nusw", "p7:", "p8:", "p9:", "ni:7:8", "amdhsa_code_object_version"}) {
    EXPECT_FALSE(has(text, later)) << later << " in\n" << text;
  }
  EXPECT_TRUE(has(text, "add nuw nsw i32"));
  EXPECT_TRUE(has(text, "getelementptr inbounds i8"));
  EXPECT_TRUE(has(text, "amdgpu_code_object_version"));
}

TEST(OlderIr, KeepsWhatAReleaseHas) {
  unsigned code_object = 0;
  const std::string middle = ir_for_release(kIr, 18, code_object);
  EXPECT_TRUE(has(middle, "nneg") && has(middle, "disjoint") && has(middle, "writable") && has(middle, "p9:"));
  EXPECT_FALSE(has(middle, "range(") || has(middle, "nusw") || has(middle, "trunc nuw"));
  const std::string same = ir_for_release(kIr, 19, code_object);
  EXPECT_TRUE(has(same, "range(") && has(same, "nusw") && has(same, "amdhsa_code_object_version"));
}

TEST(OlderIr, RefusesWhatIsNoIr) {
  unsigned code_object = 0;
  EXPECT_THROW(ir_for_release("no IR", 16, code_object), Error);
}

}  // namespace
}  // namespace mneme::compile
