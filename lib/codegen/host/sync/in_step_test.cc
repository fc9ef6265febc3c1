// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/in_step.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr char kDeclarations[] = R"(
@tile = internal global [64 x i32] undef #0
@flag = external global i32 #1
@other_flag = external global i32 #1
declare void @mneme.barrier()
declare i64 @mneme.wave.ballot(i1)
declare void @mneme.wave.sync()
declare void @other(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @mneme.local.id.x()
@row = internal global [256 x i32] undef #0
attributes #0 = { "mneme-memory"="shared" }
attributes #1 = { "mneme-memory"="device" }
)";

// What is left of a kernel's body: a letter for each load (l), store (s), meeting of the wave (M), barrier (B), ballot
// (V), fence (F) and other call (c).
std::string sequence(const std::string& body, const std::string& declarations = kDeclarations) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = declarations + "define void @k(ptr %in, i1 %c) {\n" + body + "\n}\n";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return error.getMessage().str();
  keep_lanes_in_step(*module, "k", 64);
  std::string found;
  for (llvm::Instruction& instruction : llvm::instructions(*module->getFunction("k"))) {
    if (llvm::isa<llvm::LoadInst>(instruction)) found += 'l';
    if (llvm::isa<llvm::StoreInst>(instruction)) found += 's';
    if (llvm::isa<llvm::FenceInst>(instruction)) found += 'F';
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call) continue;
    auto operation = operation_of(*call->getCalledFunction());
    if (operation && operation->kind == OperationKind::kQuery) continue;
    if (!operation) {
      found += 'c';
    } else if (operation->kind == OperationKind::kWaveSync) {
      found += 'M';
    } else {
      found += is_block_collective(*operation) ? 'B' : 'V';
    }
  }
  return found;
}

constexpr char kStep[] = R"(
  %a = load volatile i32, ptr @tile
  %p = getelementptr i32, ptr @tile, i64 8
  %b = load volatile i32, ptr %p
  store volatile i32 %b, ptr @tile
)";

std::string renamed(std::string text, const char* more) {
  for (const char* name : {"%a", "%b", "%p"}) {
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += 2) text.insert(at + 2, more);
  }
  return text;
}

TEST(InStep, VolatileSharedMemoryIsReadByAllBeforeAnyWrites) {
  EXPECT_EQ(sequence(std::string(kStep) + renamed(kStep, "2") + "ret void"), "llMsMllMs");
}

TEST(InStep, BarriersAreMeetings) {
  EXPECT_EQ(sequence(std::string("store volatile i32 1, ptr @tile\n call void @mneme.barrier()") + kStep + "ret void"),
            "sBllMs");
  EXPECT_EQ(sequence(std::string("store volatile i32 1, ptr @tile\n %v = call i64 @mneme.wave.ballot(i1 true)") +
                     kStep + "ret void"),
            "sVllMs");
}

TEST(InStep, OfGlobalMemoryOnlyVolatileAccessesCount) {
  EXPECT_EQ(sequence("store i32 1, ptr %in\n %v = load i32, ptr @flag\n ret void"), "sl");
  EXPECT_EQ(sequence("store volatile i32 1, ptr %in\n %v = load i32, ptr @flag\n ret void"), "sl");
  EXPECT_EQ(sequence("store volatile i32 1, ptr %in\n %v = load volatile i32, ptr @flag\n ret void"), "sMl");
  EXPECT_EQ(sequence("store volatile i32 1, ptr @other_flag\n %v = load volatile i32, ptr @flag\n ret void"), "sl");
  EXPECT_EQ(sequence("%x = alloca i32\n store volatile i32 1, ptr %x\n %v = load volatile i32, ptr %x\n ret void"),
            "sl");
}

