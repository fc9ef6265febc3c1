// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes as a table, and the verifier between them.
#include "codegen/host/pipeline.h"

#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/MDBuilder.h>

#include <cstdlib>
#include <map>
#include <set>

#include "codegen/host/abi.h"
#include "codegen/host/dialect/amdgpu/run.h"
#include "codegen/host/machine.h"
#include "codegen/host/neutral/fixed_launch.h"
#include "codegen/host/neutral/neutral.h"
#include "ir/module.h"

namespace mneme::codegen::host {
namespace {

// A barrier between a store and a load of another work-item's element, a division, a shift and an atomic operation.
constexpr char kBody[] = R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %v = load i32, ptr addrspace(1) %p
  %q = sdiv i32 1000, %v
  %h = shl i32 %q, %l
  %s = getelementptr [64 x i32], ptr addrspace(3) @tile, i64 0, i64 %i
  store i32 %h, ptr addrspace(3) %s
  call void @llvm.amdgcn.s.barrier()
  %m = sub i64 63, %i
  %o = getelementptr [64 x i32], ptr addrspace(3) @tile, i64 0, i64 %m
  %w = load i32, ptr addrspace(3) %o
  %a = atomicrmw add ptr addrspace(3) @tile, i32 1 syncscope("workgroup") monotonic
  %r = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %w, ptr addrspace(1) %r
  ret void
})";

// A lock, taken by one work-item of each block.
constexpr char kSpin[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  br label %wait
wait:
  %v = load atomic i32, ptr addrspace(1) %in syncscope("agent") monotonic, align 4
  %again = icmp eq i32 %v, 0
  br i1 %again, label %wait, label %done
done:
  store i32 %v, ptr addrspace(1) %out
  ret void
})";

