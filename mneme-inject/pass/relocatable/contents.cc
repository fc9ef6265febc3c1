// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/relocatable/contents.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/ModuleSlotTracker.h>
#include <llvm/IR/TypeFinder.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "base/digest.h"

namespace mneme::inject {
namespace {

constexpr char kContents[] = "mneme.contents";

bool is_of_name(char c) { return llvm::isAlnum(c) || c == '.' || c == '_' || c == '$' || c == '-'; }

using Names = llvm::StringSet<>;

// Names of all types that have a name in text. Those without one have a number there, which is another in each module:
// while this lives they have names.
class NamedTypes {
 public:
  explicit NamedTypes(const llvm::Module& module) {
    llvm::TypeFinder types;
    types.run(module, /*onlyNamed=*/false);
    for (llvm::StructType* type : types) {
      if (type->isLiteral()) continue;
      if (!type->hasName()) {
        type->setName("mneme.type");
        unnamed_.push_back(type);
      }
      names_.insert(type->getName());
    }
  }
  ~NamedTypes() {
    for (llvm::StructType* type : unnamed_) type->setName("");
  }
  NamedTypes(const NamedTypes&) = delete;
  NamedTypes& operator=(const NamedTypes&) = delete;

  bool contains(llvm::StringRef name) const { return names_.contains(name); }

 private:
  llvm::SmallVector<llvm::StructType*, 8> unnamed_;
  Names names_;
};

// Without what linking changes: the numbers of attributes and metadata, those that tell names of units apart
// ("@table.7"), and names of types, of which two that are made alike become one.
std::string as_in_any_module(llvm::StringRef text, const NamedTypes& types) {
  std::string kept;
  while (!text.empty()) {
    const char c = text.front();
    kept += c;
    text = text.drop_front();
    if (c == '#' || c == '!') text = text.drop_while(llvm::isDigit);
    if (c == '%' && text.consume_front("\"")) {
      text = text.split('"').second;
      continue;
    }
    if (c != '@' && c != '%') continue;
    llvm::StringRef name = text.take_while(is_of_name);
    text = text.drop_front(name.size());
    if (c == '%' && types.contains(name)) continue;
    for (;;) {
      auto [stem, number] = name.rsplit('.');
      if (number.empty() || !llvm::all_of(number, llvm::isDigit)) break;
      name = stem;
    }
    kept += name;
  }
  return kept;
}

// Calls `take` with the digest of each function and variable that the module defines, but LLVM's and Mneme's own.
template <class Take>
void digest_all(const llvm::Module& module, const Take& take) {
  const NamedTypes types(module);
  llvm::ModuleSlotTracker slots(&module);
  const auto digest = [&](const std::string& text) { return digest_of(as_in_any_module(text, types)).hex(); };
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    slots.incorporateFunction(function);
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (const llvm::BasicBlock& block : function) {
      stream << "block\n";
      for (const llvm::Instruction& instruction : block) {
        if (llvm::isa<llvm::DbgInfoIntrinsic>(instruction)) continue;
        instruction.print(stream, slots);
        stream << '\n';
      }
    }
    take(digest(stream.str()));
  }
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.hasInitializer() || variable.getName().starts_with("llvm.") ||
        variable.getName().starts_with("__mneme_")) {
      continue;
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    variable.getInitializer()->printAsOperand(stream, /*PrintType=*/true, slots);
    take(digest(stream.str()));
  }
}

}  // namespace

void note_contents(llvm::Module& unit) {
  llvm::LLVMContext& context = unit.getContext();
  llvm::SmallVector<llvm::Metadata*, 0> digests;
  digest_all(unit, [&](const std::string& digest) { digests.push_back(llvm::MDString::get(context, digest)); });
  unit.getOrInsertNamedMetadata(kContents)->addOperand(llvm::MDNode::get(context, digests));
}

bool has_other_contents(const llvm::Module& program) {
  const llvm::NamedMDNode* units = program.getNamedMetadata(kContents);
  if (!units) return false;
  Names noted;
  for (const llvm::MDNode* unit : units->operands()) {
    for (const llvm::MDOperand& digest : unit->operands()) {
      if (auto* text = llvm::dyn_cast_or_null<llvm::MDString>(digest)) noted.insert(text->getString());
    }
  }
  bool others = false;
  digest_all(program, [&](const std::string& digest) { others |= !noted.contains(digest); });
  return others;
}

}  // namespace mneme::inject
