// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/wrapper.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/error.h"

extern char** environ;

namespace mneme::inject {
namespace {

constexpr std::string_view kMark = "toolkit-";

}  // namespace

int stand_in(int, char** argv, const std::function<int(const std::string&, const std::vector<std::string>&)>& run) {
  std::string self = argv[0];
  size_t name = self.rfind('/') + 1;
  std::vector<std::string> arguments;
  for (char** word = argv + 1; *word; ++word) arguments.push_back(*word);
  try {
    return run(self.substr(0, name) + std::string(kMark) + self.substr(name), arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mneme-inject: error: %s\n", error.what());
    return 1;
  }
}

int run_own(const std::string& own, const std::vector<std::string>& arguments) {
  // ptxas notes the name it is called by in what it writes.
  std::string name = own;
  name.erase(name.rfind(kMark), kMark.size());
  std::vector<char*> words = {name.data()};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  int failed = ::posix_spawnp(&child, own.c_str(), nullptr, nullptr, words.data(), environ);
  if (failed) throw Error::of("cannot run '{}': {}", own, std::strerror(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) ::raise(WTERMSIG(status));  // as it ended itself
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

std::string output_of(const std::vector<std::string>& arguments) {
  constexpr std::string_view kJoined = "--output-file=";
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(kJoined)) return arguments[i].substr(kJoined.size());
    bool named = arguments[i] == "-o" || arguments[i] == "--output-file" || arguments[i] == "-output-file";
    if (named && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return {};
}

}  // namespace mneme::inject
