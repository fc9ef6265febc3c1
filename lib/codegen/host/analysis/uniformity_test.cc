// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/analysis/uniformity.h"

#include <gtest/gtest.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueSymbolTable.h>

#include "codegen/host/analysis/reachable.h"
#include "ir/module.h"

namespace mneme::codegen::host {
namespace {

// %t is the id of the work-item, %n uniform.
class UniformityOf {
 public:
  explicit UniformityOf(const std::string& body)
      : module_(ir::load_module(context_,
                                "declare i32 @mneme.local.id.x() memory(none)\n"
                                "declare void @mneme.barrier() convergent\n"
                                "define void @k(i32 %n, ptr %p) {\nentry:\n  %t = call i32 @mneme.local.id.x()\n" +
                                    body + "\n}\n",
                                "the function")),
        function(*module_->getFunction("k")),
        uniformity(function, Uniformity::Of::kKernel) {}

  llvm::BasicBlock& block(llvm::StringRef name) {
    return *llvm::find_if(function, [&](llvm::BasicBlock& block) { return block.getName() == name; });
  }
  bool is_uniform(llvm::StringRef name) const {
    return uniformity.is_uniform(*function.getValueSymbolTable()->lookup(name));
  }
  // "entry>join{then}", for each divergent branch.
  std::string branches() const {
    std::string text;
    for (const Uniformity::DivergentBranch& branch : uniformity.divergent_branches()) {
      text += branch.fork()->getName().str() + ">";
      text += branch.reconvergence ? branch.reconvergence->getName().str() : "";
      std::set<std::string> names;
      for (llvm::BasicBlock* side : branch.sides()) names.insert(side->getName().str());
      text += "{";
      for (const std::string& name : names) text += (text.ends_with("{") ? "" : " ") + name;
      text += "}";
    }
    return text;
  }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;

 public:
  llvm::Function& function;
  Uniformity uniformity;
};

TEST(Uniformity, DivergesAtWhatDiffersByWorkItem) {
  UniformityOf both(R"(
  %few = icmp ult i32 %n, 8
  br i1 %few, label %small, label %large
small:
  br label %large
large:
  %s = phi i32 [ 1, %entry ], [ 2, %small ]
  %c = icmp ult i32 %t, %n
  br i1 %c, label %then, label %else
then:
  br label %join
else:
  br label %join
join:
  %x = phi i32 [ 1, %then ], [ 2, %else ]
  call void @mneme.barrier()
  ret void)");
  EXPECT_EQ(both.branches(), "large>join{else then}");
  EXPECT_TRUE(both.uniformity.is_divergent_branch(both.block("large")));
  EXPECT_FALSE(both.uniformity.is_divergent_branch(both.block("entry")));
  EXPECT_TRUE(both.is_uniform("s"));
  EXPECT_FALSE(both.is_uniform("x"));
}

// Those who do not end are all there are.
TEST(Uniformity, StaysWhereOthersOnlyEnd) {
  constexpr char kEnds[] = R"(
  %c = icmp ult i32 %t, %n
  br i1 %c, label %rest, label %end
rest:
  br label %more
more:
  %x = phi i32 [ 1, %rest ]
  PLACE
  ret void
end:
  ret void)";
  std::string with = kEnds, without = kEnds;
  with.replace(with.find("PLACE"), 5, "call void @mneme.barrier()");
  without.replace(without.find("PLACE"), 5, "");
  UniformityOf rest(with);
  EXPECT_TRUE(rest.is_uniform("x"));
  auto none = [](llvm::BasicBlock*) { return false; };
  EXPECT_EQ(ending_side(rest.block("entry"), none), std::set<llvm::BasicBlock*>{&rest.block("end")});
  // The shorter of two.
  UniformityOf two(without);
  EXPECT_EQ(ending_side(two.block("entry"), none), std::set<llvm::BasicBlock*>{&two.block("end")});
  EXPECT_TRUE(ending_side(two.block("entry"), [](llvm::BasicBlock*) { return true; }).empty());
}

// One way of three ends: those who take the other two diverge all the same.
TEST(Uniformity, DivergesAtWaysThatDoNotEnd) {
  UniformityOf three(R"(
  switch i32 %t, label %end [ i32 1, label %one
                              i32 2, label %two ]
one:
  br label %join
two:
  br label %join
join:
  %x = phi i32 [ 1, %one ], [ 2, %two ]
  call void @mneme.barrier()
  ret void
end:
  ret void)");
  EXPECT_TRUE(ending_side(three.block("entry"), [](llvm::BasicBlock*) { return false; }).empty());
  EXPECT_FALSE(three.is_uniform("x"));
}

// Work-items go round a loop a different number of times: its counter differs behind it, and in it.
TEST(Uniformity, CountersOfDivergentLoopsAreDivergent) {
  UniformityOf loop(R"(
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %t
  br i1 %again, label %head, label %done
done:
  store i32 %i, ptr %p
  ret void)");
  EXPECT_EQ(loop.branches(), "head>done{head}");
  EXPECT_FALSE(loop.is_uniform("i"));
}

// Blocks may be split after the analysis was made.
TEST(Uniformity, FollowsBranchesThroughSplits) {
  UniformityOf split(R"(
  %c = icmp ult i32 %t, %n
  br i1 %c, label %then, label %join
then:
  br label %join
join:
  ret void)");
  split.block("entry").splitBasicBlock(split.block("entry").getTerminator(), "tail");
  EXPECT_EQ(split.branches(), "tail>join{then}");
}

}  // namespace
}  // namespace mneme::codegen::host
