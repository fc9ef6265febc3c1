// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/argument_names.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "pass/kernel_functions.h"

namespace mneme::inject {
namespace {

// The mangled name without the names in it: "7kernels" and the like are left out, and so are values ("Lj32E").
std::string mangled_structure(llvm::StringRef name) {
  std::string structure;
  while (!name.empty()) {
    char c = name.front();
    unsigned length = 0;
    bool value = c == 'L' && name.size() > 1 && llvm::isLower(name[1]);
    if (value) {
      name = name.drop_front(std::min(name.find('E'), name.size() - 1) + 1);
    } else if (llvm::isDigit(c) && !name.consumeInteger(10, length)) {
      if (length <= name.size()) name = name.drop_front(length);
    } else {
      structure += c;
      name = name.drop_front();
      if (c == 'S' || c == 'T') name = name.drop_while(llvm::isDigit);  // a substitution's number
    }
  }
  return structure;
}

// Whether some template has a pack of arguments there. Several of a function's may come of one in the source then.
bool may_have_pack(llvm::StringRef mangled) { return llvm::StringRef(mangled_structure(mangled)).contains('J'); }

// LLVM tells what has one name apart by numbers, "x2" and "x24" after "x", and so it cannot be told whether that is the
// source's name. In a function without packs only what clang itself names may have had the name before.
void forget_ambiguous(std::vector<std::string>& names, llvm::StringRef mangled) {
  auto stem_of = [](llvm::StringRef name) { return name.rtrim("0123456789"); };
  constexpr llvm::StringLiteral kClangs[] = {"entry", "retval", "allocapt"};
  const bool pack = may_have_pack(mangled);
  const std::vector<std::string> all = names;
  for (size_t i = 0; i < names.size(); ++i) {
    llvm::StringRef name = all[i], stem = stem_of(name);
    bool shared = pack && llvm::any_of(llvm::enumerate(all), [&](auto other) {
                    llvm::StringRef one = other.value(),
                                    longer = std::max(one, name, [](auto a, auto b) { return a.size() < b.size(); });
                    llvm::StringRef shorter = longer == one ? name : one;
                    return other.index() != i && !shorter.empty() && longer.starts_with(shorter) &&
                           stem_of(longer).size() <= shorter.size();
                  });
    if (shared || (stem != name && llvm::is_contained(kClangs, stem))) names[i].clear();
  }
}

// What clang passes otherwise than the source has it is called "x.coerce"; and the argument has no name where a
// structure is copied from it into what has.
std::string name_in_source(const llvm::Argument& argument) {
  llvm::StringRef name = argument.getName();
  for (const llvm::User* user : argument.users()) {
    const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user);
    if (name.empty() && copy && copy->getRawSource() == &argument) name = copy->getRawDest()->getName();
  }
  name.consume_back(".coerce");
  return name.contains('.') ? "" : name.str();
}

void drop_names(llvm::Function& function) {
  for (llvm::Argument& argument : function.args()) argument.setName("");
  for (llvm::BasicBlock& block : function) {
    block.setName("");
    for (llvm::Instruction& instruction : block) {
      if (instruction.hasName()) instruction.setName("");
    }
  }
}

}  // namespace

ArgumentNames take_names(llvm::Module& module) {
  ArgumentNames names;
  if (module.getContext().shouldDiscardValueNames()) return names;
  const KernelFunctions kernels = kernels_in(module);
  for (llvm::Function& function : module) {
    if (kernels.contains(&function) && !function.isDeclaration()) {
      std::vector<std::string>& of_kernel = names[function.getName().str()];
      for (const llvm::Argument& argument : function.args()) of_kernel.push_back(name_in_source(argument));
      forget_ambiguous(of_kernel, function.getName());
    }
    drop_names(function);
  }
  module.getContext().setDiscardValueNames(true);
  return names;
}

}  // namespace mneme::inject
