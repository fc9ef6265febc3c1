// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer's way into the reader of PTX: whatever the text, it gives valid IR or throws Error. Mutations mostly go
// into one statement, or take one from elsewhere in the text: most texts whose bytes change anywhere end in the parser.
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "base/error.h"
#include "codegen/ptx/lift.h"
#include "ir/module.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace mneme::codegen::ptx {
namespace {

// Each kernel that was not refused has to have IR that another process reads.
void lift_all(std::string_view text) {
  llvm::LLVMContext context;
  Lifted lifted = lift(context, text);
  for (const std::string& kernel : lifted.kernels) {
    const llvm::Function* function = lifted.module->getFunction(kernel);
    if ((!function || function->isDeclaration()) && !lifted.refused.contains(kernel)) std::abort();
  }
  llvm::LLVMContext fresh;
  ir::load_module(fresh, ir::write_bitcode(*lifted.module), "the lifted IR");
}

using Pieces = llvm::SmallVector<llvm::StringRef, 64>;

std::string joined(const Pieces& pieces) {
  std::string text;
  for (llvm::StringRef piece : pieces) text += piece.str() + ";";
  text.pop_back();
  return text;
}

std::string mutate(llvm::StringRef text, size_t max_size, std::minstd_rand& random) {
  Pieces pieces;
  text.split(pieces, ';');
  auto any = [&] { return random() % pieces.size(); };
  std::string changed;
  switch (random() % 8) {
    case 0:
      std::swap(pieces[any()], pieces[any()]);
      break;
    case 1:
      pieces[any()] = pieces[any()];
      break;
    case 2:
      pieces.insert(pieces.begin() + static_cast<long>(any()), pieces[any()]);
      break;
    case 3:
      pieces.erase(pieces.begin() + static_cast<long>(any()));
      if (pieces.empty()) return {};
      break;
    default: {
      llvm::StringRef& piece = pieces[any()];
      changed = piece.str();
      const size_t size = changed.size();
      changed.resize(size + std::min<size_t>(64, max_size - std::min(max_size, text.size())));
      changed.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(changed.data()), size, changed.size()));
      piece = changed;
    }
  }
  return joined(pieces);
}

}  // namespace
}  // namespace mneme::codegen::ptx

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    mneme::codegen::ptx::lift_all({reinterpret_cast<const char*>(data), size});
  } catch (const mneme::Error&) {
    return 0;  // a right answer to most inputs
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text;
  if (size > 0 && random() % 8 != 0) {
    text = mneme::codegen::ptx::mutate({reinterpret_cast<const char*>(data), size}, max_size, random);
  }
  if (text.empty() || text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