// Runs the passes, and one more behind the one that is named. Gives the verifier's sentence; empty: all holds.
std::string run_with(const char* body, const char* behind, void (*breaks)(Compilation&),
                     const std::string& form = "auto", bool algebra = false) {
  bundle::KernelInfo kernel = kernel_of_pointers(2);
  bundle::Configuration wanted = configuration("default<O3>", form);
  wanted.algebra = algebra;
  auto machine = make_machine(wanted);
  llvm::LLVMContext context;
  Compilation compilation(kernel, wanted, nullptr, *machine,
                          ir::load_module(context, std::string(kAmdgpuHead) + body, "the kernel"));
  compilation.verifies = true;
  std::vector<Pass> table;
  for (const Pass& pass : passes()) {
    table.push_back(pass);
    if (std::string_view(pass.name) == behind) table.push_back({"broken", "", "", breaks});
  }
  try {
    run_passes(compilation, table);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

llvm::IRBuilder<> at_start(Compilation& c, llvm::StringRef function) {
  return llvm::IRBuilder<>(&*c.module->getFunction(function)->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
}
llvm::IRBuilder<> in_kernel(Compilation& c) { return at_start(c, "k"); }

llvm::Function* add_function(Compilation& c) {
  llvm::IRBuilder<> builder(c.module->getContext());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "added", *c.module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(c.module->getContext(), "", function));
  builder.CreateRetVoid();
  return function;
}

llvm::GlobalVariable* add_variable(Compilation& c, unsigned space, MemoryClass memory) {
  llvm::Type* word = llvm::Type::getInt32Ty(c.module->getContext());
  auto* variable = new llvm::GlobalVariable(*c.module, word, false, llvm::GlobalValue::InternalLinkage,
                                            llvm::Constant::getNullValue(word), "added", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, space);
  set_memory_class(*variable, memory);
  return variable;
}

struct Broken {
  const char* pass;
  const char* says;
  void (*breaks)(Compilation&);
  const char* body = kBody;
  const char* form = "auto";
  bool algebra = false;
};

const Broken kBroken[] = {
    {"raise", "llvm.amdgcn.s.barrier",
     [](Compilation& c) {
       in_kernel(c).CreateCall(llvm::Intrinsic::getDeclaration(c.module.get(), llvm::Intrinsic::amdgcn_s_barrier));
     }},
    {"raise", "asm sideeffect \"s_nop\"",
     [](Compilation& c) {
       auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c.module->getContext()), false);
       in_kernel(c).CreateCall(type, llvm::InlineAsm::get(type, "s_nop", "", true));
     }},
    {"flatten", "it has 'added'", [](Compilation& c) { add_variable(c, 3, MemoryClass::kShared); }},
    {"flatten", "data layout", [](Compilation& c) { c.module->setDataLayout("e"); }},
    {"calls", "the address of 'added' is taken", [](Compilation& c) { in_kernel(c).CreateFreeze(add_function(c)); }},
    {"inline", "call void @added()",
     [](Compilation& c) {
       llvm::Function* function = add_function(c);
       function->addFnAttr(llvm::Attribute::AlwaysInline);
       in_kernel(c).CreateCall(function);
     }},
    {"locals", "alloca i32",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       builder.CreateStore(builder.getInt32(1), builder.CreateAlloca(builder.getInt32Ty()));
     }},
    {"accesses", "load i8",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       llvm::LoadInst* load =
           builder.CreateAlignedLoad(builder.getInt8Ty(), c.module->getNamedGlobal("tile"), llvm::Align());
       load->setMetadata(llvm::LLVMContext::MD_range,
                         llvm::MDBuilder(c.module->getContext()).createRange(llvm::APInt(8, 0), llvm::APInt(8, 2)));
     }},
    {"accesses", "align 4",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       builder.CreateAlignedLoad(builder.getInt32Ty(), c.module->getNamedGlobal("tile"), llvm::Align(4));
     }},
    {"ends", "mneme.end",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       call_end(builder);
     }},
    {"launch", "for one launch only", [](Compilation& c) { fix_launch(*c.module, {{1, 1, 1}, {1, 1, 1}, 0}); }},
    {"arithmetic", "udiv",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       builder.CreateUDiv(builder.getInt32(1), call_query(builder, Query::kLocalId, 0));
     }},
    {"arithmetic", "ashr",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       builder.CreateAShr(builder.getInt32(1), call_query(builder, Query::kLocalId, 0));
     }},
    {"promote", "alloca i32",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       builder.CreateStore(builder.getInt32(0), builder.CreateAlloca(builder.getInt32Ty()));
     }},
    {"lanes", "fence syncscope(\"workgroup\")",
     [](Compilation& c) {
       in_kernel(c).CreateFence(llvm::AtomicOrdering::Release,
                                c.module->getContext().getOrInsertSyncScopeID("workgroup"));
     }},
    {"waits", "a loop in 'k' waits and does not yield",
     [](Compilation& c) {
       for (auto& [call, operation] : operations_in(*c.module->getFunction("k"))) {
         if (is_yield(operation)) call->eraseFromParent();
       }
     },
     kSpin},
    {"atomics", "atomicrmw",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       builder.CreateAtomicRMW(llvm::AtomicRMWInst::Add, c.module->getNamedGlobal("tile"), builder.getInt32(1), {},
                               llvm::AtomicOrdering::Monotonic);
     }},
    {"form", "' in 'added', against",
     [](Compilation& c) {
       llvm::IRBuilder<> builder(&add_function(c)->getEntryBlock().front());
       call_barrier(builder);
     }},
    {"form", "call void @mneme.barrier()",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       call_barrier(builder);
     },
     kBody, "fiber"},
    {"services", "mneme.service.stop",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = in_kernel(c);
       call_stop(builder, kTrapped);
     }},
    {"item", "mneme.group.id.y",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = at_start(c, kItemFunction);
       call_query(builder, Query::kGroupId, 1);
     }},
    {"variables", "the variable 'added'", [](Compilation& c) { add_variable(c, 0, MemoryClass::kDevice); }},
    {"block", "mneme.barrier",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = at_start(c, kBlockFunction);
       call_barrier(builder);
     }},
    {"object", "does not export", [](Compilation& c) { c.module->getNamedGlobal(kEntrySymbol)->setName("other"); }},
    {"object", "does not define 'mneme_sin'",
     [](Compilation& c) {
       llvm::IRBuilder<> builder = at_start(c, kBlockFunction);
       builder.CreateCall(c.module->getOrInsertFunction("mneme_sin", builder.getVoidTy()));
     }},
    {"algebra", "fadd float",
     [](Compilation& c) {
       llvm::IRBuilder<> builder(&add_function(c)->getEntryBlock().front());
       llvm::Value* number = builder.CreateLoad(builder.getFloatTy(), c.module->getNamedGlobal(kEntrySymbol));
       builder.CreateFAdd(number, number);
     },
     kBody, "auto", true},
};

