// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorded_command.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "invocation.h"

namespace mneme::inject {
namespace {

constexpr std::string_view kPlugin = "libmneme-inject-pass.so";
constexpr std::array<std::string_view, 2> kPrefixMaps = {"-ffile-prefix-map=", "-fdebug-prefix-map="};
constexpr std::array<std::string_view, 2> kDirectories = {"-ffile-compilation-dir=", "-fdebug-compilation-dir="};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool starts_with_one_of(std::string_view word, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return word.starts_with(start); });
}

// Options that say what is made, and where it goes.
bool names_output(std::string_view word) {
  return is_one_of(word, {"-c",
                          "-S",
                          "-E",
                          "--compile",
                          "--assemble",
                          "-MD",
                          "-MMD",
                          "-MP",
                          "-MG",
                          "-MV",
                          "-v",
                          "-###",
                          "-pipe",
                          "-shared",
                          "-static",
                          "-rdynamic",
                          "-pie",
                          "-no-pie",
                          "-s",
                          "--hip-link",
                          "-hip-link",
                          "--offload-link",
                          "-emit-llvm",
                          "--cuda-device-only",
                          "--offload-device-only",
                          "--offload-host-device",
                          "--cuda-compile-host-device"}) ||
         starts_with_one_of(word,
                            {"-MF", "-MT", "-MQ", "-MJ", "-l", "-L", "-Wl,", "-fuse-ld=", "-save-temps", "--save-temps",
                             "-ftime-trace", "-ffile-prefix-map=", "-fdebug-prefix-map=", "-fmacro-prefix-map=",
                             "-fcoverage-prefix-map=", "-ffile-compilation-dir=", "-fdebug-compilation-dir="}) ||
         (word.starts_with("-o") && !word.starts_with("-objc"));
}

// Likewise, with the next word.
bool names_output_by_next(std::string_view word) {
  return is_one_of(word, {"-o", "-MF", "-MT", "-MQ", "-MJ", "-L", "-l", "-Xlinker", "-Xoffload-linker", "-dumpdir",
                          "-serialize-diagnostics", "--serialize-diagnostics", "-T", "-u", "-z", "-rpath", "--output"});
}

// What mneme-inject adds behind a command.
bool is_own(std::string_view word) {
  const bool names_plugin = word.starts_with("-fpass-plugin=") && word.ends_with(kPlugin);
  const bool is_view = word.starts_with("--cuda-path=") && word.find("/mneme/cuda-") != std::string_view::npos;
  return names_plugin || is_view || word.starts_with("-D__MNEME_");
}

// How many words mneme-inject adds in front of a command, from `at` on, where it adds any there.
size_t own_words(const std::vector<std::string>& words, size_t at) {
  if (words[at] != "-Xarch_device" || at + 1 >= words.size() || words[at + 1] != "-fno-discard-value-names") return 0;
  size_t end = at + 2;
  while (end < words.size()) {
    const std::string& word = words[end];
    if (word == "-isystem" && end + 1 < words.size() && words[end + 1].ends_with("/mneme/cuda/include")) {
      end += 2;
      while (end + 1 < words.size() && words[end] == "-isystem" &&
             (words[end + 1].ends_with("/include") || words[end + 1].ends_with("/include/cccl"))) {
        end += 2;
      }
    } else if (word == "-Wno-unknown-cuda-version" || word.starts_with("--rocm-device-lib-path=")) {
      end++;
    } else {
      break;
    }
  }
  return end - at;
}

}  // namespace

PathMap::PathMap(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    for (std::string_view option : kPrefixMaps) {
      if (!word.starts_with(option)) continue;
      const std::string map = word.substr(option.size());
      const size_t equals = map.rfind('=');
      if (equals != std::string::npos && equals > 0)
        prefixes_.emplace_back(map.substr(0, equals), map.substr(equals + 1));
    }
  }
}

std::string PathMap::path(const std::string& path) const {
  for (auto it = prefixes_.rbegin(); it != prefixes_.rend(); ++it) {
    if (path.starts_with(it->first)) return it->second + path.substr(it->first.size());
  }
  return path;
}

std::string PathMap::argument(const std::string& word) const {
  const size_t slash = word.find('/');
  const bool has_path = slash == 0 || (slash != std::string::npos && word.starts_with('-') && !word.starts_with("-D") &&
                                       (word[slash - 1] == '=' || word.find('=') == std::string::npos));
  return has_path ? word.substr(0, slash) + path(word.substr(slash)) : word;
}

std::vector<std::string> recorded_command(const std::vector<std::string>& driver, const std::string& directory,
                                          const std::string& file) {
  if (driver.empty()) return {};
  const std::vector<std::string> words = expand_response_files(driver);
  const PathMap map(words);
  std::string folder = map.path(directory), language, of_file;
  std::vector<std::string> options;
  bool options_end = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options_end || word == "-" || !word.starts_with('-')) {
      if (word == file) of_file = language;
      continue;
    }
    for (std::string_view option : kDirectories) {
      if (word.starts_with(option)) folder = word.substr(option.size());
    }
    const bool has_next = i + 1 < words.size();
    if (const size_t own = own_words(words, i)) {
      i += own - 1;
    } else if (word == "--") {
      options_end = true;
    } else if ((word == "-x" || word == "--language") && has_next) {
      language = words[++i];
    } else if (word.starts_with("-x")) {
      language = word.substr(2);
    } else if (word == "-Xclang" && has_next && is_own(words[i + 1])) {
      ++i;
    } else if (names_output_by_next(word)) {
      ++i;
    } else if (!names_output(word) && !is_own(word)) {
      options.push_back(map.argument(word));
      if (takes_next_word(word) && has_next) options.push_back(map.argument(words[++i]));
    }
  }
  std::vector<std::string> command = {folder, map.path(words[0])};
  command.insert(command.end(), options.begin(), options.end());
  if (!of_file.empty() && of_file != "none") command.insert(command.end(), {"-x", of_file});
  command.push_back(map.argument(file));
  return command;
}

}  // namespace mneme::inject