TEST(InStep, LoopsInWhichLanesWaitForEachOtherKeepNoOrder) {
  const std::string volatile_exchange = "store volatile i32 1, ptr %in\n%v = load volatile i32, ptr @flag\n";
  auto behind = [&](const std::string& body, const std::string& between = "") {
    return sequence("%t = call i32 @mneme.local.id.x()\nbr label %head\nhead:\n" + body +
                    "br i1 %go, label %head, label %end\nend:\n" + between + volatile_exchange + "ret void");
  };
  const std::string own_flag = "%f = getelementptr i32, ptr @flag, i32 %t\n%w = load volatile i32, ptr %f\n";
  EXPECT_EQ(behind(own_flag + "%go = icmp eq i32 %w, 0\n"), "lsl");
  EXPECT_EQ(behind("%w = load volatile i32, ptr @flag\n%go = icmp ne i32 %w, %t\n"), "lsl");  // whose turn it is
  EXPECT_EQ(behind("%w = atomicrmw xchg ptr @flag, i32 1 monotonic\n%go = icmp ne i32 %w, 0\n"), "sl");
  // Where lanes meet, none waits any more.
  EXPECT_EQ(behind(own_flag + "%go = icmp eq i32 %w, 0\n", "call void @mneme.barrier()\n"), "lBsMl");
  // All lanes wait for the same.
  EXPECT_EQ(behind("%w = load volatile i32, ptr @flag\n%go = icmp eq i32 %w, 0\n"), "lMsMl");
  // So many rounds, and no more.
  EXPECT_EQ(sequence("%t = call i32 @mneme.local.id.x()\nbr label %head\nhead:\n"
                     "%i = phi i32 [ 0, %0 ], [ %j, %next ]\n" +
                     own_flag +
                     "%z = icmp eq i32 %w, 0\nbr i1 %z, label %next, label %end\nnext:\n"
                     "%j = add i32 %i, 1\n%go = icmp ult i32 %j, 5\nbr i1 %go, label %head, label %end\nend:\n" +
                     volatile_exchange + "ret void"),
            "lMsMl");
  // A branch in a loop is no wait.
  EXPECT_EQ(sequence(R"(
  %t = call i32 @mneme.local.id.x()
  %o = xor i32 %t, 1
  %p = getelementptr i32, ptr %in, i32 %t
  %q = getelementptr i32, ptr %in, i32 %o
  br label %head
head:
  %i = phi i32 [ 0, %0 ], [ %j, %next ]
  %w = load volatile i32, ptr %p
  %z = icmp eq i32 %w, 0
  br i1 %z, label %next, label %then
then:
  store volatile i32 %w, ptr %p
  %v = load volatile i32, ptr %q
  br label %next
next:
  %j = add i32 %i, 1
  %go = icmp ult i32 %j, 5
  br i1 %go, label %head, label %end
end:
  ret void)"),
            "lMsMl");
}

TEST(InStep, PointersThatMayLeadThere) {
  // Chosen between two, and one kept in a local variable, as code that nobody optimised has it.
  constexpr char kId[] = "%t = call i32 @mneme.local.id.x()\n";
  EXPECT_EQ(sequence(std::string(kId) + "%p = select i1 %c, ptr @tile, ptr %in\n store i32 %t, ptr %p\n"
                                        "%v = load i32, ptr %p\n ret void"),
            "sBl");
  EXPECT_EQ(
      sequence(std::string(kId) + "%x = alloca ptr\n store ptr @tile, ptr %x\n %p = load ptr, ptr %x\n"
                                  "store i32 %t, ptr %p\n %v = load i32, ptr %p\n store i32 %v, ptr %in\n ret void"),
      "slsBls");
}

TEST(InStep, WritesAreFollowedAcrossBranches) {
  EXPECT_EQ(sequence("%t = call i32 @mneme.local.id.x()\nbr i1 %c, label %w, label %r\n"
                     "w:\n store volatile i32 %t, ptr @tile\n br label %r\n"
                     "r:\n %v = load volatile i32, ptr @tile\n ret void"),
            "sMl");
  // Round a loop: the store comes after the load of the iteration before.
  EXPECT_EQ(sequence("br label %loop\n"
                     "loop:\n %v = load volatile i32, ptr @tile\n store volatile i32 %v, ptr @tile\n"
                     "br i1 %c, label %loop, label %end\n end:\n ret void"),
            "MlMs");
  EXPECT_EQ(sequence("call void @other(ptr @tile)\n %v = load volatile i32, ptr @tile\n ret void"), "cMl");
}