TEST(Pipeline, EveryPassHasItsPlaceInTheTable) {
  std::map<std::string_view, size_t> place;
  for (size_t i = 0; i < passes().size(); ++i) {
    const Pass& pass = passes()[i];
    EXPECT_TRUE(place.emplace(pass.name, i).second) << pass.name;
    EXPECT_TRUE(std::string_view(pass.holds).ends_with(".")) << pass.name;
  }
  for (const Pass& pass : passes()) {
    if (!pass.until) continue;
    ASSERT_TRUE(place.contains(pass.until)) << pass.name;
    EXPECT_GT(place[pass.until], place[pass.name]) << pass.name;
    EXPECT_TRUE(pass.broken_by) << pass.name;
  }
}

TEST(Pipeline, WhatHoldsIsVerified) {
  auto nothing = [](Compilation&) {};
  for (const char* body : {kBody, kSpin}) {
    for (const char* form : {"loop", "fiber"}) EXPECT_EQ(run_with(body, "finish", nothing, form), "") << form;
  }
}

TEST(Pipeline, WhatAPassBreaksIsNamed) {
  std::set<std::string_view> broken;
  for (const Broken& each : kBroken) {
    std::string said = run_with(each.body, each.pass, each.breaks, each.form, each.algebra);
    EXPECT_EQ(said.find("kernel 'k(…)' after the pass 'broken': "), 0u) << each.pass << ": " << said;
    EXPECT_NE(said.find(each.says), std::string::npos) << each.pass << ": " << said;
    EXPECT_NE(said.find(fmt::format(", against what holds after '{}': ", each.pass)), std::string::npos) << said;
    broken.insert(each.pass);
  }
  for (const Pass& pass : passes()) EXPECT_EQ(broken.contains(pass.name), pass.broken_by != nullptr) << pass.name;
}

// A promise that a later pass breaks is named with the pass that made it.
TEST(Pipeline, PromisesLast) {
  auto breaks = [](Compilation& c) { add_variable(c, 3, MemoryClass::kShared); };
  EXPECT_NE(run_with(kBody, "block", breaks).find("against what holds after 'flatten'"), std::string::npos);
  auto local = [](Compilation& c) { in_kernel(c).CreateAlloca(llvm::Type::getInt32Ty(c.module->getContext())); };
  EXPECT_EQ(run_with(kBody, "waits", local), "");  // those of waits are such
}

TEST(Pipeline, InvalidIrIsNamed) {
  auto breaks = [](Compilation& c) { c.module->getFunction("k")->getEntryBlock().getTerminator()->eraseFromParent(); };
  EXPECT_NE(run_with(kBody, "calls", breaks).find("kernel 'k(…)' after the pass 'broken' is not valid IR: "),
            std::string::npos);
}

TEST(Pipeline, VerifyingChangesNoCode) {
  const char* before = std::getenv("MNEME_VERIFY_PASSES");
  const std::string said = before ? before : "0";
  for (const char* body : {kBody, kSpin}) {
    std::string code[2];
    for (const char* verify : {"0", "1"}) {
      ::setenv("MNEME_VERIFY_PASSES", verify, 1);
      code[*verify - '0'] = compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + body, configuration()).code;
    }
    EXPECT_EQ(code[0], code[1]);
  }
  ::setenv("MNEME_VERIFY_PASSES", said.c_str(), 1);
}

TEST(Pipeline, PrintsAfterPasses) {
  testing::internal::CaptureStderr();
  compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kBody, configuration(), nullptr,
          {.print_after = {"inline", "block"}});
  std::string printed = testing::internal::GetCapturedStderr();
  size_t inlined = printed.find("; IR of 'k(…)' after inline: The kernel is one function"),
         block = printed.find("; IR of 'k(…)' after block: mneme.run_block runs one block");
  ASSERT_EQ(inlined, 0u) << printed;
  ASSERT_NE(block, std::string::npos) << printed;
  EXPECT_LT(printed.find("call void @mneme.barrier()"), block);
  EXPECT_NE(printed.find("define internal void @mneme.run_block(", block), std::string::npos);
  EXPECT_EQ(printed.find("after raise"), std::string::npos);
}

}  // namespace
}  // namespace mneme::codegen::host
