// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "temporaries.h"

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "compiler.h"

namespace mneme::inject {
namespace {

// pass/embed.cc
constexpr std::string_view kSymbols[] = {"__mneme_ir_", "__mneme_source_"},
                           kSections[] = {".mneme.ir", ".mneme.source"};

bool names_one(const std::string& line, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return line.find(name) != std::string::npos; });
}

// A line of -###: words in quotes.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = !inside;
    } else if (inside) {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      word += line[i];
    }
  }
  return words;
}

std::string after(const std::vector<std::string>& words, std::string_view option) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == option) return words[i + 1];
  }
  return {};
}

int wait_for(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  if (int failed = ::posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environ)) {
    errno = failed;
    throw Error(system_error("cannot run '" + command.front() + "'").what(), Exit::kMissing);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw system_error("cannot wait for '" + command.front() + "'");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::vector<std::string> kept_assembly(const std::string& steps) {
  std::vector<std::string> files;
  std::istringstream lines(steps);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    const std::string triple = after(words, "-triple"), made = after(words, "-o");
    const bool is_device = triple.starts_with("amdgcn") || triple.starts_with("nvptx");
    if (is_device && made.ends_with(".s")) files.push_back(made);
  }
  return files;
}

std::string without_ir(const std::string& assembly) {
  std::string kept;
  bool inside = false;  // of AMD's, from the section to the symbol's size; NVIDIA's is a line
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    const bool names_symbol = names_one(line, kSymbols);
    if (line.find(".section") != std::string::npos && names_one(line, kSections)) inside = true;
    if (!inside && !names_symbol) kept += line + '\n';
    if (inside && names_symbol && line.find(".size") != std::string::npos) inside = false;
  }
  return kept;
}

int run_keeping_temporaries(const std::vector<std::string>& command) {
  std::vector<std::string> question(command.begin() + static_cast<ptrdiff_t>(compiler_index(command)), command.end());
  question.insert(question.begin() + 1, "-###");
  const std::vector<std::string> files = kept_assembly(run_command(question).errors);
  const int status = wait_for(command);
  for (const std::string& file : files) {
    if (std::filesystem::is_regular_file(file)) write_file(file, without_ir(read_file(file)));
  }
  return status;
}

}  // namespace mneme::inject
