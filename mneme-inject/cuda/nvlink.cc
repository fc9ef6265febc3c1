// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stands for a CUDA toolkit's nvlink: where the units that were linked carry their IR (pass/relocatable/units.h), the
// kernels' records are made of it and added to the linked cubin.
#include <llvm/IR/LLVMContext.h>

#include "base/file.h"
#include "cuda/wrapper.h"
#include "objects/embedded.h"
#include "objects/source.h"
#include "pass/kernel_functions.h"
#include "pass/record.h"
#include "pass/relocatable/units.h"

using namespace mneme;

namespace {

constexpr char kWhat[] = "the linked device code";

void embed_kernels(const std::string& cubin) {
  std::string image = read_file(cubin);
  Bytes units = objects::elf_section(bytes_of(image), inject::kUnitSection, kWhat);
  if (units.empty()) return;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> program = inject::linked_units(context, units);
  inject::KernelFunctions kernels = inject::kernels_in(*program);
  inject::Told told{.names = {}, .own_passes = inject::own_passes_of(*program)};
  told.compilations = inject::carried_compilations(*program);
  std::string records, sources;
  for (const llvm::Function& function : *program) {
    if (kernels.contains(&function)) records += inject::record_of(function, told);
  }
  for (const std::string& source : inject::sources_of(told.compilations)) sources += source;
  image = objects::with_section(bytes_of(image), objects::kEmbeddedSection, records, kWhat);
  if (!sources.empty()) image = objects::with_section(bytes_of(image), objects::kSourceSection, sources, kWhat);
  write_file(cubin, image);
}

}  // namespace

int main(int argc, char** argv) {
  return inject::stand_in(argc, argv, [](const std::string& own, const std::vector<std::string>& arguments) {
    int status = inject::run_own(own, arguments);
    std::string output = inject::output_of(arguments);
    if (status == 0 && !output.empty() && file_exists(output)) embed_kernels(output);
    return status;
  });
}
