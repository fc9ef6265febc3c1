// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-lift: gives kernels of PTX, read from standard input, the records (objects/embedded.h) that mneme-inject would
// have embedded in them, on standard output. A kernel that cannot be lifted has a line on standard error: its name, a
// tab, and the reason.
//
//   mneme-lift [KERNEL]        of all kernels, or of that one
#include <llvm/IR/LLVMContext.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "codegen/ptx/lift.h"
#include "pass/reached.h"
#include "pass/record.h"

namespace {

void write_records(const mneme::codegen::ptx::Lifted& lifted, const char* only) {
  for (const std::string& name : lifted.kernels) {
    if (only && name != only) continue;
    const llvm::Function* kernel = lifted.module->getFunction(name);  // null: refused, and nobody refers to it
    std::optional<mneme::inject::Reached> reached;
    std::string why = mneme::codegen::ptx::why_refused(lifted, name, [&](const llvm::GlobalValue& value) {
      if (!reached) reached.emplace(*kernel);
      return reached->contains(&value);
    });
    if (!why.empty()) {
      std::fprintf(stderr, "%s\t%s\n", name.c_str(), why.c_str());
      continue;
    }
    mneme::inject::Told told;
    told.lifted = "ptx";
    mneme::write_all(STDOUT_FILENO, mneme::bytes_of(mneme::inject::record_of(*kernel, told)), "standard output");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2) throw mneme::Error("usage: mneme-lift [KERNEL]");
    std::string text = mneme::read_all(STDIN_FILENO, "standard input");
    mneme::confine_process();
    llvm::LLVMContext context;
    write_records(mneme::codegen::ptx::lift(context, text), argc == 2 ? argv[1] : nullptr);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
