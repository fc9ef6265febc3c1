// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's intrinsics on textures and surfaces, as the PTX instructions that they stand for (ptx/texture.cc).
//
//   llvm.nvvm.tex.unified.2d.array.level.v4f32.f32   tex.level.a2d.v4.f32.f32
//   llvm.nvvm.suld.2d.v2i16.zero                     suld.b.2d.v2.b16.zero
#include "codegen/host/dialect/nvptx/textures.h"

#include <llvm/ADT/SmallVector.h>

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;

// A vector's elements, and whether one is added to them.
void add_group(TextureInstruction& instruction, unsigned elements) {
  for (unsigned i = 0; i < elements; ++i) instruction.operands.push_back(instruction.taken + i);
  if (elements == 3) instruction.operands.push_back(instruction.taken + 2);
  instruction.taken += elements;
}

// "2d", "array": a2d, of three coordinates.
struct Geometry {
  std::string name;
  unsigned coordinates = 0, slope = 0;
};
std::optional<Geometry> take_geometry(llvm::ArrayRef<StringRef>& parts) {
  if (parts.empty()) return std::nullopt;
  StringRef first = parts.front();
  unsigned dimensions = first == "1d" ? 1 : first == "2d" ? 2 : first == "3d" || first == "cube" ? 3 : 0;
  if (!dimensions) return std::nullopt;
  parts = parts.drop_front();
  bool array = !parts.empty() && parts.front() == "array";
  if (array) parts = parts.drop_front();
  return Geometry{(array ? "a" : "") + first.str(), dimensions + (array ? 1 : 0), dimensions};
}

// "v2i16", "i8": ".v2.b16", ".b8", and how many.
std::optional<std::pair<std::string, unsigned>> elements_of(StringRef text) {
  std::string vector;
  unsigned count = 1;
  if (text.consume_front("v")) {
    count = static_cast<unsigned>(text.front() - '0');
    vector = ".v" + text.take_front().str();
    text = text.drop_front();
  }
  if (!text.consume_front("i")) return std::nullopt;
  return std::pair(vector + ".b" + text.str(), count);
}

std::optional<TextureInstruction> fetch(llvm::ArrayRef<StringRef> parts) {
  std::optional<Geometry> geometry = take_geometry(parts);
  if (!geometry) return std::nullopt;
  StringRef mode;
  if (parts.size() == 3) {
    mode = parts.front();
    parts = parts.drop_front();
  }
  StringRef texel = parts.empty() ? "" : parts.front();
  if (parts.size() != 2 || !texel.consume_front("v4")) return std::nullopt;
  TextureInstruction instruction{
      "tex." + (mode.empty() ? "" : mode.str() + ".") + geometry->name + ".v4." + texel.str() + "." + parts[1].str(),
      {0}};
  add_group(instruction, geometry->coordinates);
  if (mode == "level") add_group(instruction, 1);
  for (int i = 0; i < (mode == "grad" ? 2 : 0); ++i) add_group(instruction, geometry->slope);
  return instruction;
}

std::optional<TextureInstruction> gather(llvm::ArrayRef<StringRef> parts) {
  if (parts.size() != 4 || parts[1] != "2d" || !parts[2].starts_with("v4")) return std::nullopt;
  TextureInstruction instruction{
      "tld4." + parts[0].str() + ".2d.v4." + parts[2].drop_front(2).str() + "." + parts[3].str(), {0}};
  add_group(instruction, 2);
  return instruction;
}

std::optional<TextureInstruction> surface(StringRef operation, llvm::ArrayRef<StringRef> parts) {
  if (operation == "sust" && (parts.empty() || parts.front() != "b")) return std::nullopt;
  if (operation == "sust") parts = parts.drop_front();
  std::optional<Geometry> geometry = take_geometry(parts);
  if (!geometry || parts.size() != 2) return std::nullopt;
  auto elements = elements_of(parts[0]);
  if (!elements) return std::nullopt;
  TextureInstruction instruction{operation.str() + ".b." + geometry->name + elements->first + "." + parts[1].str(),
                                 {0}};
  add_group(instruction, geometry->coordinates);
  if (operation == "sust") {
    for (unsigned i = 0; i < elements->second; ++i) add_group(instruction, 1);
  } else {
    instruction.results = elements->second;
  }
  return instruction;
}

}  // namespace

std::optional<TextureInstruction> texture_instruction_of(StringRef intrinsic) {
  llvm::SmallVector<StringRef, 8> all;
  intrinsic.split(all, '.');
  StringRef operation = all.front();
  llvm::ArrayRef<StringRef> parts = llvm::ArrayRef(all).drop_front();
  if (operation == "tex" || operation == "tld4") {
    if (parts.empty() || parts.front() != "unified") return std::nullopt;  // a sampler of its own
    std::optional<TextureInstruction> found =
        operation == "tex" ? fetch(parts.drop_front()) : gather(parts.drop_front());
    if (found) found->results = 4;
    return found;
  }
  if (operation == "suld" || operation == "sust") return surface(operation, parts);
  if (operation != "txq" && operation != "suq") return std::nullopt;
  std::string asked = intrinsic.drop_front(operation.size() + 1).str();
  if (asked == "array.size") asked = "array_size";
  if (asked == "num.mipmap.levels") asked = "num_mipmap_levels";
  return TextureInstruction{operation.str() + "." + asked + ".b32", {0}, 1};
}

}  // namespace mneme::codegen::host
