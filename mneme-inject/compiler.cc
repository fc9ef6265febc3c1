// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/process.h"

namespace mneme::inject {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// An installed LLVM 19's own clang says so by where it lies.
bool is_llvm_19s_clang(const std::string& program) {
  std::string name = file_name(program);
  if (name == "clang-19") return true;
  return (name == "clang" || name == "clang++") && program.find("/llvm-19/") != std::string::npos;
}

}  // namespace

size_t compiler_index(const std::vector<std::string>& command) {
  static const std::set<std::string> kLaunchers = {"ccache", "sccache",    "distcc",
                                                   "icecc",  "buildcache", "mneme-inject"};
  size_t i = 0;
  while (i + 1 < command.size() && kLaunchers.contains(file_name(command[i]))) ++i;
  return i;
}

bool is_nvcc(const std::string& compiler) {
  return file_name(compiler) == "nvcc" || file_name(resolve_program(compiler)) == "nvcc";
}

bool is_compiler_name(const std::string& program) {
  std::string name = file_name(program);
  for (const char* part : {"clang", "gcc", "g++", "c++", "mpicc", "mpicxx", "mpic++"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return name == "cc" || name == "CC";
}

void require_clang_19(const std::string& compiler) {
  std::string program = resolve_program(compiler);
  if (program.empty()) throw Error::of(Exit::kMissing, "the compiler '{}' is not found", compiler);
  if (is_llvm_19s_clang(program)) return;
  std::string name = file_name(compiler);
  std::string version;
  if (name != "hipcc" && name != "nvcc") version = run_command({compiler, "--version"}).output;
  if (version.find("clang version 19.") != std::string::npos) return;
  throw Error::of("'{}' is not clang 19, which alone can embed kernel IR for Mneme; name clang++-19 as the compiler",
                  compiler);
}

}  // namespace mneme::inject