TEST(InStep, ABranchesMeetingIsNoneForThoseWhoPassItBy) {
  std::string branch =
      "%t = call i32 @mneme.local.id.x()\n%o = sub i32 63, %t\n%g = icmp ne i32 %t, 0\n"
      "%p = getelementptr i32, ptr @tile, i32 %o\n%q = getelementptr i32, ptr @tile, i32 %t\n"
      "br i1 %g, label %then, label %end\nthen:\nstore i32 %t, ptr %p\n"
      "%b = call i64 @mneme.wave.ballot(i1 true)\nbr label %end\nend:\n";
  EXPECT_EQ(sequence(branch + "%v = load i32, ptr %q\nret void"), "sVBl");
  // Lanes leave a loop one after the other, and what the others do in it, and meet for, is still open behind it.
  EXPECT_EQ(sequence(R"(
  %t = call i32 @mneme.local.id.x()
  %p = getelementptr i32, ptr @tile, i32 %t
  %o = sub i32 63, %t
  %q = getelementptr i32, ptr @tile, i32 %o
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %more, %loop ]
  store i32 %i, ptr %p
  call void @mneme.wave.sync()
  %more = add i32 %i, 1
  %goes = icmp ult i32 %more, %t
  br i1 %goes, label %loop, label %end
end:
  %v = load i32, ptr %q
  ret void)"),
            "sMBl");
  // Of three ways, one leaves the loop, and the two others are together again before it does.
  EXPECT_EQ(sequence(R"(
  %t = call i32 @mneme.local.id.x()
  br label %loop
loop:
  %i = phi i32 [ 1, %0 ], [ %more, %both ]
  %last = icmp uge i32 %i, 4
  br i1 %last, label %end, label %turn
turn:
  switch i32 %t, label %both [
    i32 55, label %end
    i32 4, label %one
  ]
one:
  %p = getelementptr i32, ptr @tile, i32 %i
  store i32 %t, ptr %p
  call void @mneme.wave.sync()
  br label %both
both:
  %q = getelementptr i32, ptr @tile, i32 %i
  %v = load i32, ptr %q
  call void @mneme.wave.sync()
  %more = shl i32 %i, 1
  br label %loop
end:
  ret void)"),
            "sMMlM");
}

TEST(InStep, GlobalMemoryOnBothSidesOfAFence) {
  std::string exchange =
      "%t = call i32 @mneme.local.id.x()\n%o = xor i32 %t, 1\n%p = getelementptr i32, ptr %in, i32 %t\n"
      "%q = getelementptr i32, ptr %in, i32 %o\n";
  EXPECT_EQ(sequence(exchange + "store i32 1, ptr %p\n%v = load i32, ptr %q\nret void"), "sl");
  EXPECT_EQ(sequence(exchange + "store i32 1, ptr %p\nfence syncscope(\"workgroup\") acq_rel\n"
                                "%v = load i32, ptr %q\nret void"),
            "sMl");
  EXPECT_EQ(sequence(exchange + "store i32 1, ptr %p\nfence seq_cst\n%v = load i32, ptr %q\nret void"), "sFMl");
  EXPECT_EQ(sequence(exchange + "store i32 1, ptr %p\nfence seq_cst\n%v = load i32, ptr %p\nret void"), "sFl");
  EXPECT_EQ(sequence(exchange + "store i32 1, ptr %p\nfence seq_cst\ncall void @mneme.barrier()\n"
                                "%v = load i32, ptr %q\nret void"),
            "sFBl");
  // A fence by itself is nothing: another wave needs a barrier.
  EXPECT_EQ(sequence("fence syncscope(\"workgroup\") release\n fence syncscope(\"workgroup\") acquire\n ret void"), "");
}

