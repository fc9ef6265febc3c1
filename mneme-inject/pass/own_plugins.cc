// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/own_plugins.h"

#include <filesystem>
#include <string_view>

#include "base/file.h"

namespace mneme::inject {
namespace {

constexpr std::string_view kOurs = "libmneme-inject-pass.so";
constexpr size_t kMostOfAll = 64 << 20;  // bytes of a command line

}  // namespace

std::vector<std::string> own_plugins_in(const std::string& command_line) {
  std::vector<std::string> found;
  std::string_view rest = command_line;
  bool is_next = false;  // of clang's -load the file is the next word
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    std::string_view file = is_next ? word : "";
    is_next = word == "-load";
    for (std::string_view option : {"-fpass-plugin=", "-fplugin=", "--load-pass-plugin=", "-load-pass-plugin="}) {
      if (word.starts_with(option)) file = word.substr(option.size());
    }
    if (file.empty() || file == "-Xclang") {
      is_next |= file == "-Xclang";  // the driver has it before each word
      continue;
    }
    std::string name = std::filesystem::path(file).filename();
    if (name != kOurs) found.push_back(name);
  }
  return found;
}

std::vector<std::string> own_plugins() { return own_plugins_in(read_file("/proc/self/cmdline", kMostOfAll)); }

}  // namespace mneme::inject
