// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::cli {

struct HelpEntry {
  std::string names;  // "-o,--output"
  std::string value;  // "FILE"; empty: a flag
  std::string text;
  std::string group = {};  // "Selection", the heading that the option stands under; none for positional arguments
};

struct HelpText {
  std::string tool;
  std::string summary;
  std::string usage;  // of the positional arguments: "[FILE]"
  std::vector<HelpEntry> positionals;
  std::vector<HelpEntry> options;
};

// What --help prints, wrapped to 80 columns: groups in the order in which they are first used.
std::string format_help(const HelpText& help);

}  // namespace mneme::cli
