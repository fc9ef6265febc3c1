// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "invocation.h"

#include <cctype>
#include <set>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace mneme::inject {
namespace {

constexpr int kMaxDepth = 16;  // of response files that name response files
constexpr size_t kMaxResponseFile = 64 << 20;

}  // namespace

bool takes_next_word(std::string_view option) {
  static const std::set<std::string_view> kOptions = {"-o",
                                                      "-I",
                                                      "-D",
                                                      "-U",
                                                      "-L",
                                                      "-l",
                                                      "-F",
                                                      "-B",
                                                      "-T",
                                                      "-u",
                                                      "-e",
                                                      "-z",
                                                      "-G",
                                                      "-A",
                                                      "-b",
                                                      "-include",
                                                      "-include-pch",
                                                      "-imacros",
                                                      "-isystem",
                                                      "-iquote",
                                                      "-idirafter",
                                                      "-isysroot",
                                                      "-iprefix",
                                                      "-iwithprefix",
                                                      "-iwithprefixbefore",
                                                      "-cxx-isystem",
                                                      "-isystem-after",
                                                      "-iframework",
                                                      "-ivfsoverlay",
                                                      "-imultilib",
                                                      "-MF",
                                                      "-MT",
                                                      "-MQ",
                                                      "-MJ",
                                                      "-Xclang",
                                                      "-Xlinker",
                                                      "-Xassembler",
                                                      "-Xpreprocessor",
                                                      "-Xanalyzer",
                                                      "-Xarch_host",
                                                      "-Xarch_device",
                                                      "-Xoffload-linker",
                                                      "-Xcuda-ptxas",
                                                      "-Xcuda-fatbinary",
                                                      "-mllvm",
                                                      "-target",
                                                      "-arch",
                                                      "-framework",
                                                      "--param",
                                                      "-working-directory",
                                                      "-dumpdir",
                                                      "-serialize-diagnostics",
                                                      "--serialize-diagnostics",
                                                      "-resource-dir",
                                                      "--sysroot",
                                                      "-rpath",
                                                      "-undefined",
                                                      "-x",
                                                      "--language",
                                                      "--output",
                                                      "--include",
                                                      "--define-macro",
                                                      "--config",
                                                      "-current_version"};
  return kOptions.contains(option) || option.starts_with("-Xopenmp-target") || option.starts_with("-Xarch_");
}

namespace {

struct Language {
  bool hip = false;
  bool cuda = false;
};

Language language_of_option(std::string_view name) {
  return {.hip = name == "hip" || name == "hip-cpp-output", .cuda = name == "cuda" || name == "cuda-cpp-output"};
}

Language language_of_file(std::string_view file) {
  return {.hip = file.ends_with(".hip") || file.ends_with(".hipi"),
          .cuda = file.ends_with(".cu") || file.ends_with(".cui")};
}

bool is_gpu(std::string_view triple) { return triple.starts_with("amdgcn") || triple.starts_with("nvptx"); }

bool is_ir(std::string_view language, std::string_view file) {
  return language == "none" ? file.ends_with(".ll") || file.ends_with(".bc") : language == "ir";
}

// Of clang's own step, by which it makes text or IR whatever the driver wants.
bool is_text(std::string_view option) { return option == "-S" || option == "-emit-llvm" || option == "-emit-llvm-bc"; }

// Options by which clang stops before it links.
bool is_step(std::string_view option) {
  static const std::set<std::string_view> kOptions = {"-c",
                                                      "--compile",
                                                      "-S",
                                                      "--assemble",
                                                      "-E",
                                                      "--preprocess",
                                                      "-M",
                                                      "-MM",
                                                      "--dependencies",
                                                      "--user-dependencies",
                                                      "-fsyntax-only",
                                                      "--precompile"};
  return kOptions.contains(option);
}

void add_processors(std::string_view list, std::vector<std::string>& into) {
  for (;;) {
    size_t comma = list.find(',');
    into.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

// The words of a response file: separated by white space, quoted by ' and ", \ takes the next character as it is.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (!quote && std::isspace(static_cast<unsigned char>(c))) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (!quote && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

namespace {

// The file of a clang configuration that the word names, or that is named by the word behind it; empty: none that is at
// hand by this path. Others are clang's to find.
std::string config_file(const std::vector<std::string>& arguments, size_t at) {
  constexpr std::string_view kOption = "--config";
  std::string_view word = arguments[at];
  if (!word.starts_with(kOption)) return {};
  std::string file;
  if (word.size() > kOption.size() && word[kOption.size()] == '=') file = word.substr(kOption.size() + 1);
  if (word == kOption && at + 1 < arguments.size()) file = arguments[at + 1];
  return file.find('/') != std::string::npos && file_exists(file) ? file : "";
}

// Lines that begin with # are comments.
std::string without_comments(const std::string& text) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] != '#') kept += line + '\n';
  }
  return kept;
}

}  // namespace

