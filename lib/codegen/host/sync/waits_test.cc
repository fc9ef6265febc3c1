// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/waits.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr char kDeclarations[] = R"(
@tile = internal global [64 x i32] undef #0
@flag = external global i32 #1
declare void @mneme.barrier()
declare i64 @mneme.wave.ballot(i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
attributes #0 = { "mneme-memory"="shared" }
attributes #1 = { "mneme-memory"="device" }
)";

// Whom the loops of a kernel wait for, "block" or "grid", once for each of them.
std::string waits(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = kDeclarations + std::string("define void @k(ptr %p, ptr %t, i32 %n, i1 %c) {\n") + body + "\n}\n";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return error.getMessage().str();
  WaitsFor whom = yield_in_waits(*module);
  if (llvm::verifyModule(*module, &llvm::errs())) return "not valid";
  std::string found;
  for (auto& [call, operation] : operations_in(*module->getFunction("k"))) {
    if (is_yield(operation)) found += whom == WaitsFor::kGrid ? "grid " : "block ";
  }
  return found;
}

// A loop that goes on as long as `go` holds.
std::string loop(const std::string& body) {
  return "br label %head\nhead:\n" + body + "\nbr i1 %go, label %head, label %end\nend:\nret void";
}

TEST(Waits, ForLoadsThatAreReadAnew) {
  EXPECT_EQ(waits(loop("%v = load volatile i32, ptr %p\n%go = icmp eq i32 %v, 0")), "grid ");
  EXPECT_EQ(waits(loop("%v = load atomic i32, ptr @flag monotonic, align 4\n%go = icmp eq i32 %v, %n")), "grid ");
  EXPECT_EQ(waits(loop("%v = load volatile i32, ptr @tile\n%go = icmp eq i32 %v, 0")), "block ");
  EXPECT_EQ(waits(loop("fence acq_rel\n%v = load i32, ptr %p\n%go = icmp eq i32 %v, 0")), "grid ");
  EXPECT_EQ(waits(loop("%v = load volatile i32, ptr %p\n%z = icmp eq i32 %v, 0\n"
                       "%m = call i64 @mneme.wave.ballot(i1 %z)\n%go = icmp ne i64 %m, 0")),
            "grid ");
  // Ordinary ones cannot change, and what is not looked at is not waited for.
  EXPECT_EQ(waits(loop("store volatile i32 1, ptr %t\n%v = load i32, ptr %p\n%go = icmp eq i32 %v, 0")), "");
  EXPECT_EQ(waits(loop("%i = phi i32 [ 0, %0 ], [ %j, %head ]\n%v = load volatile i32, ptr %p\n%j = add i32 %i, 1\n"
                       "%go = icmp ult i32 %j, %n")),
            "");
  // The index grows to whatever it is.
  EXPECT_EQ(waits(loop("%i = phi i32 [ 0, %0 ], [ %j, %head ]\n%v = load volatile i32, ptr %p\n%j = add i32 %i, 1\n"
                       "%go = icmp ult i32 %j, %v")),
            "");
  // A list, a table.
  EXPECT_EQ(waits(loop("%q = phi ptr [ %p, %0 ], [ %v, %head ]\n%v = load volatile ptr, ptr %q\n"
                       "%go = icmp ne ptr %v, null")),
            "");
  EXPECT_EQ(waits(loop("%q = phi ptr [ %p, %0 ], [ %r, %head ]\n%r = getelementptr i32, ptr %q, i64 1\n"
                       "%v = load volatile i32, ptr %q\n%go = icmp ne i32 %v, 0")),
            "");
  // Behind a barrier all of the block go on; other blocks may still have to.
  EXPECT_EQ(waits(loop("call void @mneme.barrier()\n%v = load volatile i32, ptr @tile\n%go = icmp eq i32 %v, 0")), "");
  EXPECT_EQ(waits(loop("%a = load volatile i32, ptr %p\nstore i32 %a, ptr @tile\ncall void @mneme.barrier()\n"
                       "%v = load i32, ptr @tile\n%go = icmp eq i32 %v, 0")),
            "grid ");
}

// As C++ without optimisation has it: what is read comes to where a local says that another local lies, from where it
// says, too; and where the former is goes round the loop, for nobody.
TEST(Waits, ForLoadsThroughLocalsThatHoldOthers) {
  EXPECT_EQ(waits(R"(%request = alloca { ptr, ptr }
%result = alloca i32
%known = alloca ptr
br label %head
head:
  call void @llvm.memset.p0.i64(ptr %request, i8 0, i64 16, i1 false)
  store ptr @tile, ptr %request
  %to = getelementptr { ptr, ptr }, ptr %request, i32 0, i32 1
  store ptr %result, ptr %to
  br i1 %c, label %one, label %other
one:
  store ptr %request, ptr %known
  br label %both
other:
  br label %both
both:
  %from = load ptr, ptr %request
  %v = load atomic i32, ptr %from monotonic, align 4
  %there = load ptr, ptr %to
  store i32 %v, ptr %there
  %w = load i32, ptr %result
  %go = icmp eq i32 %w, 0
  br i1 %go, label %head, label %end
end:
  ret void)"),
            "block ");
}

