// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/choices.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace mneme::codegen {
namespace {

using testing::HasSubstr;

template <typename Body>
std::string fault(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Choices, OneFormOfWhatMeansTheSame) {
  EXPECT_EQ(normal_fast_math(""), "");
  EXPECT_EQ(normal_fast_math("reassoc, contract,reassoc"), "contract,reassoc");
  EXPECT_EQ(normal_fast_math("fast"), normal_fast_math("afn,arcp,contract,ninf,nnan,nsz,reassoc"));
  EXPECT_EQ(normal_attributes("noinline  b=2 a=1,3 b=4"), "a=1,3 b=4 noinline");
  EXPECT_EQ(normal_features("+avx2,-fma,-avx2", "host:x86-64-v2"), "-fma,-avx2");
  EXPECT_EQ(normal_arguments("2, 0,2"), "0,2");
  EXPECT_EQ(normal_arguments("all"), "all");
  EXPECT_EQ(normal_arguments("n, 10, _x,9,n"), "9,10,_x,n");
}

TEST(Choices, WhatIsUnknownIsSaid) {
  EXPECT_THAT(fault([] { normal_fast_math("fasst"); }), HasSubstr("not 'fasst'"));
  EXPECT_THAT(fault([] { normal_attributes("in-line"); }), HasSubstr("not 'in-line'"));
  EXPECT_THAT(fault([] { normal_attributes("align"); }), HasSubstr("not 'align'"));
  EXPECT_THAT(fault([] { normal_attributes("noinline=1"); }), HasSubstr("not 'noinline=1'"));
  EXPECT_THAT(fault([] { normal_attributes("noundef"); }), HasSubstr("not 'noundef'")) << "not of functions";
  EXPECT_THAT(fault([] { normal_features("avx2", "host:x86-64-v2"); }), HasSubstr("not 'avx2'"));
  EXPECT_THAT(fault([] { normal_features("+ptx83", "host:x86-64-v2"); }), HasSubstr("not '+ptx83'"));
  EXPECT_EQ(normal_features("+ptx83", "cuda:sm_90"), "+ptx83");
  EXPECT_THAT(fault([] { normal_arguments("the first"); }), HasSubstr("not 'the first'"));
  EXPECT_THAT(fault([] { normal_arguments("1st"); }), HasSubstr("not '1st'"));
  EXPECT_EQ(normal_features("+wavefrontsize32", "hip:gfx1100"), "+wavefrontsize32");
  EXPECT_THAT(fault([] { normal_features("+ptx83", "hip:gfx1100"); }), HasSubstr("such as +wavefrontsize32"));
  EXPECT_THAT(fault([] { normal_arguments("-1"); }), HasSubstr("not '-1'"));
  EXPECT_THAT(fault([] { check_cpu("znver40", "host:x86-64-v2"); }), HasSubstr("not 'znver40'"));
  EXPECT_EQ(fault([] { check_cpu("znver4", "host:x86-64-v2"); }), "none");
}

TEST(Choices, ArgumentsByTheirNumbers) {
  bundle::KernelInfo kernel;
  kernel.demangled = "k(int*, int)";
  kernel.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "i32", {}}};
  EXPECT_EQ(arguments_named(kernel, "all"), std::vector<size_t>{1});
  EXPECT_EQ(arguments_named(kernel, "0,1"), (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(arguments_named(kernel, "").empty());
  EXPECT_EQ(fault([&] { arguments_named(kernel, "1,2"); }),
            "kernel 'k(int*, int)' has no argument 2: it has 2, counted from 0; their names are not known");
}

TEST(Choices, HandlesOfTexturesAreNoConstants) {
  bundle::KernelInfo kernel;
  kernel.demangled = "k(int, textures, unsigned long, int)";
  kernel.arguments = {{0, 4, "scalar", "i32", {}},
                      {8, 16, "struct", "%struct.textures", {}},
                      {24, 8, "scalar", "i64", {}},
                      {32, 4, "scalar", "i32", {}}};
  kernel.handles = {{-1, false}, {16, true}, {24, false}};
  EXPECT_EQ(arguments_named(kernel, "all"), (std::vector<size_t>{0, 3}));
  EXPECT_THAT(fault([&] { arguments_named(kernel, "0,2"); }), HasSubstr("argument 2 of kernel 'k(int, textures, "));
  EXPECT_THAT(fault([&] { arguments_named(kernel, "1"); }), HasSubstr("the handle of a texture"));
}

TEST(Choices, ArgumentsByTheirNames) {
  bundle::KernelInfo kernel;
  kernel.demangled = "k(int*, int, int)";
  kernel.arguments = {
      {0, 8, "pointer", "ptr", {}, "out"}, {8, 4, "scalar", "i32", {}, ""}, {12, 4, "scalar", "i32", {}, "n"}};
  EXPECT_EQ(arguments_named(kernel, "n"), std::vector<size_t>{2});
  EXPECT_EQ(numbered_arguments(kernel, "n,out"), "0,2");
  EXPECT_EQ(numbered_arguments(kernel, "1,n,2"), "1,2");
  EXPECT_EQ(numbered_arguments(kernel, "all"), "all");
  EXPECT_EQ(numbered_arguments(kernel, "2,m"), "2,m");
  EXPECT_EQ(fault([&] { arguments_named(kernel, "n,m"); }),
            "kernel 'k(int*, int, int)' has no argument m: it has 3, counted from 0: out, 1 without a name, n");
}

}  // namespace
}  // namespace mneme::codegen
