// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/driver_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/file.h"
#include "command.h"
#include "invocation.h"

namespace mneme::inject {
namespace {

constexpr size_t kMostOfAll = 64 << 20;  // bytes of a command line

std::vector<std::string> command_of(const std::string& process) {
  std::vector<std::string> words;
  const std::string line = read_file("/proc/" + process + "/cmdline", kMostOfAll);
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find('\0', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool is_step(const std::vector<std::string>& command) { return command.size() > 1 && command[1] == "-cc1"; }

}  // namespace

std::vector<std::string> own_command() { return command_of("self"); }

// A compilation of a command with several runs in a process of its own.
std::vector<std::string> driver_command() {
  std::vector<std::string> command = own_command();
  if (is_step(command)) command = command_of(std::to_string(::getppid()));
  return is_step(command) ? std::vector<std::string>() : command;
}

// The steps' own -S tells nothing: PTX is made on the way to every cubin.
bool makes_text() {
  std::vector<std::string> command = driver_command();
  if (command.empty()) return false;
  command.erase(command.begin());
  return understand(command).text;
}

bool answers_with_records() { return std::getenv(kAnswerWithRecords) != nullptr; }

}  // namespace mneme::inject
