// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/ptx_handles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace mneme::objects {
namespace {

// "16 24s", as text.
std::string handles(const std::string& body, const std::string& kernel = "k") {
  const std::string text =
      ".version 9.0\n.visible .entry other(.param .u64 other_0) { ld.param.u64 %rd1, [other_0]; }\n"
      ".visible .entry k(\n.param .u64 k_0,\n.param .u32 k_1,\n.param .u64 k_2,\n.param .u64 k_3,\n"
      ".param .align 8 .b8 k_4[32])\n.maxntid 256\n{\n.reg .b64 %rd<9>;\n" +
      body + "\nret;\n}\n";
  auto found = handles_in_ptx(text, kernel);
  if (!found) return "unknown";
  std::string all;
  for (const bundle::Handle& handle : *found) {
    all += fmt::format("{}{}{}", all.empty() ? "" : " ", handle.argument, handle.surface ? "s" : "");
  }
  return all;
}

TEST(PtxHandles, AreArguments) {
  EXPECT_EQ(handles("ld.param.u64 %rd1, [k_0]; st.global.u64 [%rd1], %rd1;"), "");
  EXPECT_EQ(handles("ld.param.u64 %rd1, [k_2]; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];"), "16");
  EXPECT_EQ(handles(".loc 1 2 3\nld.param.b64 %rd1, [k_3];\n\t.loc\t1 2\nmov.u64 %rd2, %rd1;\n"
                    "$L__BB0_1: @!%p1 sust.b.2d.b32.trap [%rd2, {%r3, %r4}], {%r2};"),
            "24s");
  EXPECT_EQ(handles("ld.param.u64 %rd1, [k_2]; { .reg .b32 %x; txq.width.b32 %x, [%rd1]; } suq.width.b32 %r1, [%rd1];"),
            "-1")
      << "as both it is neither";
  EXPECT_EQ(handles("ld.param.v2.u64 {%rd1, %rd2}, [k_4+8]; tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd2, {%f1, %f2}];"
                    "ld.shared::cta.u32 %r1, [%r2];"),
            "48");
  EXPECT_EQ(handles("mov.b64 %rd1, k_4; ld.param.u64 %rd2, [%rd1+24]; suld.b.1d.b32.trap {%r1}, [%rd2, {%r2}];"),
            "56s");
  // One or the other.
  EXPECT_EQ(handles("ld.param.u64 %rd1, [k_2]; ld.param.u64 %rd2, [k_3]; mov.u64 %rd3, %rd1; @%p1 mov.u64 %rd3, %rd2;"
                    "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd3, {%f1, %f2}];"),
            "16 24");
}

TEST(PtxHandles, ComeFromElsewhere) {
  const std::string use = "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];";
  EXPECT_EQ(handles("ld.global.u64 %rd1, [%rd7];" + use), "-1");
  EXPECT_EQ(handles("ld.const.u64 %rd1, [table];" + use), "-1");
  EXPECT_EQ(handles("add.s64 %rd1, %rd2, 8;" + use), "-1");
  EXPECT_EQ(handles(use), "-1") << "nothing defines it";
  EXPECT_EQ(handles("ld.param.u64 %rd1, [k_4+28];" + use), "-1") << "reaches behind the parameter";
  EXPECT_EQ(handles("ld.param.u32 %rd1, [k_1];" + use), "-1");
  EXPECT_EQ(handles("mov.b64 %rd2, k_4; add.s64 %rd2, %rd2, %rd3; ld.param.u64 %rd1, [%rd2];" + use), "-1");
  EXPECT_EQ(handles("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [reference, {%r1}];"), "-1");
  EXPECT_EQ(handles("ld.param.u64 %rd1, [k_2];" + use +
                    "ld.global.u64 %rd2, [%rd7];"
                    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r1}];"),
            "-1 16");
  EXPECT_EQ(handles("mov.u64 %rd1, %rd2; mov.u64 %rd2, %rd1;" + use), "") << "which is never defined";
}

TEST(PtxHandles, AreNotToldByEveryText) {
  EXPECT_EQ(handles("call.uni (retval0), look, (param0);"), "unknown");
  EXPECT_EQ(handles("call look, (param0);"), "unknown");
  EXPECT_EQ(handles("call (retval0), %rd1, (param0), prototype_0;"), "unknown");
  EXPECT_EQ(handles("call"), "unknown");
  EXPECT_EQ(handles("call (", "k"), "unknown");
  EXPECT_EQ(handles("call.uni (retval0), vprintf, (param0, param1); call.uni __assertfail, (param0);"), "");
  EXPECT_EQ(handles("", "absent"), "unknown");
  EXPECT_TRUE(uses_textures_in_ptx(".func f() { sust.b.1d.b32.trap [%rd1, {%r1}], {%r2}; }"));
  EXPECT_FALSE(uses_textures_in_ptx(".func tex() { ld.global.u32 %r1, [%rd1]; } // tex.1d"));
  EXPECT_EQ(handles("{"), "unknown") << "it does not end";
  for (const char* odd :
       {"@", "@!", "@ %p", ":", "a:", "tex", "tex [", "ld.param.u64", "ld.param.u64 %rd1, [", "mov.b64 {"}) {
    EXPECT_EQ(handles(std::string(odd) + ";").find("unknown"), std::string::npos) << odd;
  }
}

}  // namespace
}  // namespace mneme::objects
