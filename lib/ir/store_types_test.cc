// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/store_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/module.h"

namespace mneme::ir {
namespace {

using testing::ElementsAre;

// The stores of a kernel with the arguments `ptr %a, ptr %b, { i32, ptr }* by reference, float %x, ptr noalias %r`, as
// "offset symbol: type".
std::vector<std::string> stores(const std::string& body, const std::string& more = "") {
  llvm::LLVMContext context;
  std::string text = "%pair = type { i32, ptr }\n" + more +
                     "define void @k(ptr %a, ptr %b, ptr byref(%pair) %c, float %x, ptr noalias %r) {\n" + body +
                     "\n  ret void\n}\n";
  std::unique_ptr<llvm::Module> module = load_module(context, text, "the test");
  bundle::KernelInfo kernel;
  kernel.name = "k";
  for (uint32_t offset : {0u, 8u, 16u, 32u, 40u}) {
    kernel.arguments.push_back({offset, offset == 16 ? 16u : offset == 32 ? 4u : 8u, "", "", {}});
  }
  auto is_shared = [](const llvm::GlobalVariable& variable) { return variable.getName().starts_with("shared"); };
  std::vector<std::string> out;
  for (const bundle::StoreType& store : store_types(*module, kernel, is_shared)) {
    out.push_back(std::to_string(store.argument) + " " + store.symbol + ": " + store.type +
                  (store.restrict ? " restrict" : ""));
  }
  return out;
}

TEST(StoreTypes, ThroughArguments) {
  EXPECT_THAT(stores("  %p = getelementptr float, ptr %a, i64 5\n  store float %x, ptr %p\n"
                     "  store <2 x double> zeroinitializer, ptr %b"),
              ElementsAre("0 : f32", "8 : f64"));
}

TEST(StoreTypes, ThatDisagree) {
  EXPECT_THAT(stores("  store float %x, ptr %a\n  store i32 1, ptr %a\n  store { i32, float } undef, ptr %b"),
              ElementsAre("0 : mixed", "8 : mixed"));
}

TEST(StoreTypes, ThatAllShare) {
  EXPECT_THAT(stores("  store float %x, ptr %a\n  store { float, { float, [2 x float] } } undef, ptr %a\n"
                     "  store <4 x float> undef, ptr %a\n  store [2 x double] undef, ptr %b"),
              ElementsAre("0 : f32", "8 : f64"));
  EXPECT_THAT(stores("  store float %x, ptr %a\n  store i32 0, ptr %a\n  store <2 x i64> zeroinitializer, ptr %a\n"
                     "  store i32 0, ptr %b"),
              ElementsAre("0 : f32", "8 : i32"))
      << "zero is that of every type";
  const std::string bits = "  %i = ptrtoint ptr %a to i32\n  %f = bitcast i32 %i to float\n";
  EXPECT_THAT(
      stores(bits + "  %s = insertvalue { float, float } undef, float %f, 1\n  store { float, float } %s, ptr %a"),
      ElementsAre("0 : mixed"));
}

TEST(StoreTypes, ThatAreCopied) {
  const std::string tags =
      "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
      "!0 = !{!\"C++\"}\n!1 = !{!\"omnipotent char\", !0, i64 0}\n"
      "!2 = !{!\"float\", !1, i64 0}\n!3 = !{!2, !2, i64 0}\n"
      "!4 = !{!\"int\", !1, i64 0}\n!5 = !{!4, !4, i64 0}\n"
      "!6 = !{i64 0, i64 4, !3, i64 4, i64 4, !3}\n"
      "!7 = !{i64 0, i64 4, !3, i64 4, i64 4, !5}\n!8 = !{}\n!9 = !{i64 0, i64 4, null}\n";
  auto copies = [&](const char* fields) {
    return stores(
        "  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 8, i1 false), !tbaa.struct " + std::string(fields),
        tags);
  };
  EXPECT_THAT(copies("!6"), ElementsAre("8 : f32"));
  for (const char* unknown : {"!7", "!8", "!9"}) EXPECT_THAT(copies(unknown), ElementsAre("8 : mixed"));
}

TEST(StoreTypes, ThroughRestrictedArguments) {
  EXPECT_THAT(stores("  store float %x, ptr %r\n  store i32 1, ptr %a"), ElementsAre("0 : i32", "40 : f32 restrict"));
}

TEST(StoreTypes, ThroughEitherOfTwo) {
  EXPECT_THAT(stores("  %c1 = fcmp oeq float %x, 0.0\n  %p = select i1 %c1, ptr %a, ptr %b\n  store half 0.0, ptr %p"),
              ElementsAre("0 : f16", "8 : f16"));
}

TEST(StoreTypes, ThroughAMemberOfAStructure) {
  EXPECT_THAT(stores("  %m = getelementptr %pair, ptr %c, i32 0, i32 1\n  %p = load ptr, ptr %m\n"
                     "  store bfloat 0.0, ptr %p"),
              ElementsAre("24 : bf16"));
}

TEST(StoreTypes, ThroughPointersFromMemory) {
  EXPECT_THAT(stores("  %p = load ptr, ptr %a\n  store i16 0, ptr %p"), ElementsAre("-1 : i16"));
}

TEST(StoreTypes, ToVariables) {
  EXPECT_THAT(
      stores("  store i64 0, ptr @v\n  store float %x, ptr @shared", "@v = global i64 0\n@shared = global float 0.0\n"),
      ElementsAre("-1 v: i64"));
}

TEST(StoreTypes, Atomics) {
  EXPECT_THAT(stores("  %o = atomicrmw fadd ptr %a, float %x monotonic\n"
                     "  %e = cmpxchg ptr %b, i32 0, i32 1 monotonic monotonic"),
              ElementsAre("0 : f32", "8 : i32"));
}

TEST(StoreTypes, WholeRanges) {
  EXPECT_THAT(stores("  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 8, i1 false)\n  store double 1.0, ptr %a\n"
                     "  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 8, i1 false)",
                     "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
                     "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"),
              ElementsAre("0 : f64", "8 : mixed"));
}

TEST(StoreTypes, ZerosWithoutType) {
  EXPECT_THAT(stores("  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 8, i1 false)\n  store i32 0, ptr %a\n"
                     "  call void @llvm.memset.p0.i64(ptr %b, i8 0, i64 8, i1 false)",
                     "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"),
              ElementsAre("0 : i32", "8 : mixed"));
}

TEST(StoreTypes, IntegersThatPassForFloatingPoint) {
  const std::string bits = "  %i = ptrtoint ptr %a to i32\n  %f = bitcast i32 %i to float\n";
  EXPECT_THAT(stores(bits + "  store float %f, ptr %a"), ElementsAre("0 : mixed"));
  EXPECT_THAT(stores(bits + "  %c1 = fcmp oeq float %x, 0.0\n  %s = select i1 %c1, float %f, float %x\n"
                            "  %v = insertelement <4 x float> zeroinitializer, float %s, i32 3\n"
                            "  store <4 x float> %v, ptr %a\n  store <4 x float> zeroinitializer, ptr %b"),
              ElementsAre("0 : mixed", "8 : f32"));
  EXPECT_THAT(stores("  br label %l\nl:\n  %p = phi float [ %x, %0 ], [ %f, %l ]\n  store float %p, ptr %a\n"
                     "  %i = load i32, ptr %b\n  %f = bitcast i32 %i to float\n"
                     "  %c1 = icmp eq i32 %i, 0\n  br i1 %c1, label %l, label %e\ne:"),
              ElementsAre("0 : mixed"));
  EXPECT_THAT(stores(bits + "  %s = fadd float %f, 1.0\n  store float %s, ptr %a"), ElementsAre("0 : f32"))
      << "what is computed is a number";
}

TEST(StoreTypes, IntrinsicsThatStore) {
  EXPECT_THAT(stores("  call void @llvm.masked.store.v4f32.p0(<4 x float> zeroinitializer, ptr %a, i32 4, <4 x i1> "
                     "zeroinitializer)\n  store float %x, ptr %a\n  call void @llvm.lifetime.start.p0(i64 4, ptr %b)",
                     "declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, i32, <4 x i1>)\n"
                     "declare void @llvm.lifetime.start.p0(i64, ptr)\n"),
              ElementsAre("0 : mixed"));
}

TEST(StoreTypes, CallsMayStoreAnything) {
  EXPECT_THAT(stores("  call void @f(ptr %a)\n  call void @g(ptr %b)",
                     "declare void @f(ptr)\ndeclare void @g(ptr readonly) memory(argmem: read)\n"),
              ElementsAre("0 : mixed"));
}

TEST(StoreTypes, OfFunctionsThatWereNotInlined) {
  EXPECT_THAT(stores("  call void @f(ptr %a)",
                     "define void @f(ptr %p) noinline {\n  store double 0.0, ptr %p\n  ret void\n}\n"),
              ElementsAre("0 : f64"));
  EXPECT_THAT(stores("  %p = call ptr @f(ptr %b)\n  store float %x, ptr %p",
                     "define ptr @f(ptr %p) {\n  %q = getelementptr i8, ptr %p, i64 8\n  ret ptr %q\n}\n"),
              ElementsAre("8 : f32"));
  EXPECT_THAT(stores("  call void @f(ptr %a)\n  store ptr @f, ptr %b",
                     "define void @f(ptr %p) {\n  store double 0.0, ptr %p\n  ret void\n}\n"),
              ElementsAre("-1 : f64", "8 : i64"));
}

TEST(StoreTypes, WhatIsTheItemsOwnDoesNotCount) {
  EXPECT_THAT(stores("  %l = alloca float\n  store float %x, ptr %l"), ElementsAre());
}

}  // namespace
}  // namespace mneme::ir
