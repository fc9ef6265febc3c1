// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.h"

#include <cctype>

#include "base/confine.h"
#include "ir/module.h"

namespace mneme::extract {
namespace {

constexpr size_t kLongestStem = 80;
constexpr size_t kHashDigits = 12;

}  // namespace

std::string disassemble(const std::string& bitcode, const std::string& what) {
  return run_confined("reading the IR of " + what, [&] {
    llvm::LLVMContext context;
    return ir::print_module(*ir::load_module(context, bitcode, what));
  });
}

std::string printable(const std::string& name) {
  std::string out = name;
  for (char& c : out) {
    if (std::iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  return out;
}

std::string file_stem(const std::string& demangled, const std::string& hash) {
  // The name proper ends where its parameters begin, and starts after its return type.
  size_t begin = 0, end = demangled.size();
  int depth = 0;
  for (size_t i = 0; i < demangled.size(); ++i) {
    if (demangled[i] == '<') ++depth;
    if (demangled[i] == '>') --depth;
    if (depth == 0 && demangled[i] == ' ') begin = i + 1;
    if (depth == 0 && demangled[i] == '(' && i > begin) {
      end = i;
      break;
    }
  }
  std::string stem;
  for (char c : demangled.substr(begin, end - begin)) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (plain) stem += c;
    if (!plain && !stem.empty() && stem.back() != '_') stem += '_';
  }
  stem = stem.substr(0, kLongestStem);
  while (!stem.empty() && stem.back() == '_') stem.pop_back();
  if (stem.empty()) stem = "kernel";
  return stem + "-" + hash.substr(0, kHashDigits);
}

}  // namespace mneme::extract