// A kernel of one work-item's number, and elements of shared memory by index.
std::string numbered(const std::string& body) {
  return sequence("%t = call i32 @mneme.local.id.x()\n" + body + "\nret void");
}
std::string element(const std::string& name, const std::string& index, const char* variable = "tile") {
  return name + " = getelementptr i32, ptr @" + variable + ", i32 " + index + "\n";
}
std::string stored(const std::string& name) { return "store i32 1, ptr " + name + "\n"; }
std::string loaded(const std::string& name) { return "load i32, ptr " + name + "\n"; }

TEST(InStep, LanesMeetBeforeTheyReadEachOthersElements) {
  std::string both = "%o = sub i32 63, %t\n" + element("%p", "%t") + element("%q", "%o");
  EXPECT_EQ(numbered(both + stored("%p") + loaded("%q")), "sBl");
  EXPECT_EQ(numbered(both + loaded("%q") + stored("%p")), "lBs");
  EXPECT_EQ(numbered(both + stored("%p") + "call void @mneme.barrier()\n" + loaded("%q")), "sBl");
  EXPECT_EQ(numbered(both + stored("%p") + loaded("%q") + loaded("%p") + stored("%p")), "sBllBs");
  // Other variables, and other waves.
  EXPECT_EQ(numbered(both + element("%r", "%o", "row") + stored("%p") + loaded("%r")), "sl");
  EXPECT_EQ(numbered("%n = add i32 %t, 64\n" + element("%p", "%t", "row") + element("%q", "%n", "row") + stored("%p") +
                     loaded("%q")),
            "sl");
}

TEST(InStep, ALanesOwnElementsNeedNoMeeting) {
  // The same number, computed in another way; a slice of two; a row a lane.
  EXPECT_EQ(numbered("%u = add i32 %t, 5\n%w = sub i32 %u, 5\n" + element("%p", "%t") + element("%q", "%w") +
                     stored("%p") + loaded("%q")),
            "sl");
  EXPECT_EQ(numbered("%u = shl i32 %t, 1\n%w = add i32 %u, 1\n" + element("%p", "%u", "row") +
                     element("%q", "%w", "row") + stored("%p") + loaded("%q")),
            "sl");
  EXPECT_EQ(numbered("%u = mul i32 %t, 3\n%w = add i32 %u, 3\n" + element("%p", "%u", "row") +
                     element("%q", "%w", "row") + stored("%p") + loaded("%q")),
            "sBl");
  // Data may choose the same for several lanes; but not where each has a column of its own.
  EXPECT_EQ(numbered("%i = load i32, ptr %in\n" + element("%p", "%i") + loaded("%p") + stored("%p") + loaded("%p")),
            "llBsBl");
  EXPECT_EQ(numbered("%i = load i32, ptr %in\n%r = shl i32 %i, 6\n%j = add i32 %r, %t\n" + element("%p", "%j", "row") +
                     loaded("%p") + stored("%p") + loaded("%p")),
            "llsl");
}

// Slices of a wave, element by element: the lane's index, and so many elements for each wave before.
TEST(InStep, WavesHaveSlicesOfTheirOwn) {
  auto slices = [](const std::string& apart) {
    return "%lane = and i32 %t, 63\n%base = and i32 %t, -64\n%wide = shl i32 %base, 1\n%first = or disjoint i32 %wide, "
           "%lane\n"
           "%second = add i32 %first, " +
           apart + "\n" + element("%p", "%first", "row") + element("%q", "%second", "row") + stored("%p") +
           loaded("%q");
  };
  EXPECT_EQ(numbered(slices("64")), "sl");
  EXPECT_EQ(numbered(slices("63")), "sBl");
  // Of waves that are half as large there are two in a slice.
  EXPECT_EQ(numbered("%lane = and i32 %t, 31\n%base = and i32 %t, -32\n%wide = shl i32 %base, 1\n"
                     "%first = or disjoint i32 %wide, %lane\n%second = add i32 %first, 32\n" +
                     element("%p", "%first", "row") + element("%q", "%second", "row") + stored("%p") + loaded("%q")),
            "sBl");
}

