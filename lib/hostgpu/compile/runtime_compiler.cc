// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/runtime_compiler.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "hostgpu/compile/detached_command.h"

namespace mneme::hostgpu {
namespace {

namespace fs = std::filesystem;

constexpr char kMarker[] = "mneme_hiprtc_symbol_";

// Looked up in PATH by env: a detached command has a path.
constexpr char kEnv[] = "/usr/bin/env";
constexpr char kCompiler[] = "clang++-19";

// Each expression's value is kept in a constant: that instantiates templates, and shows the symbol.
std::string complete(const RuntimeSource& source) {
  std::string text = "#include <hip/hip_runtime.h>\n#line 1 \"" + source.name + "\"\n" + source.source + "\n";
  for (size_t i = 0; i < source.expressions.size(); ++i) {
    text += "extern \"C\" __device__ __attribute__((used)) const void* const " + (kMarker + std::to_string(i)) +
            " = (const void*)(" + source.expressions[i] + ");\n";
  }
  return text;
}

bool starts_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes) {
    if (text.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

std::vector<std::string> options_of(const RuntimeSource& source, const std::string& folder) {
  // The folder is another each time: nothing that is recorded of the compilation names it.
  std::vector<std::string> words = {"-x", "hip", "--cuda-device-only", "-I" + folder,
                                    "-ffile-prefix-map=" + folder + "=."};
  bool architecture = false, standard = false, level = false;
  for (std::string word : source.options) {
    if (starts_with_any(word, {"--gpu-architecture="})) word = "--offload-arch=" + word.substr(word.find('=') + 1);
    architecture |= starts_with_any(word, {"--offload-arch="});
    standard |= starts_with_any(word, {"-std=", "--std="});
    level |= starts_with_any(word, {"-O"});
    words.push_back(word);
  }
  if (!architecture) words.push_back("--offload-arch=" + source.architecture);
  if (!standard) words.push_back("-std=c++14");
  if (!level) words.push_back("-O3");
  return words;
}

// The symbol behind "@<marker><number> = … ptr … @symbol", as LLVM's IR has it.
std::string symbol_in(const std::string& ir, size_t number) {
  std::string start = "\n@" + (kMarker + std::to_string(number)) + " = ";
  size_t line = ir.find(start);
  if (line == std::string::npos) return {};
  size_t at = ir.find('@', line + start.size()), end = ir.find('\n', line + 1);
  if (at == std::string::npos || at > end) return {};
  if (ir[at + 1] == '"') return ir.substr(at + 2, ir.find('"', at + 2) - at - 2);
  return ir.substr(at + 1, ir.find_first_of(", )\n", at) - at - 1);
}

CommandResult run(std::vector<std::string> words, const std::vector<std::string>& options) {
  words.insert(words.end(), options.begin(), options.end());
  return run_detached(words, {});
}

}  // namespace

RuntimeCode compile_at_runtime(const RuntimeSource& source) {
  TemporaryFolder folder("mneme-hiprtc");
  for (const auto& [name, text] : source.headers) {
    fs::path path = fs::path(name).lexically_normal();
    if (path.is_absolute() || *path.begin() == "..") {
      return {false, "the header '" + name + "' has a name that leads out of the program's folder\n", {}, {}};
    }
    fs::create_directories((folder.path() / path).parent_path());
    write_file(folder.path() / path, text);
  }
  std::string input = folder.path() + "/program.hip", output = folder.path() + "/code";
  write_file(input, complete(source));
  std::vector<std::string> options = options_of(source, folder.path());
  options.push_back(input);

  RuntimeCode result;
  if (!source.expressions.empty()) {
    CommandResult ir =
        run({kEnv, kCompiler, "-nogpulib", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-w", "-o", "-"},
            options);
    if (ir.status != 0) return {false, ir.errors, {}, {}};
    for (size_t i = 0; i < source.expressions.size(); ++i) {
      result.symbols[source.expressions[i]] = symbol_in(ir.output, i);
    }
  }
  std::string inject = fs::path(installed_part("mneme-host-compile")).parent_path() / "../../bin/mneme-inject";
  CommandResult compiled = run({inject, kCompiler, "-o", output}, options);
  result.log = compiled.errors;
  result.compiled = compiled.status == 0;
  if (result.compiled) result.code = read_file(output);
  return result;
}

}  // namespace mneme::hostgpu
