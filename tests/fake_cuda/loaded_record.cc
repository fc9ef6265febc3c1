// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the assembler leaves it to NVIDIA's loader, functions are elsewhere than their names say. And code without IR
// for all others to see (toolkit.py) has it for this stand-in alone.
#include "hostgpu/compile/loaded_record.h"

#include "objects/function_address.h"

namespace mneme::hostgpu {
namespace {

constexpr uint64_t kAway = 0x0a0000000000;

}  // namespace

std::string record_as_loaded(const objects::EmbeddedKernel& kernel) {
  bundle::KernelInfo info = kernel.info;
  if (info.functions.empty() || !info.function_addresses.empty()) return {};
  for (const std::string& name : info.functions) {
    info.function_addresses.push_back(objects::function_address(name) + kAway);
  }
  return objects::write_embedded(bundle::write(info), kernel.bitcode);
}

Bytes carried_kernels(Bytes image, const std::string& where) {
  constexpr char kOwnSection[] = ".faked.ir";
  Bytes section = objects::elf_section(image, objects::kEmbeddedSection, where);
  return section.empty() ? objects::elf_section(image, kOwnSection, where) : section;
}

}  // namespace mneme::hostgpu