TEST(InStep, WhereNobodyWritesOrAllAreAtomicNoOrderCounts) {
  std::string both = "%o = xor i32 %t, 1\n" + element("%p", "%t") + element("%q", "%o");
  auto added = [](const char* to) { return std::string("atomicrmw add ptr ") + to + ", i32 1 monotonic\n"; };
  EXPECT_EQ(numbered(both + loaded("%p") + loaded("%q")), "ll");
  EXPECT_EQ(numbered(both + added("%p") + added("%q")), "");
  EXPECT_EQ(numbered(both + added("%p") + loaded("%q")), "Bl");
}

TEST(InStep, TheSameValueFromAllLanesIsThereWhoeverStoresItLast) {
  EXPECT_EQ(numbered("store i32 5, ptr @tile\n load i32, ptr @tile"), "sl");
  EXPECT_EQ(numbered("store i32 5, ptr @tile\n store i32 7, ptr @tile"), "ss");
  EXPECT_EQ(numbered("store i32 %t, ptr @tile\n load i32, ptr @tile"), "sBl");
  EXPECT_EQ(numbered("store i32 5, ptr @tile\n store i32 %t, ptr @tile"), "sBs");
  // What it was before is read by all first; and only some store it here.
  EXPECT_EQ(numbered("load i32, ptr @tile\n store i32 5, ptr @tile"), "lBs");
  EXPECT_EQ(numbered("%g = icmp ult i32 %t, 5\nbr i1 %g, label %then, label %end\nthen:\nstore i32 5, ptr @tile\n"
                     "br label %end\nend:\n%v = load i32, ptr @tile"),
            "sBl");
}

TEST(InStep, LanesThatAreAlikeInAllThatIsAskedFor) {
  auto dimensions = [](const std::string& body, bool any_rows = false) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic error;
    std::string text = std::string(kDeclarations) + "declare i32 @mneme.local.id.y()\ndefine void @k(ptr %in) {\n" +
                       "%t = call i32 @mneme.local.id.x()\n" + body + "\nret void\n}\n";
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
    if (!module) throw std::runtime_error(error.getMessage().str());
    LanesInStep in_step = keep_lanes_in_step(*module, "k", 64, any_rows);
    return std::pair(in_step.dimensions, in_step.remarks.size());
  };
  using Found = std::pair<unsigned, size_t>;
  std::string own = element("%p", "%t") + stored("%p") + loaded("%p");
  EXPECT_EQ(dimensions(own), (Found{1, 0}));
  EXPECT_EQ(dimensions(own, true), (Found{0, 1}));
  EXPECT_EQ(dimensions("%y = call i32 @mneme.local.id.y()\nstore i32 %y, ptr %in\n" + own), (Found{0, 1}));
  // Whatever lanes there are: a barrier is between, or these are other elements.
  EXPECT_EQ(dimensions(element("%p", "%t") + stored("%p") + "call void @mneme.barrier()\n" + loaded("%p")),
            (Found{0, 0}));
  EXPECT_EQ(dimensions(element("%p", "3") + element("%q", "4") + stored("%p") + loaded("%q")), (Found{0, 0}));
}

TEST(InStep, WhyLanesSynchroniseIsSaid) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = std::string(kDeclarations) + R"(
define void @k(ptr %in) !dbg !2 {
  %t = call i32 @mneme.local.id.x()
  %o = xor i32 %t, 1
  %p = getelementptr i32, ptr @tile, i32 %t
  %q = getelementptr i32, ptr @tile, i32 %o
  store i32 %t, ptr %p, !dbg !3
  %v = load i32, ptr %q, !dbg !4
  ret void
}
!llvm.module.flags = !{!5}
!llvm.dbg.cu = !{!1}
!0 = !DIFile(filename: "app.hip", directory: "/")
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !0)
!2 = distinct !DISubprogram(name: "k", file: !0, line: 1, unit: !1)
!3 = !DILocation(line: 12, scope: !2)
!4 = !DILocation(line: 13, scope: !2)
!5 = !{i32 2, !"Debug Info Version", i32 3}
)";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  ASSERT_TRUE(module) << error.getMessage().str();
  EXPECT_EQ(
      keep_lanes_in_step(*module, "k", 64).remarks,
      std::vector<std::string>{"lanes synchronise between the store to 'tile' at app.hip:12 and the load from 'tile' "
                               "at app.hip:13"});
}

