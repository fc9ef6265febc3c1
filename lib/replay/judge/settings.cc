// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which settings tell the variants of a kernel apart.
#include <fmt/format.h>

#include <map>
#include <set>

#include "base/long_names.h"
#include "bundle/configuration.h"
#include "replay/judge/report.h"

namespace mneme::verify {
namespace {

constexpr size_t kDigestDigits = 12;

// The passes have a column of their own, and a variant that is specialised to an instance stands in its row.
bool is_shown_anyway(const std::string& key) { return key == "passes" || key == "instance"; }

std::string shown(const std::string& key, const std::string& value) {
  if (value == "true") return key;
  return key + "=" + (key == "ir" ? value.substr(0, kDigestDigits) : cut_in_the_middle(printable(value)));
}

}  // namespace

std::vector<std::string> distinguishing_settings(const std::vector<Row>& rows) {
  using Settings = std::map<std::string, std::string>;
  std::map<Digest, std::map<Digest, Settings>> variants;  // kernel → variant
  for (const Row& row : rows) {
    Settings& settings = variants[row.kernel][row.variant];
    if (settings.empty()) {
      for (auto& [key, value] : bundle::settings_of(row.configuration)) settings.emplace(key, value);
    }
  }
  std::map<Digest, std::set<std::string>> differing;  // kernel → keys
  for (const auto& [kernel, of_kernel] : variants) {
    const Settings& first = of_kernel.begin()->second;
    auto compare = [&](const Settings& these, const Settings& those) {
      for (const auto& [key, value] : these) {
        auto other = those.find(key);
        if (other == those.end() || other->second != value) differing[kernel].insert(key);
      }
    };
    for (const auto& [variant, settings] : of_kernel) {
      compare(settings, first);
      compare(first, settings);
    }
  }
  std::vector<std::string> texts;
  for (const Row& row : rows) {
    std::string& text = texts.emplace_back();
    for (const auto& [key, value] : bundle::settings_of(row.configuration)) {
      if (is_shown_anyway(key) || !differing[row.kernel].contains(key)) continue;
      text += (text.empty() ? "" : " ") + shown(key, value);
    }
  }
  return texts;
}

}  // namespace mneme::verify
