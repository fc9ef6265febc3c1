// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace mneme::inject {

// Paths as -ffile-prefix-map and -fdebug-prefix-map have them, the last option that fits first.
class PathMap {
 public:
  explicit PathMap(const std::vector<std::string>& command);

  std::string path(const std::string& path) const;
  // An argument that is an absolute path, or an option with one behind it: "-I/app/include".
  std::string argument(const std::string& word) const;

 private:
  std::vector<std::pair<std::string, std::string>> prefixes_;
};

// The command that compiles `file`: directory, compiler, options, file. It has no other input of the driver's command
// line, and no option that names an output, links, or is mneme-inject's own; paths are mapped, so that builds in two
// folders give the same bytes where -ffile-prefix-map says so.
std::vector<std::string> recorded_command(const std::vector<std::string>& driver, const std::string& directory,
                                          const std::string& file);

}  // namespace mneme::inject
