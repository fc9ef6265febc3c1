// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "ir/module.h"

namespace mneme::extract {
namespace {

constexpr size_t kLongestStem = 80;
constexpr size_t kHashDigits = 12;

constexpr char kText = 'T';    // then the text
constexpr char kFailed = 'E';  // then the message

[[noreturn]] void child(int result, const std::string& bitcode, const std::string& what) {
  std::string answer;
  try {
    confine_process();
    llvm::LLVMContext context;
    answer = kText + ir::print_module(*ir::load_module(context, bitcode, what));
  } catch (const std::exception& error) {
    answer = kFailed + std::string(error.what());
  }
  try {
    write_all(result, bytes_of(answer), "the IR");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

std::string disassemble(const std::string& bitcode, const std::string& what) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
  Fd from(ends[0]), to(ends[1]);
  pid_t pid = ::fork();
  if (pid < 0) throw system_error("cannot start a process that reads IR");
  if (pid == 0) child(to.get(), bitcode, what);
  to = Fd();
  std::string answer = read_all(from.get(), "the IR");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || answer.empty()) {
    throw Error::of("LLVM cannot read the IR of {}: it {}", what, describe_wait_status(status));
  }
  bool failed = answer[0] == kFailed;
  answer.erase(0, 1);
  if (failed) throw Error(answer);
  return answer;
}

std::string printable(const std::string& name) {
  std::string out = name;
  for (char& c : out) {
    if (std::iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  return out;
}

std::string file_stem(const std::string& demangled, const std::string& hash) {
  // The name proper ends where its parameters begin, and starts after its return type.
  size_t begin = 0, end = demangled.size();
  int depth = 0;
  for (size_t i = 0; i < demangled.size(); ++i) {
    if (demangled[i] == '<') ++depth;
    if (demangled[i] == '>') --depth;
    if (depth == 0 && demangled[i] == ' ') begin = i + 1;
    if (depth == 0 && demangled[i] == '(' && i > begin) {
      end = i;
      break;
    }
  }
  std::string stem;
  for (char c : demangled.substr(begin, end - begin)) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (plain) stem += c;
    if (!plain && !stem.empty() && stem.back() != '_') stem += '_';
  }
  stem = stem.substr(0, kLongestStem);
  while (!stem.empty() && stem.back() == '_') stem.pop_back();
  if (stem.empty()) stem = "kernel";
  return stem + "-" + hash.substr(0, kHashDigits);
}

}  // namespace mneme::extract
