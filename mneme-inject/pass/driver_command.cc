// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/driver_command.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "invocation.h"

namespace mneme::inject {
namespace {

constexpr size_t kMostOfAll = 64 << 20;  // bytes of a command line

// Without the program's name.
std::vector<std::string> arguments_of(const std::string& process) {
  std::vector<std::string> words;
  const std::string line = read_file("/proc/" + process + "/cmdline", kMostOfAll);
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find('\0', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  if (!words.empty()) words.erase(words.begin());
  return words;
}

bool is_step(const std::vector<std::string>& arguments) { return !arguments.empty() && arguments.front() == "-cc1"; }

}  // namespace

// A compilation of a command with several runs in a process of its own. The steps' own -S tells nothing: PTX is made on
// the way to every cubin.
bool makes_text() {
  std::vector<std::string> arguments = arguments_of("self");
  if (is_step(arguments)) arguments = arguments_of(std::to_string(::getppid()));
  return !is_step(arguments) && understand(arguments).text;
}

}  // namespace mneme::inject
