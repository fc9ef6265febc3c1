// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/nvptx/matrices.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/Twine.h>

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;

// "f32.f16", of D and C where A is of halves; "s8.u8", of A and B; or one type of both: ".f32.f16.f16.f32".
std::string all_types(StringRef types) {
  auto [first, second] = types.split('.');
  auto four = [](StringRef d, StringRef a, StringRef b, StringRef c) {
    return ("." + d + "." + a + "." + b + "." + c).str();
  };
  bool halves = !second.empty() && first.starts_with("f");
  if (halves) return four(first, "f16", "f16", second);
  if (second.empty()) second = first;
  StringRef sum = first == "f64" ? "f64" : first == "bf16" || first == "tf32" ? "f32" : "s32";
  return four(sum, first, second, sum);
}

// What stands ahead of the shape, or of the layouts: "xor.popc." of bits.
StringRef take_operation(StringRef& name) {
  for (StringRef operation : {"xor.popc.", "and.popc."}) {
    if (name.consume_front(operation)) return operation;
  }
  return "";
}

// "row.col.satfinite.s8.u8", "row.col.rn.f64", "row.col.f16.f16.satfinite".
std::string product(StringRef instruction, StringRef operation, StringRef shape, StringRef rest) {
  std::string layouts = ("." + rest.take_front(sizeof "row.col" - 1)).str();
  rest = rest.drop_front(sizeof "row.col." - 1);
  std::string modifiers;
  if (rest.consume_front("satfinite.") || rest.consume_back(".satfinite")) modifiers = ".satfinite";
  for (StringRef rounding : {"rn.", "rz.", "rm.", "rp."}) {
    if (rest.consume_front(rounding)) modifiers += ("." + rounding.drop_back()).str();
  }
  std::string types = all_types(rest);
  // wmma of halves says only D's and C's.
  if (instruction == "wmma.mma." && rest.starts_with("f") && rest.contains('.')) types = "." + rest.str();
  std::string placed = instruction == "mma." ? "." + shape.str() + layouts : layouts + "." + shape.str();
  return instruction.str() + operation.str() + "sync.aligned" + placed + modifiers + types;
}

}  // namespace

std::string matrix_instruction_of(StringRef name) {
  // Pointers say themselves where they lead.
  StringRef last = name.rsplit('.').second;
  if (last.size() == 2 && last[0] == 'p' && llvm::isDigit(last[1])) name = name.drop_back(3);
  if (name.starts_with("ldmatrix.") || name.starts_with("stmatrix.")) return name.str();
  if (name.consume_front("mma.")) {
    StringRef operation = take_operation(name);
    auto [shape, rest] = name.split('.');
    return product("mma.", operation, shape, rest);
  }
  if (!name.consume_front("wmma.")) return "";
  auto [shape, rest] = name.split('.');
  if (rest.consume_front("mma.")) {
    StringRef operation = take_operation(rest);
    return product("wmma.mma.", operation, shape, rest);
  }
  // "load.a.row.stride.f16"
  llvm::SmallVector<StringRef, 5> parts;
  rest.split(parts, '.');
  if (parts.size() < 4) return "";
  return ("wmma." + parts[0] + "." + parts[1] + ".sync.aligned." + parts[2] + "." + shape + "." + parts.back()).str();
}

}  // namespace mneme::codegen::host