TEST(InStep, AccessesThatKeepNoOrderAreNamed) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = std::string(kDeclarations) + R"(
define void @k(ptr %in) {
  %t = call i32 @mneme.local.id.x()
  br label %head
head:
  %w = atomicrmw xchg ptr @flag, i32 1 monotonic
  %go = icmp ne i32 %w, 0
  br i1 %go, label %head, label %end
end:
  store volatile i32 %t, ptr %in
  %v = load volatile i32, ptr %in
  ret void
}
)";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  ASSERT_TRUE(module) << error.getMessage().str();
  EXPECT_EQ(keep_lanes_in_step(*module, "k", 64).remarks,
            std::vector<std::string>{
                "lanes keep no order between the store to 'in' and the load from 'in': in or behind a loop "
                "in which lanes of a wave may wait for each other"});
}

TEST(InStep, ConditionsOnTheIndexTellWhoExchanges) {
  auto guarded = [](const std::string& condition, const std::string& body) {
    return numbered(condition + "\nbr i1 %g, label %then, label %end\nthen:\n" + body + "br label %end\nend:");
  };
  // A step of a tree; all lanes' step; one lane at work; those that data chooses, which may be several.
  std::string step = "%n = add i32 %t, 16\n" + element("%p", "%t") + element("%q", "%n") + loaded("%q") + stored("%p");
  EXPECT_EQ(guarded("%g = icmp ult i32 %t, 16", step), "ls");
  EXPECT_EQ(guarded("%g = icmp ult i32 %t, 17", step), "lMs");
  std::string two = "%i = load i32, ptr %in\n%j = add i32 %i, 1\n" + element("%p", "%i") + element("%q", "%j") +
                    stored("%p") + loaded("%q") + stored("%q") + loaded("%p");
  EXPECT_EQ(guarded("%g = icmp eq i32 %t, 0", two), "lslsl");
  EXPECT_EQ(guarded("%k = load i32, ptr %in\n%g = icmp eq i32 %t, %k", two), "llsMlMsMl");
  // One lane tells all; its element is read behind the branch, where all are.
  EXPECT_EQ(numbered("%g = icmp eq i32 %t, 7\nbr i1 %g, label %then, label %end\nthen:\n" + element("%p", "3") +
                     stored("%p") + "br label %end\nend:\n" + element("%q", "3") + loaded("%q")),
            "sBl");
}

constexpr char kTree[] = R"(
  %t = call i32 @mneme.local.id.x()
  %p = getelementptr i32, ptr @tile, i32 %t
  store i32 1, ptr %p
  br label %loop
loop:
  %o = phi i32 [ 32, %0 ], [ %half, %next ]
  %more = icmp ne i32 %o, 0
  br i1 %more, label %body, label %end
body:
  BARRIER
  %g = icmp ult i32 %t, %o
  br i1 %g, label %then, label %next
then:
  %n = add i32 %t, %o
  %q = getelementptr i32, ptr @tile, i32 %n
  %a = load i32, ptr %q
  store i32 %a, ptr %p
  br label %next
next:
  %half = lshr i32 %o, 1
  br label %loop
end:
  LAST
  ret void
)";

std::string tree(const std::string& barrier, const std::string& last) {
  std::string text = kTree;
  text.replace(text.find("BARRIER"), 7, barrier);
  return sequence(text.replace(text.find("LAST"), 4, last));
}

