// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/layout.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

namespace mneme::inject {
namespace {

using Ranges = std::vector<bundle::ByteRange>;

void add_range(Ranges& ranges, uint64_t begin, uint64_t end) {
  if (begin < end) ranges.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin)});
}

// The bytes of `type` at `base` that no member occupies. A union's type is the type of one of its members:
// what is padding in that one may be data in another, so a union has none. clang names every union's type
// "union.…"; of a type without a name nothing is known, so it has none either.
void find_padding(llvm::Type* type, uint64_t base, const llvm::DataLayout& layout, Ranges& ranges) {
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    Ranges of_element;
    find_padding(array->getElementType(), 0, layout, of_element);
    if (of_element.empty()) return;
    uint64_t stride = layout.getTypeAllocSize(array->getElementType());
    for (uint64_t i = 0; i < array->getNumElements(); ++i) {
      for (const auto& range : of_element) {
        add_range(ranges, base + i * stride + range.offset, base + i * stride + range.offset + range.size);
      }
    }
    return;
  }
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  if (!structure || !structure->hasName() || structure->getName().starts_with("union.")) return;
  const llvm::StructLayout* members = layout.getStructLayout(structure);
  uint64_t end = 0;
  for (unsigned i = 0; i < structure->getNumElements(); ++i) {
    uint64_t offset = members->getElementOffset(i);
    llvm::Type* member = structure->getElementType(i);
    add_range(ranges, base + end, base + offset);
    find_padding(member, base + offset, layout, ranges);
    end = offset + layout.getTypeAllocSize(member);
  }
  add_range(ranges, base + end, base + members->getSizeInBytes());
}

std::string spelled(llvm::Type* type) {
  if (type->isPointerTy()) return "ptr";  // in whatever address space
  std::string text;
  llvm::raw_string_ostream stream(text);
  type->print(stream, /*IsForDebug=*/false, /*NoDetails=*/true);
  return text;
}

}  // namespace

ArgumentLayout argument_layout(const llvm::Function& kernel) {
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  ArgumentLayout result;
  uint64_t end = 0;
  for (const llvm::Argument& argument : kernel.args()) {
    // A struct is passed by a pointer to it, whatever that is called.
    llvm::Type* pointee = argument.hasByRefAttr() ? argument.getParamByRefType() : argument.getParamByValType();
    llvm::Type* type = pointee ? pointee : argument.getType();
    llvm::Align align = layout.getValueOrABITypeAlignment(pointee ? argument.getParamAlign() : std::nullopt, type);
    uint64_t offset = llvm::alignTo(end, align);
    uint64_t size = layout.getTypeAllocSize(type);
    end = offset + size;

    bundle::Argument& out = result.arguments.emplace_back();
    out.offset = static_cast<uint32_t>(offset);
    out.size = static_cast<uint32_t>(size);
    out.kind = type->isPointerTy() ? "pointer" : type->isAggregateType() ? "struct" : "scalar";
    out.type = spelled(type);
    find_padding(type, 0, layout, out.padding);
  }
  result.bytes = static_cast<uint32_t>(end);
  return result;
}

}  // namespace mneme::inject