std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments, int depth) {
  std::vector<std::string> out;
  for (const std::string& argument : arguments) {
    bool is_file = argument.size() > 1 && argument[0] == '@' && depth < kMaxDepth && file_exists(argument.substr(1));
    if (!is_file) {
      out.push_back(argument);
      continue;
    }
    auto words = expand_response_files(words_of(read_file(argument.substr(1), kMaxResponseFile)), depth + 1);
    out.insert(out.end(), words.begin(), words.end());
  }
  return out;
}

Invocation understand(const std::vector<std::string>& given) {
  std::vector<std::string> arguments = expand_response_files(given);
  // clang puts them in front of all others.
  std::vector<std::string> configured;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string file = config_file(arguments, i);
    if (file.empty()) continue;
    auto words = expand_response_files(words_of(without_comments(read_file(file, kMaxResponseFile))));
    configured.insert(configured.end(), words.begin(), words.end());
  }
  arguments.insert(arguments.begin(), configured.begin(), configured.end());
  Invocation result;
  std::string language = "none";  // of the inputs that follow
  bool options_end = false, ir = false, gpu = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    auto value_of = [&](std::string_view option) { return word.starts_with(option) ? word.substr(option.size()) : ""; };
    if (options_end || word == "-" || !word.starts_with('-')) {  // an input
      result.inputs = true;
      Language it = language == "none" ? language_of_file(word) : language_of_option(language);
      result.hip_sources |= it.hip;
      result.cuda_sources |= it.cuda;
      ir |= is_ir(language, word);
    } else if (word == "--") {
      options_end = true;
    } else if (word == "-x" || word == "--language") {
      if (i + 1 < arguments.size()) language = arguments[i + 1];
    } else if (!value_of("--language=").empty()) {
      language = value_of("--language=");
    } else if (word.starts_with("-x")) {
      language = value_of("-x");
    } else if (word == "-target" && i + 1 < arguments.size()) {
      gpu = is_gpu(arguments[i + 1]);
    } else if (!value_of("--target=").empty()) {
      gpu = is_gpu(value_of("--target="));
    } else if (word == "-emit-llvm" || (word == "-Xclang" && i + 1 < arguments.size() && is_text(arguments[i + 1]))) {
      result.text = true;
    } else if (word.starts_with("-save-temps") || word.starts_with("--save-temps")) {
      result.keeps_temporaries = true;
    } else if (word == "-fgpu-rdc" || word == "-fcuda-rdc") {
      result.relocatable = true;
    } else if (word == "-fno-gpu-rdc" || word == "-fno-cuda-rdc") {
      result.relocatable = false;
    } else if (word == "--offload-new-driver" || word == "--no-offload-new-driver") {
      result.new_driver = word == "--offload-new-driver";
    } else if (word == "--hip-link" || word == "-hip-link") {
      result.hip_link = true;
    } else if (word == "--offload-link") {
      result.offload_link = true;
    } else if (is_step(word)) {
      result.links = false;
      result.text |= word == "-S" || word == "--assemble";
    } else if (word == "--cuda-host-only" || word == "--offload-host-only") {
      result.host_only = true;
      result.device_only = false;
    } else if (word == "--cuda-device-only" || word == "--offload-device-only" ||
               word == "--cuda-compile-host-device" || word == "--offload-host-device") {
      result.host_only = false;
      result.device_only = word.ends_with("device-only");
    } else if (word.starts_with("--rocm-device-lib-path=") || word.starts_with("--hip-device-lib-path=") ||
               word == "-nogpulib" || word == "-nocudalib") {
      result.names_device_libraries = true;
    } else if (word.starts_with("--offload-arch=") || word.starts_with("--cuda-gpu-arch=")) {
      add_processors(word.substr(word.find('=') + 1), result.processors);
    } else if (!value_of("-mcode-object-version=").empty()) {
      result.code_object = value_of("-mcode-object-version=");
    } else if (!value_of("--rocm-path=").empty()) {
      result.rocm_path = value_of("--rocm-path=");
    } else if (!value_of("--cuda-path=").empty()) {
      result.cuda_path = value_of("--cuda-path=");
    } else if (word == "-nocudainc" || word == "-nogpuinc") {
      result.no_cuda_headers = true;
    } else if (word == "-nostdlib" || word == "-nodefaultlibs" || word == "-r") {
      result.no_libraries = true;
    }
    if (!options_end && takes_next_word(word)) ++i;
  }
  result.device_ir = ir && gpu;
  return result;
}

}  // namespace mneme::inject
