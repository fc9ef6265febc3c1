// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handles of textures and surfaces are numbers of 64 bits to the IR: only what uses them tells that they are none of
// the kernel's own.
#include "pass/texture_handles.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>

#include <optional>
#include <set>
#include <utility>

#include "pass/origins.h"

namespace mneme::inject {
namespace {

constexpr uint64_t kMostElements = 1024;  // of arrays of handles among the arguments

// An instruction that takes a handle.
struct Use {
  const llvm::Value* handle = nullptr;  // null: its text does not tell
  bool surface = false;
};

std::optional<bool> is_of_surfaces(llvm::StringRef instruction) {
  instruction = instruction.ltrim(" \t{");
  if (instruction.starts_with("istypep.")) return instruction.starts_with("istypep.surf");
  for (llvm::StringRef name : {"tex.", "tld4.", "txq."}) {
    if (instruction.starts_with(name)) return false;
  }
  for (llvm::StringRef name : {"suld.", "sust.", "sured.", "suq."}) {
    if (instruction.starts_with(name)) return true;
  }
  return std::nullopt;
}

// The operand that an instruction's first bracket begins with: "tex.1d.v4.f32.s32 {$0, $1, $2, $3}, [$4, {$5}];".
const llvm::Value* first_in_brackets(const llvm::CallBase& call, const llvm::InlineAsm& assembly) {
  llvm::StringRef text = assembly.getAsmString();
  text = text.drop_front(std::min(text.find('['), text.size())).drop_front(text.contains('[') ? 1 : 0).ltrim();
  unsigned number = 0, outputs = 0;
  if (!text.consume_front("$") || text.consumeInteger(10, number)) return nullptr;
  for (const auto& constraint : assembly.ParseConstraints()) outputs += constraint.Type == llvm::InlineAsm::isOutput;
  return number >= outputs && number - outputs < call.arg_size() ? call.getArgOperand(number - outputs) : nullptr;
}

// CUDA's headers have inline assembly for all of it; LLVM has intrinsics, too.
std::optional<Use> texture_use(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call) return std::nullopt;
  if (auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand())) {
    std::optional<bool> surface = is_of_surfaces(assembly->getAsmString());
    return surface ? std::optional(Use{first_in_brackets(*call, *assembly), *surface}) : std::nullopt;
  }
  const llvm::Function* function = call->getCalledFunction();
  llvm::StringRef name = function ? function->getName() : "";
  if (!name.consume_front("llvm.nvvm.")) return std::nullopt;
  std::optional<bool> surface = is_of_surfaces(name);
  return surface ? std::optional(Use{call->getArgOperand(0), *surface}) : std::nullopt;
}

class Handles {
 public:
  Handles(const llvm::Module& module, const llvm::Function& kernel, const std::vector<bundle::Argument>& arguments)
      : origins_(module, kernel), arguments_(arguments) {}

  void add(const Use& use) {
    surface_ = use.surface;
    if (!use.handle) return add_elsewhere();
    const auto [origins, complete] = origins_.of(*use.handle);
    if (!complete) add_elsewhere();
    for (const Origin& origin : origins) {
      if (is_exact(origin.behind)) {
        add_word(origin.word);
      } else {
        add_elsewhere();
      }
    }
  }

  std::vector<bundle::Handle> take() const {
    std::vector<bundle::Handle> handles;
    for (auto [argument, surface] : found_) {
      bool twice = argument >= 0 && found_.contains({argument, !surface});  // as both: nothing is
      if (twice && surface) continue;
      handles.push_back({twice ? -1 : argument, surface});
    }
    return handles;
  }

 private:
  static bool is_exact(const Displacement& place) {
    return place.offset == 0 && place.stride == 0 && place.arrays.empty();
  }

  void add_elsewhere() { found_.insert({-1, false}); }

  void add_word(const Word& word) {
    const llvm::Type* type = word.value->getType();
    if (type->isIntegerTy() && !type->isIntegerTy(64)) return add_elsewhere();  // widened
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(word.value)) {
      // What is read of a vector among the arguments lies further within it.
      return add_place({arguments_[argument->getArgNo()].offset, 0, {}}, word.within);
    }
    const llvm::Value* address = Origins::address_of(*word.value);
    if (!address) return add_elsewhere();
    const auto [origins, complete] = origins_.of(*address);
    if (!complete) add_elsewhere();
    for (const Origin& origin : origins) {
      auto* argument = llvm::dyn_cast<llvm::Argument>(origin.word.value);
      if (argument && (argument->hasByValAttr() || argument->hasByRefAttr())) {
        Displacement place = origin.behind;
        place.add(arguments_[argument->getArgNo()].offset);
        add_place(place, word.within);
      } else {
        add_elsewhere();
      }
    }
  }

  // Each element of the arrays that it may lie in.
  void add_place(Displacement place, const Displacement& within) {
    place.add(within);
    uint64_t elements = 1;
    for (const bundle::Elements& array : place.arrays) elements *= std::min(array.count, kMostElements + 1);
    if (place.offset < 0 || place.stride > 0 || elements > kMostElements) return add_elsewhere();
    for (uint64_t i = 0; i < elements; ++i) {
      int64_t offset = place.offset;
      uint64_t left = i;
      for (const bundle::Elements& array : place.arrays) {
        offset += static_cast<int64_t>(left % array.count * array.stride);
        left /= array.count;
      }
      found_.insert({offset, surface_});
    }
  }

  const Origins origins_;
  const std::vector<bundle::Argument>& arguments_;
  bool surface_ = false;                      // of the use in hand
  std::set<std::pair<int64_t, bool>> found_;  // argument, surface
};

}  // namespace

bool uses_textures(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (texture_use(instruction)) return true;
    }
  }
  return false;
}

std::vector<bundle::Handle> handles_used(const llvm::Module& simplified, llvm::StringRef kernel,
                                         const std::vector<bundle::Argument>& arguments) {
  Handles handles(simplified, *simplified.getFunction(kernel), arguments);
  for (const llvm::Function& function : simplified) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (std::optional<Use> use = texture_use(instruction)) handles.add(*use);
    }
  }
  return handles.take();
}

}  // namespace mneme::inject
