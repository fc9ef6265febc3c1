// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's loader places functions where it likes: elsewhere than their names say.
#include "hostgpu/compile/loaded_record.h"

#include "objects/function_address.h"

namespace mneme::hostgpu {
namespace {

constexpr uint64_t kAway = 0x0a0000000000;

}  // namespace

std::string record_as_loaded(const objects::EmbeddedKernel& kernel) {
  bundle::KernelInfo info = kernel.info;
  if (info.functions.empty() || !info.target.starts_with("amdgcn")) return {};
  info.function_addresses.clear();
  for (const std::string& name : info.functions) {
    info.function_addresses.push_back(objects::function_address(name) + kAway);
  }
  return objects::write_embedded(bundle::write(info), kernel.bitcode);
}

Bytes carried_kernels(Bytes image, const std::string& where) {
  return objects::elf_section(image, objects::kEmbeddedSection, where);
}

}  // namespace mneme::hostgpu
