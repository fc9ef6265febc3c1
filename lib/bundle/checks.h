// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks on recorded kernels by name (docs/checks.md), as options and configurations have them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::bundle {

// In the order of Configuration::checks. "memory" is not among them: Configuration::check_memory.
inline constexpr std::string_view kChecks[] = {"init", "nan", "races", "sync"};

// What an option --check LIST asks for.
struct WantedChecks {
  bool memory = false;
  std::string checks;  // as Configuration::checks
};
// Of "races,memory", or "all". Throws Error, in words that go on from the option's name: "takes …, not 'x'".
WantedChecks wanted_checks(std::string_view list);
// The other way round: "memory,races".
std::string list_of(const WantedChecks& wanted);
// One form of Configuration::checks: each once, in order. Throws Error likewise; "memory" and "all" are not among them.
std::string normal_checks(std::string_view list);
// Whether Configuration::checks has one.
bool has_check(std::string_view checks, std::string_view name);

// Patterns of findings that are known and not to be said. A line each: check, kernel's name and file:line of one of
// the two accesses, as the shell matches files; "*" matches all. Empty lines, and what follows a #, are left out.
class Suppressions {
 public:
  // `where` names the text in messages. Throws Error.
  static Suppressions parse(std::string_view text, const std::string& where);
  bool has(const Finding& finding, const std::string& kernel) const;
  bool empty() const { return patterns_.empty(); }

 private:
  struct Pattern {
    std::string check, kernel, line;
  };
  std::vector<Pattern> patterns_;
};

// For people: "races: kernel 'sum(int*)', …", and how often.
std::string sentence_of(const Finding& finding);

// Of findings that rely on the lanes of a wave being in step: Finding::kind begins so.
inline constexpr std::string_view kWarpSynchronous = "warp-synchronous";

namespace json {
class Text;
}
// As the key "findings" of an object.
void write_findings(json::Text& out, const std::vector<Finding>& findings);

}  // namespace mneme::bundle
