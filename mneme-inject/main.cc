// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-inject COMPILER ARGS…: runs the compiler with what makes its output recordable.
#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "cli/options.h"
#include "cli/shell.h"
#include "command.h"
#include "temporaries.h"

using namespace mneme;

namespace {

void print_flags(const std::vector<std::string>& steps) {
  std::string step = steps.empty() ? "compile" : steps.front();
  std::string language = steps.size() < 2 ? "hip" : steps[1];
  if (steps.size() > 2 || (step != "compile" && step != "link") || (language != "hip" && language != "cuda")) {
    throw Error::of("--print-flags is for 'compile' or 'link' of 'hip' or 'cuda', not for '{}'", steps.back());
  }
  std::string flags = cli::quoted(step == "compile" ? inject::compile_flags(language) : inject::link_flags(language));
  if (std::puts(flags.c_str()) < 0 || std::fflush(stdout) != 0) throw system_error("cannot write standard output");
}

// The compiler that the links mneme-clang++ and mneme-clang stand for; empty: this is called by its own name.
std::string compiler_of_link(const std::string& called) {
  std::string name = called.substr(called.rfind('/') + 1);
  return name == "mneme-clang++" ? "clang++-19" : name == "mneme-clang" ? "clang-19" : "";
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const std::string reason = system_error("cannot run '" + command.front() + "'").what();
  throw Error(reason + "; the compiler comes first: mneme-inject clang++-19 ARGS...", Exit::kMissing);
}

// Gives the compiler's exit status, where something is left to do then.
int run_compiler(const std::vector<std::string>& command, bool verbose) {
  inject::Recordable recordable = inject::recordable(command);
  if (!recordable.note.empty()) cli::note(recordable.note);
  if (verbose) cli::note(cli::quoted(recordable.command));
  if (recordable.leaves_assembly) return inject::run_keeping_temporaries(recordable.command);
  become(recordable.command);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mneme-inject", [&]() -> Exit {
    bool only_flags = false, embeds_source = false;
    std::vector<std::string> command;
    if (std::string compiler = compiler_of_link(argc > 0 ? argv[0] : ""); !compiler.empty()) {
      command.assign(argv + 1, argv + argc);
      command.insert(command.begin(), compiler);
      return static_cast<Exit>(run_compiler(command, false));
    }
    cli::Options options("mneme-inject",
                         "Runs a compiler so that the HIP and CUDA kernels it compiles can be recorded.");
    std::string heap = "mneme";
    options.group("Compilation");
    options.value("--device-heap", heap, "mneme|vendor",
                  "whose malloc() and free() kernels call: Mneme's, which a recording on a GPU has, or the vendor's");
    options.flag("--embed-source", embeds_source,
                 "embed the source of the kernels: the compiled files, and the headers that they include");
    options.group("Output");
    options.flag("--print-flags", only_flags,
                 "print the compiler flags for one step, 'compile' (the default) or 'link', of 'hip' (the default) or "
                 "'cuda', and run nothing");
    options.command(command, "COMPILER ARGS...", "the compiler and its arguments, or a step and a language");
    options.parse(argc, argv);
    if (heap != "mneme" && heap != "vendor") throw Error::of("--device-heap is 'mneme' or 'vendor', not '{}'", heap);
    ::setenv(inject::kDeviceHeap, heap.c_str(), 1);
    if (embeds_source) ::setenv(inject::kEmbedSource, "1", 1);
    if (only_flags) {
      print_flags(command);
      return Exit::kSuccess;
    }
    if (command.empty()) throw Error("no compiler to run; usage: mneme-inject clang++-19 ARGS...");

    return static_cast<Exit>(run_compiler(command, options.verbose()));
  });
}
