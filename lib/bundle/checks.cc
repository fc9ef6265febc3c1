// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/checks.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.h"

namespace mneme::bundle {
namespace {

constexpr std::string_view kMemory = "memory", kAll = "all";

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    std::string_view name = list.substr(at, end - at);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    at = end + 1;
  }
  return names;
}

bool is_check(const std::string& name) { return std::ranges::find(kChecks, name) != std::end(kChecks); }

}  // namespace

WantedChecks wanted_checks(std::string_view list) {
  WantedChecks wanted;
  std::set<std::string> checks;
  for (const std::string& name : names_in(list)) {
    if (name == kMemory || name == kAll) wanted.memory = true;
    if (name == kAll) checks.insert(std::begin(kChecks), std::end(kChecks));
    if (is_check(name)) {
      checks.insert(name);
    } else if (name != kMemory && name != kAll) {
      throw Error::of("takes all, or some of memory,{}, not '{}'", fmt::join(kChecks, ","), name.substr(0, 80));
    }
  }
  wanted.checks = fmt::format("{}", fmt::join(checks, ","));
  if (!wanted.memory && checks.empty()) throw Error("takes a list of checks, not an empty one");
  return wanted;
}

std::string list_of(const WantedChecks& wanted) {
  if (!wanted.memory) return wanted.checks;
  return wanted.checks.empty() ? std::string(kMemory) : fmt::format("{},{}", kMemory, wanted.checks);
}

std::string normal_checks(std::string_view list) {
  std::set<std::string> checks;
  for (const std::string& name : names_in(list)) {
    if (!is_check(name)) throw Error::of("takes some of {}, not '{}'", fmt::join(kChecks, ","), name.substr(0, 80));
    checks.insert(name);
  }
  return fmt::format("{}", fmt::join(checks, ","));
}

bool has_check(std::string_view checks, std::string_view name) {
  const std::vector<std::string> names = names_in(checks);
  return std::ranges::find(names, name) != names.end();
}

std::string sentence_of(const Finding& finding) {
  return fmt::format("{}{}: {}{}", finding.check, finding.lesser ? " (lesser)" : "", finding.sentence,
                     finding.count > 1 ? fmt::format(" ({} times)", finding.count) : "");
}

Suppressions Suppressions::parse(std::string_view text, const std::string& where) {
  Suppressions suppressions;
  std::istringstream lines{std::string(text)};
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    Pattern pattern;
    if (!(words >> pattern.check)) continue;
    // A kernel's name may have spaces in it: the line is the last word.
    std::vector<std::string> rest;
    for (std::string word; words >> word;) rest.push_back(word);
    if (rest.size() < 2 || (pattern.check != "*" && !is_check(pattern.check))) {
      throw Error::of("line {} of {} is not a check ({} or *), a kernel's pattern and a line's pattern", number, where,
                      fmt::join(kChecks, ", "));
    }
    pattern.line = rest.back();
    rest.pop_back();
    pattern.kernel = fmt::format("{}", fmt::join(rest, " "));
    suppressions.patterns_.push_back(std::move(pattern));
  }
  return suppressions;
}

bool Suppressions::has(const Finding& finding, const std::string& kernel) const {
  auto matches = [](const std::string& pattern, const std::string& text) {
    return pattern == "*" || ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  return std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
    return matches(pattern.check, finding.check) && matches(pattern.kernel, kernel) &&
           (matches(pattern.line, finding.line) || matches(pattern.line, finding.other));
  });
}

}  // namespace mneme::bundle
