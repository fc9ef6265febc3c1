// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/loaded_record.h"

namespace mneme::hostgpu {

std::string record_as_loaded(const objects::EmbeddedKernel&) { return {}; }

Bytes carried_kernels(Bytes image, const std::string& where) {
  return objects::elf_section(image, objects::kEmbeddedSection, where);
}

}  // namespace mneme::hostgpu
