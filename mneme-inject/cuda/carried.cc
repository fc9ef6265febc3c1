// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/carried.h"

#include "base/digest.h"
#include "base/error.h"

namespace mneme::inject {
namespace {

constexpr std::string_view kLineMark = "//mneme ";
constexpr size_t kBytesPerLine = 2048;
// Where IR was linked, LLVM puts this directive in front of module-level assembly. ptxas knows nothing of it.
constexpr std::string_view kOfLto = ".lto_discard";
// What is left of LLVM's frame around module-level assembly when there was none but ours.
constexpr std::string_view kNoAssembly =
    "                                        // Start of file scope inline assembly\n\n"
    "                                        // End of file scope inline assembly\n";
}  // namespace

std::string carried_lines(std::string_view section, std::string_view contents) {
  std::string lines;
  for (size_t at = 0; at < contents.size(); at += kBytesPerLine) {
    lines += fmt::format("{}{} {}\n", kLineMark, section, to_hex(bytes_of(contents.substr(at, kBytesPerLine))));
  }
  return lines;
}

bool carries(std::string_view ptx) {
  size_t at = ptx.find(kLineMark);
  return at != std::string_view::npos && (at == 0 || ptx[at - 1] == '\n');
}

std::map<std::string, std::string> take_carried(std::string& ptx) {
  std::map<std::string, std::string> sections;
  std::string rest;
  for (size_t at = 0; at < ptx.size();) {
    size_t end = std::min(ptx.find('\n', at), ptx.size() - 1) + 1;
    std::string_view line = std::string_view(ptx).substr(at, end - at);
    at = end;
    if (!line.starts_with(kLineMark)) {
      if (!line.starts_with(kOfLto)) rest += line;
      continue;
    }
    line.remove_prefix(kLineMark.size());
    size_t space = line.find(' ');
    if (space == std::string_view::npos || !line.ends_with('\n'))
      throw Error("the IR that mneme-inject embedded in the PTX is cut short: compile it again");
    sections[std::string(line.substr(0, space))] += from_hex(line.substr(space + 1, line.size() - space - 2));
  }
  if (sections.empty()) return sections;
  if (size_t at = rest.find(kNoAssembly); at != std::string::npos) rest.erase(at, kNoAssembly.size());
  ptx = std::move(rest);
  return sections;
}

}  // namespace mneme::inject