TEST(Waits, ForUpdatesThatRepeat) {
  auto update = [](const std::string& what) {
    return waits(loop("%v = atomicrmw " + what + " monotonic\n%go = icmp ne i32 %v, 0"));
  };
  EXPECT_EQ(update("add ptr %p, i32 0"), "grid ");
  EXPECT_EQ(update("or ptr %p, i32 0"), "grid ");
  EXPECT_EQ(update("xchg ptr %p, i32 1"), "grid ");
  EXPECT_EQ(update("umax ptr @tile, i32 %n"), "block ");
  EXPECT_EQ(update("add ptr %p, i32 1"), "");
  EXPECT_EQ(update("uinc_wrap ptr %p, i32 9"), "");
}

TEST(Waits, ForLocks) {
  EXPECT_EQ(waits(loop("%x = cmpxchg ptr %p, i32 0, i32 1 monotonic monotonic\n%v = extractvalue { i32, i1 } %x, 0\n"
                       "%go = icmp ne i32 %v, 0")),
            "grid ");
  // Work is done within the loop.
  EXPECT_EQ(waits(R"(br label %head
head:
  %x = cmpxchg ptr @tile, i32 0, i32 1 monotonic monotonic
  %v = extractvalue { i32, i1 } %x, 0
  %got = icmp eq i32 %v, 0
  br i1 %got, label %work, label %join
work:
  store volatile i32 0, ptr @tile
  br label %join
join:
  %done = phi i1 [ true, %work ], [ false, %head ]
  br i1 %done, label %end, label %head
end:
  ret void)"),
            "block ");
  // The same with variables in memory.
  EXPECT_EQ(waits(R"(%done = alloca i8
  call void @llvm.memset.p0.i64(ptr %done, i8 0, i64 1, i1 false)
  store i8 0, ptr %done
  br label %head
head:
  %d = load i8, ptr %done
  %go = icmp eq i8 %d, 0
  br i1 %go, label %try, label %end
try:
  %x = cmpxchg ptr %p, i32 0, i32 1 monotonic monotonic
  %v = extractvalue { i32, i1 } %x, 0
  %got = icmp eq i32 %v, 0
  br i1 %got, label %work, label %join
work:
  store volatile i32 0, ptr %p
  store i8 1, ptr %done
  br label %join
join:
  br label %head
end:
  ret void)"),
            "grid ");
}

TEST(Waits, ExchangesOfWhatWasReadAreNone) {
  EXPECT_EQ(waits("%o = load i32, ptr %p\nbr label %head\nhead:\n%e = phi i32 [ %o, %0 ], [ %v, %head ]\n"
                  "%w = add i32 %e, %n\n%x = cmpxchg ptr %p, i32 %e, i32 %w monotonic monotonic\n"
                  "%v = extractvalue { i32, i1 } %x, 0\n%same = icmp eq i32 %v, %e\n"
                  "br i1 %same, label %end, label %head\nend:\nret void"),
            "");
  EXPECT_EQ(waits(loop("%e = load volatile i32, ptr %p\n%w = add i32 %e, %n\n"
                       "%x = cmpxchg ptr %p, i32 %e, i32 %w monotonic monotonic\n"
                       "%v = extractvalue { i32, i1 } %x, 0\n%go = icmp ne i32 %v, %e")),
            "");
  // A place in a table that goes round: one is found.
  EXPECT_EQ(waits(loop("%i = phi i32 [ %n, %0 ], [ %k, %head ]\n%q = getelementptr i32, ptr %p, i32 %i\n"
                       "%x = cmpxchg ptr %q, i32 0, i32 %n monotonic monotonic\n"
                       "%v = extractvalue { i32, i1 } %x, 0\n%j = add i32 %i, 1\n%k = and i32 %j, 63\n"
                       "%go = icmp ne i32 %v, 0")),
            "");
  // But while what was read says that it is locked, that is a wait.
  EXPECT_EQ(waits(R"(br label %head
head:
  %e = load volatile i32, ptr %p
  %locked = icmp eq i32 %e, 1
  br i1 %locked, label %head, label %try
try:
  %x = cmpxchg ptr %p, i32 %e, i32 1 monotonic monotonic
  %v = extractvalue { i32, i1 } %x, 0
  %go = icmp ne i32 %v, %e
  br i1 %go, label %head, label %end
end:
  ret void)"),
            "grid ");
}

}  // namespace
}  // namespace mneme::codegen::host
