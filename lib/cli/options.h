// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What makes seven tools feel like one: options, exit statuses, messages. Wraps CLI11 so that only
// options.cc pays for it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace mneme::cli {

// A tool's command line. --help, --version and -v/--verbose are always there. An option given twice: the last
// one holds. A value that is empty is bad usage. An option that is not given, and has a long name "--like-this", is
// read from the environment's MNEME_LIKE_THIS unless that is empty; a flag's is 1 or 0.
class Options {
 public:
  Options(std::string tool, std::string summary);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // The heading in --help, and of the manual page's section, for the options that are added from now on. --verbose,
  // --help and --version are in the last group, "Output".
  void group(const std::string& heading);
  // `names` as in "-o,--output"; `value` is the placeholder shown in --help; targets are borrowed and keep their
  // value when the option is absent.
  void flag(const std::string& names, bool& target, const std::string& help);
  void value(const std::string& names, std::string& target, const std::string& value, const std::string& help);
  void value(const std::string& names, uint64_t& target, const std::string& value, const std::string& help);
  void value(const std::string& names, double& target, const std::string& value, const std::string& help);  // >= 0
  // A number of bytes; K, M, G and T may follow, as powers of 1024.
  void bytes(const std::string& names, uint64_t& target, const std::string& value, const std::string& help);
  void values(const std::string& names, std::vector<std::string>& target, const std::string& value,
              const std::string& help);  // may be repeated
  void choice(const std::string& names, std::string& target, const std::vector<std::string>& choices,
              const std::string& help);
  // Positional arguments: an optional input file; several; or a command, everything from the first word that is no
  // option on, passed through untouched. A "--" before them is dropped.
  void file(std::string& target, const std::string& value, const std::string& help);
  void files(std::vector<std::string>& target, const std::string& value, const std::string& help);
  void command(std::vector<std::string>& target, const std::string& value, const std::string& help);

  // Throws Error (kBadInput) on bad usage. --help and --version print to standard output and exit.
  void parse(int argc, const char* const* argv);
  bool given(const std::string& name) const;  // "--output": whether command line or environment have it
  bool on_command_line(const std::string& name) const;
  // All that one of them has, as given() knows them, in the order in which they were added.
  std::vector<std::string> all_given() const;
  // The values of these options ("--segment") as they follow each other on the command line; the environment's first.
  std::vector<std::pair<std::string, std::string>> in_order(const std::vector<std::string>& names) const;
  bool verbose() const;
  const std::vector<std::string>& arguments() const;  // for the provenance chain: the environment's, then as given

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// "1536", "64M" to bytes; nullopt for anything else, and for what does not fit.
std::optional<uint64_t> parse_bytes(const std::string& text);

// Runs a tool's body: an Error becomes "tool: error: …" on standard error and its exit status; so do
// std::bad_alloc and other exceptions. Of a Reported there is the status only. A closed pipe is an Error like others:
// SIGPIPE is caught, not ignored, so that programs which the tool starts find it as it was.
int run_tool(const std::string& tool, const std::function<Exit()>& body);

// Whether messages have kernels' long names (base/long_names.h) whole, as with --verbose.
void say_whole_names(bool whole);
// "tool: warning: …", "tool: …" on standard error. The tool's name is the one given to run_tool.
void warn(const std::string& message);
// The first few of many that are alike, and how many `others` there are besides.
void warn_of_each(const std::vector<std::string>& messages, const std::string& others);
void note(const std::string& message);

inline constexpr char kVersion[] = MNEME_VERSION;  // "0.2.0": what bundles say of the tool that wrote them
const char* version_text();                        // "0.2.0 (3c981f6)": the commit, too, where it is known

}  // namespace mneme::cli
