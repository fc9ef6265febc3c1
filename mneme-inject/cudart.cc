// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cudart.h"

#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "invocation.h"

namespace mneme::inject {
namespace {

constexpr std::string_view kStatic = "libcudart_static.a";
constexpr std::string_view kShared = "libcudart.so";

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

bool is_static(const std::vector<std::string>& words, size_t i) {
  const std::string& word = words[i];
  if (word == "-lcudart_static" || word == "-l:libcudart_static.a") return true;
  if (i > 0 && words[i - 1] == "-l") return word == "cudart_static";
  return !word.starts_with('-') && file_name(word) == kStatic;
}

bool is_shared(const std::vector<std::string>& words, size_t i) {
  const std::string& word = words[i];
  if (word == "-lcudart" || word.starts_with("-l:libcudart.so")) return true;
  if (i > 0 && words[i - 1] == "-l") return word == "cudart";
  return !word.starts_with('-') && file_name(word).starts_with(kShared);
}

size_t count(const std::vector<std::string>& words, bool (*is)(const std::vector<std::string>&, size_t)) {
  size_t found = 0;
  for (size_t i = 0; i < words.size(); ++i) found += is(words, i);
  return found;
}

// What stands for the word `i`, which names the static library.
std::string shared_in_place(const std::vector<std::string>& words, size_t i) {
  if (i > 0 && words[i - 1] == "-l") return "cudart";
  std::string beside = (std::filesystem::path(words[i]).parent_path() / kShared).string();
  return !words[i].starts_with('-') && file_exists(beside) ? beside : "-lcudart";
}

}  // namespace

bool names_cudart(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = expand_response_files(arguments);
  return count(words, is_static) + count(words, is_shared) > 0;
}

std::optional<std::vector<std::string>> with_shared_cudart(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = expand_response_files(arguments);
  if (count(all, is_static) == 0) return std::nullopt;
  std::vector<std::string> words = count(arguments, is_static) == count(all, is_static) ? arguments : all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (is_static(words, i)) words[i] = shared_in_place(words, i);
  }
  return words;
}

std::vector<std::string> cudart_places(const CudaToolkit& toolkit) {
  std::string folder = runtime_library_folder(toolkit);
  if (folder.empty()) return {};
  return {"-L" + folder, "-Xlinker", "-rpath", "-Xlinker", folder};
}

}  // namespace mneme::inject
