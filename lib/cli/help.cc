// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace mneme::cli {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kIndent = 28;  // where the explanations start

// `text`'s words in lines of at most kWidth columns, each but the first after `indent` spaces; the first starts at
// column `column`.
std::string wrap(const std::string& text, size_t column, size_t indent) {
  std::istringstream words(text);
  std::string out, word;
  bool first = true;
  while (words >> word) {
    if (!first && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      out += ' ';
      column++;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out + "\n";
}

std::string format_entry(const HelpEntry& entry) {
  std::string left = "  ";
  for (char c : entry.names) left += c == ',' ? std::string(", ") : std::string(1, c);
  if (!entry.value.empty()) left += " " + entry.value;
  if (left.size() + 2 > kIndent)
    left += "\n" + std::string(kIndent, ' ');
  else
    left.resize(kIndent, ' ');
  return left + wrap(entry.text, kIndent, kIndent);
}

}  // namespace

std::string format_help(const HelpText& help) {
  std::string out = fmt::format("Usage: {} [OPTIONS]{}{}\n\n", help.tool, help.usage.empty() ? "" : " ", help.usage);
  out += wrap(help.summary, 0, 0);
  if (!help.positionals.empty()) out += "\nArguments:\n";
  for (const HelpEntry& entry : help.positionals) out += format_entry(entry);
  std::vector<std::string> groups;
  for (const HelpEntry& entry : help.options) {
    if (std::ranges::find(groups, entry.group) == groups.end()) groups.push_back(entry.group);
  }
  for (const std::string& group : groups) {
    out += fmt::format("\n{}:\n", group);
    for (const HelpEntry& entry : help.options) {
      if (entry.group == group) out += format_entry(entry);
    }
  }
  return out + "\n" +
         wrap(
             "The last of an option given twice counts. In the environment, MNEME_LIKE_THIS stands for --like-this; "
             "the command line wins.",
             0, 0);
}

}  // namespace mneme::cli
