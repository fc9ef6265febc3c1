// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorded command may come from a stranger. It is run by a clang of this machine only, in a confined process, and
// without what has that run other code.
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "edits.h"

namespace mneme::compile {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

constexpr char kOverlay[] = "overlay.json";  // as mneme-extract-ir --source writes it

// "clang++-19", "amdclang++", "hipcc".
bool is_clang(std::string_view name) {
  if (name == "hipcc") return true;
  if (name.starts_with("amd")) name.remove_prefix(3);
  if (!name.starts_with("clang")) return false;
  name.remove_prefix(std::string_view("clang").size());
  if (name.starts_with("++")) name.remove_prefix(2);
  return name.empty() || (name.front() == '-' && name.find_first_not_of("-.0123456789") == std::string_view::npos);
}

std::string compiler_for(const bundle::KernelInfo& kernel, const Trust& trust) {
  if (!trust.compiler.empty()) {
    if (!resolve_program(trust.compiler).empty()) return trust.compiler;
    throw Error::of(Exit::kMissing, "the compiler '{}' is not found", trust.compiler);
  }
  // By its name: a path is one of the machine that it was compiled on.
  const std::string name = fs::path(kernel.command[1]).filename();
  if (!is_clang(name)) {
    throw Error::of("kernel '{}' was compiled by '{}', which is no clang by its name: give --compiler PATH",
                    kernel.demangled, kernel.command[1]);
  }
  if (resolve_program(name).empty()) {
    throw Error::of(Exit::kMissing, "the compiler '{}' of kernel '{}' is not found: give --compiler PATH", name,
                    kernel.demangled);
  }
  return name;
}

bool loads_code(std::string_view word) {
  return word.starts_with("-fplugin") || word.starts_with("-fpass-plugin") || word == "-load" ||
         word.starts_with("-load=") || word.starts_with("-load-pass-plugin") || word == "-add-plugin" ||
         word == "-plugin" || word.starts_with("--config") || word.starts_with('@') || word.starts_with("-B") ||
         word.starts_with("-ccc-");
}

// Of the machine that it was compiled on; of the others, which GPU.
bool is_left_out(std::string_view word) {
  return word.starts_with("--cuda-path=") || word.starts_with("--offload-arch=") ||
         word.starts_with("--cuda-gpu-arch=") || word.starts_with("--no-offload-arch=");
}

// Options whose value is a path, in the next word, or behind the option.
constexpr std::string_view kPaths[] = {"-I",       "-isystem",     "-iquote", "-idirafter", "-cxx-isystem",
                                       "-include", "-ivfsoverlay", "-F",      "-isysroot",  "-imacros"};
constexpr std::string_view kPathsBehind[] = {"-I",         "-isystem",         "-iquote",      "-idirafter",
                                             "--sysroot=", "--gcc-toolchain=", "--rocm-path=", "--hip-path="};

std::string absolute(const fs::path& folder, const std::string& path) {
  return path.starts_with('/') ? path : (folder / path).lexically_normal().string();
}

Words with_absolute_paths(const Words& options, const fs::path& folder) {
  Words out;
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    const bool by_next = std::ranges::find(kPaths, word) != std::end(kPaths) && i + 1 < options.size();
    auto behind = std::ranges::find_if(kPathsBehind, [&](std::string_view o) { return word.starts_with(o); });
    if (by_next) {
      const std::string path = absolute(folder, options[++i]);
      // Included files may lie in any of the folders that are searched.
      const bool is_file = word == "-include" || word == "-imacros";
      out.insert(out.end(), {word, is_file && !file_exists(path) ? options[i] : path});
    } else if (behind != std::end(kPathsBehind)) {
      out.push_back(std::string(*behind) + absolute(folder, word.substr(behind->size())));
    } else {
      out.push_back(word);
    }
  }
  return out;
}

std::string mneme_inject() {
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "mneme-inject";
  return file_exists(beside) ? beside.string() : "mneme-inject";
}

}  // namespace

Words source_command(const bundle::KernelInfo& kernel, const std::string& path, const Trust& trust) {
  if (kernel.command.empty()) {
    throw Error::of(
        "kernel '{}' does not say how it was compiled: build the application with this version of mneme-inject",
        kernel.demangled);
  }
  const size_t processor = kernel.target.rfind("--");
  if (processor == std::string::npos) throw Error::of("kernel '{}' does not say for which GPU it is", kernel.demangled);
  const fs::path file = fs::absolute(path), of_file = file.parent_path();
  // A folder that -ffile-prefix-map made relative is where the file is now.
  const fs::path folder =
      kernel.command[0].starts_with('/') ? fs::path(kernel.command[0]) : of_file / kernel.command[0];
  const std::string recorded = absolute(folder, kernel.command.back());
  Words options;
  for (size_t i = 2; i + 1 < kernel.command.size(); ++i) {
    const std::string& word = kernel.command[i];
    if (loads_code(word) && !trust.plugins) {
      throw Error::of(
          "the command that compiled kernel '{}' has '{}', by which other code runs: allow it with --allow-plugins, if "
          "you know the bundle's origin",
          kernel.demangled, word);
    }
    if (!is_left_out(word)) options.push_back(word);
  }
  Words command = {mneme_inject(), compiler_for(kernel, trust)};
  for (const std::string& word : with_absolute_paths(options, folder)) command.push_back(word);
  const bool is_amds = kernel.target.starts_with("amdgcn");
  // The file's language goes by its name, unless the command says it.
  const bool names_language = options.size() > 1 && options[options.size() - 2] == "-x";
  if (!names_language) command.insert(command.end(), {"-x", is_amds ? "hip" : "cuda"});
  command.push_back("--offload-arch=" + kernel.target.substr(processor + 2));
  if (is_amds) command.push_back("--no-gpu-bundle-output");
  // Headers beside the recorded file, and what the compiler says of the file, are as if it lay where it did.
  command.insert(command.end(), {"-iquote", fs::path(recorded).parent_path(),
                                 "-ffile-prefix-map=" + path + "=" + kernel.command.back()});
  const fs::path overlay = of_file / kOverlay;
  if (file_exists(overlay)) command.insert(command.end(), {"-ivfsoverlay", overlay});
  command.insert(command.end(),
                 {"-Wno-unused-command-line-argument", "--cuda-device-only", "-emit-llvm", "-c", "-o", "-", path});
  return command;
}

}  // namespace mneme::compile
