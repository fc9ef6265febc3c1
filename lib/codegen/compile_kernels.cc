// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Part of the build: compiles Mneme's own kernels for a target: each alone, so that one can be loaded without the
// others.
//
//   compile_kernels [--embed-ir] TARGET BITCODE OUTPUT WAVE_SIZE      of what the bitcode is for
//   compile_kernels --bundle OUTPUT PROCESSOR=FILE…                   see objects/code_pack.h
#include <llvm/IR/LLVMContext.h>

#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/file.h"
#include "codegen/compile.h"
#include "ir/module.h"
#include "ir/optimize.h"
#include "objects/code_pack.h"

namespace mneme::codegen {
namespace {

std::string type_name(const llvm::Type& type) {
  if (type.isPointerTy()) return "ptr";
  return type.isDoubleTy() ? "double" : "i" + std::to_string(type.getScalarSizeInBits());
}

bundle::KernelInfo describe(const llvm::Function& kernel, uint32_t wave_size) {
  bundle::KernelInfo info;
  info.name = info.demangled = kernel.getName().str();
  info.target =
      kernel.getParent()->getTargetTriple() + "--" + kernel.getFnAttribute("target-cpu").getValueAsString().str();
  info.wave_size = wave_size;
  uint32_t at = 0;
  for (const llvm::Argument& argument : kernel.args()) {
    const bool pointer = argument.getType()->isPointerTy();
    const uint32_t size = pointer ? 8 : argument.getType()->getScalarSizeInBits() / 8;
    at = (at + size - 1) / size * size;
    info.arguments.push_back({at, size, pointer ? "pointer" : "scalar", type_name(*argument.getType()), {}});
    at += size;
  }
  info.argument_bytes = at;
  return info;
}

std::string compile(const std::string& bitcode, const std::string& name, const std::string& target, uint32_t wave_size,
                    bool embed) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = ir::load_module(context, bitcode, "the kernels");
  const bundle::KernelInfo info = describe(*module->getFunction(name), wave_size);
  // It keeps a variable of the compiler's own.
  if (llvm::GlobalVariable* used = module->getNamedGlobal("llvm.compiler.used")) used->eraseFromParent();
  const std::string alone = "internalize<preserve-gv=" + name + ">,globaldce";
  ir::optimize(*module, alone, nullptr);
  bundle::Configuration configuration;
  configuration.target = target;
  configuration.passes = "default<O3>";
  if (target.starts_with("host:")) configuration.form = "loop";
  if (target.starts_with("hip:")) {
    // Nothing in them depends on either. From ROCm 5.0 on all load that version; generic processors want a later one.
    if (!target.ends_with("-generic")) configuration.code_object = 4;
    if (target.starts_with("hip:gfx1")) configuration.features = "+wavefrontsize32";
  }
  Given given;
  given.embed = embed;
  return codegen::compile(info, ir::write_bitcode(*module), configuration, given).bytes;
}

std::vector<std::string> kernels_in(const std::string& bitcode) {
  llvm::LLVMContext context;
  std::vector<std::string> names;
  const std::unique_ptr<llvm::Module> module = ir::load_module(context, bitcode, "the kernels");
  for (const llvm::Function& function : *module) {
    if (!function.isDeclaration() && function.hasExternalLinkage()) names.push_back(function.getName().str());
  }
  return names;
}

void compile_all(const std::vector<std::string>& arguments, bool embed) {
  const std::string bitcode = read_file(arguments[1]);
  std::map<std::string, std::string> codes;
  for (const std::string& kernel : kernels_in(bitcode)) {
    codes[kernel] = compile(bitcode, kernel, arguments[0], static_cast<uint32_t>(std::stoul(arguments[3])), embed);
  }
  write_file(arguments[2], objects::pack_code(codes));
}

void bundle_all(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> packs;
  for (size_t i = 1; i < arguments.size(); i++) {
    const size_t equals = arguments[i].find('=');
    packs[arguments[i].substr(0, equals)] = read_file(arguments[i].substr(equals + 1));
  }
  write_file(arguments[0], objects::bundle_packs(packs));
}

}  // namespace
}  // namespace mneme::codegen

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string option = argc > 1 && arguments[0].starts_with("--") ? arguments[0] : "";
  if (!option.empty()) arguments.erase(arguments.begin());
  const bool bundles = option == "--bundle", embeds = option == "--embed-ir";
  if (bundles ? arguments.size() < 2 : arguments.size() != 4 || (!option.empty() && !embeds)) {
    std::fprintf(stderr,
                 "usage: compile_kernels [--embed-ir] TARGET BITCODE OUTPUT WAVE_SIZE\n"
                 "       compile_kernels --bundle OUTPUT PROCESSOR=FILE...\n");
    return 2;
  }
  try {
    bundles ? mneme::codegen::bundle_all(arguments) : mneme::codegen::compile_all(arguments, embeds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile_kernels: %s\n", error.what());
    return 1;
  }
}