TEST(InStep, LoopsAreGoneThroughWithTheirCounters) {
  // Where all are, not where lanes part.
  EXPECT_EQ(tree("", ""), "sBls");
  EXPECT_EQ(tree("call void @mneme.barrier()", ""), "sBls");
  // That one lane is left in the last round is not known.
  std::string clear =
      "%c0 = icmp eq i32 %t, 0\n br i1 %c0, label %one, label %all\n"
      "one:\n %r = getelementptr i32, ptr @tile, i32 1\n store i32 0, ptr %r\n br label %all\nall:";
  EXPECT_EQ(tree("call void @mneme.barrier()", clear), "sBlsMs");
  EXPECT_EQ(tree("call void @mneme.barrier()", "%z = load i32, ptr getelementptr (i32, ptr @tile, i32 1)"), "sBlsBl");
  EXPECT_EQ(tree("call void @mneme.barrier()", "%z = load i32, ptr @tile"), "sBlsBl");
}

TEST(InStep, BlocksMeetWhereAllOfThemCome) {
  std::string both = "%o = xor i32 %t, 1\n" + element("%p", "%t") + element("%q", "%o") + stored("%p") + loaded("%q");
  // Not if some have ended, and nothing of the program's tells of them; nor where work-items wait for each other.
  std::string ends = "%g = icmp ult i32 %t, 20\nbr i1 %g, label %on, label %off\noff:\nret void\non:\n";
  EXPECT_EQ(numbered(ends + both), "sMl");
  EXPECT_EQ(numbered(ends + both + "call void @mneme.barrier()"), "sBlB");
  EXPECT_EQ(numbered("%f = load volatile i32, ptr @flag\n" + both), "lsMl");
}

TEST(InStep, LocalsThatAreKeptInMemoryAreSeenThrough) {
  std::string kept = "%x = alloca i32\nstore i32 %t, ptr %x\n%a = load i32, ptr %x\n" + element("%p", "%a") +
                     stored("%p") + "%b = load i32, ptr %x\n";
  std::string used = "%v = load i32, ptr %q\nstore i32 %v, ptr %in\n";
  EXPECT_EQ(numbered(kept + "%c1 = xor i32 %b, 1\n" + element("%q", "%c1") + used), "slslBls");
  EXPECT_EQ(numbered(kept + element("%q", "%b") + used), "slslls");
  // What another lane has stored is kept in a local, then stored where lanes read again.
  std::string moved = "%m = load i32, ptr %q\nstore i32 %m, ptr %x\n%n = load i32, ptr %x\nstore i32 %n, ptr %p\n";
  EXPECT_EQ(numbered(kept + "%c1 = xor i32 %b, 1\n" + element("%q", "%c1") + moved), "slslBlslBs");
  // Structures go to and fro by copies of memory, which promotion replaces.
  std::string whole = R"(
%y = alloca [2 x i32]
%h = lshr i32 %t, 1
%o = xor i32 %h, 1
%ho = shl i32 %h, 3
%oo = shl i32 %o, 3
%own = getelementptr i8, ptr @row, i32 %ho
%others = getelementptr i8, ptr @row, i32 %oo
store i32 %t, ptr %own
call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %others, i64 8, i1 false)
%f = load i32, ptr %y
%g = add i32 %f, 1
store i32 %g, ptr %y
call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %y, i64 8, i1 false)
)";
  EXPECT_EQ(numbered("%x = alloca i32\nstore i32 %t, ptr %x\n" + whole), "ssBclsBc");
  // One load is promoted to two of its halves, which are new.
  std::string halves = R"(
%y = alloca i64
%z = alloca i64
%own = getelementptr i64, ptr @row, i32 %t
%o = xor i32 %t, 1
%others = getelementptr i64, ptr @row, i32 %o
%wide = zext i32 %t to i64
store i64 %wide, ptr %own
%v = load i64, ptr %others
store i64 %v, ptr %y
%w = load i64, ptr %y
store i64 %w, ptr %z
%f = load float, ptr %y
%second = getelementptr float, ptr %z, i64 1
%g = load float, ptr %second
store float %f, ptr %in
store float %g, ptr %in
)";
  EXPECT_EQ(numbered("%x = alloca i32\nstore i32 %t, ptr %x\n" + halves), "ssBlslsllss");
}

}  // namespace
}  // namespace mneme::codegen::host
