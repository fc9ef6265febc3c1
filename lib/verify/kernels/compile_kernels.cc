// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Part of the build: compiles the comparison kernels for a target: each alone, so that one can be loaded without the
// others.
//
//   compile_kernels TARGET BITCODE OUTPUT [WAVE_SIZE]      of what the bitcode is for; default: 64
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/file.h"
#include "codegen/compile.h"
#include "verify/kernels/code_pack.h"

namespace mneme::verify {
namespace {

std::string compile(ElementType type, const std::string& bitcode, const std::string& target, unsigned wave_size) {
  bundle::KernelInfo kernel;
  kernel.wave_size = wave_size;
  kernel.name = kernel.demangled = comparison_kernel_name(type);
  kernel.argument_bytes = 3 * 8;
  for (uint32_t i = 0; i < 3; i++) kernel.arguments.push_back({i * 8, 8, "pointer", "ptr", {}});
  kernel.globals.push_back({"__hip_cuid_", 1, 1, false});  // the compiler's own
  bundle::Configuration configuration;
  configuration.target = target;
  if (target.starts_with("host:")) {
    configuration.passes = "default<O3>";
    configuration.form = "loop";
  } else {
    configuration.passes = "internalize<preserve-gv=" + kernel.name + ">,globaldce,default<O3>";
  }
  return codegen::compile(kernel, bitcode, configuration, {}).bytes;
}

void run(const std::string& target, const std::string& input, const std::string& output, unsigned wave_size) {
  std::string bitcode = read_file(input);
  std::vector<std::string> codes;
  for (size_t i = 0; i < kElementTypes; i++)
    codes.push_back(compile(static_cast<ElementType>(i), bitcode, target, wave_size));
  write_file(output, pack_code(codes));
}

}  // namespace
}  // namespace mneme::verify

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: compile_kernels TARGET BITCODE OUTPUT [WAVE_SIZE]\n");
    return 2;
  }
  try {
    mneme::verify::run(argv[1], argv[2], argv[3], argc == 5 ? static_cast<unsigned>(std::stoul(argv[4])) : 64);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile_kernels: %s\n", error.what());
    return 1;
  }
}
