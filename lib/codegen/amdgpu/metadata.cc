// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/metadata.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>

#include <limits>

#include "base/error.h"
#include "objects/embedded.h"
#include "objects/words.h"

namespace mneme::codegen::amdgpu {
namespace {

// The contents of the note that AMD's tools read: u32 size of the name, u32 size of the contents, u32 type, then
// either, padded to 4 bytes.
llvm::StringRef metadata_note(Bytes notes, const std::string& where) {
  for (uint64_t at = 0; objects::fits(at, 12, notes.size());) {
    uint64_t name = objects::word_at<uint32_t>(notes, at), size = objects::word_at<uint32_t>(notes, at + 4);
    auto type = objects::word_at<uint32_t>(notes, at + 8);
    at += 12;
    uint64_t contents = at + objects::align_up(name, 4);
    if (!objects::fits(contents, size, notes.size())) throw Error::of("{}: a note is cut short", where);
    if (type == llvm::ELF::NT_AMDGPU_METADATA && objects::starts_with(notes, at, std::string_view("AMDGPU\0", 7))) {
      return {reinterpret_cast<const char*>(notes.data()) + contents, size};
    }
    at = contents + objects::align_up(size, 4);
  }
  throw Error::of("{} has no metadata about its kernels", where);
}

constexpr uint32_t kMostRegisters = 512, kMostScalarRegisters = 256, kMostThreads = 1024;
constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();

uint32_t number(llvm::msgpack::MapDocNode& map, const char* key, const std::string& where, uint32_t most = kMost) {
  auto found = map.find(map.getDocument()->getNode(key));
  if (found == map.end()) return 0;
  llvm::msgpack::DocNode& node = found->second;
  uint64_t value = std::numeric_limits<uint64_t>::max();
  if (node.getKind() == llvm::msgpack::Type::UInt) value = node.getUInt();
  if (node.getKind() == llvm::msgpack::Type::Int && node.getInt() >= 0) value = static_cast<uint64_t>(node.getInt());
  if (value > most) throw Error::of("{}: '{}' is not a number that metadata may hold", where, key);
  return static_cast<uint32_t>(value);
}

}  // namespace

bundle::Resources resources_in_code_object(Bytes code_object, const std::string& kernel, const TargetId& target,
                                           const std::string& where) {
  llvm::msgpack::Document document;
  Bytes notes = objects::elf_section(code_object, ".note", where);
  if (!document.readFromBlob(metadata_note(notes, where), /*Multi=*/false) || !document.getRoot().isMap()) {
    throw Error::of("{}: the metadata about its kernels cannot be read", where);
  }
  llvm::msgpack::DocNode kernels = document.getRoot().getMap()["amdhsa.kernels"];
  if (!kernels.isArray()) throw Error::of("{} lists no kernels", where);
  for (llvm::msgpack::DocNode& node : kernels.getArray()) {
    if (!node.isMap()) continue;
    llvm::msgpack::MapDocNode& map = node.getMap();
    llvm::msgpack::DocNode& name = map[".name"];
    if (!name.isString() || name.getString() != kernel) continue;
    bundle::Resources resources;
    bundle::AmdResources amd;
    resources.registers = number(map, ".vgpr_count", where, kMostRegisters);
    resources.stack = number(map, ".private_segment_fixed_size", where);
    resources.shared = number(map, ".group_segment_fixed_size", where);
    amd.scalar_registers = number(map, ".sgpr_count", where, kMostScalarRegisters);
    amd.accumulation_registers = number(map, ".agpr_count", where, kMostRegisters);
    amd.spilled_registers = number(map, ".vgpr_spill_count", where);
    amd.spilled_scalar_registers = number(map, ".sgpr_spill_count", where);
    amd.wave_size = number(map, ".wavefront_size", where);
    if (amd.wave_size != 32 && amd.wave_size != 64) throw Error::of("{} has waves of {} threads", where, amd.wave_size);
    amd.occupancy = occupancy(target, {std::max(resources.registers, amd.accumulation_registers), amd.scalar_registers,
                                       amd.wave_size, number(map, ".max_flat_workgroup_size", where, kMostThreads),
                                       resources.shared, number(map, ".workgroup_processor_mode", where) != 0});
    resources.amd = amd;
    return resources;
  }
  throw Error::of("{} has no kernel '{}'", where, kernel);
}

}  // namespace mneme::codegen::amdgpu
