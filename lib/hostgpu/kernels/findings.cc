// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/findings.h"

#include <fcntl.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <tuple>

#include "base/file.h"
#include "base/long_names.h"
#include "bundle/checks.h"
#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"

namespace mneme::hostgpu {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

const bundle::Suppressions& suppressions() {
  static const auto* all = new bundle::Suppressions([] {
    constexpr size_t kMost = 1 << 20;
    const std::string file = variable("MNEME_SUPPRESS");
    return file.empty() ? bundle::Suppressions() : bundle::Suppressions::parse(read_file(file, kMost), file);
  }());
  return *all;
}

bool is_wanted(const bundle::Finding& finding, const std::string& kernel) {
  static const bool in_step = variable("MNEME_WARP_SYNCHRONOUS") == "1";
  if (in_step && finding.kind.starts_with(bundle::kWarpSynchronous)) return false;
  return !suppressions().has(finding, kernel);
}

// True for the first of its kind.
bool is_news(const std::string& kernel, const bundle::Finding& finding) {
  using Kind = std::tuple<std::string, std::string, std::string, std::string, std::string, bool>;
  static auto* said = new std::set<Kind>;
  static auto& mutex = *new HeldOverForks<std::mutex>;
  std::lock_guard lock(mutex);
  return said->emplace(kernel, finding.check, finding.kind, finding.line, finding.other, finding.lesser).second;
}

void append(const std::string& line) {
  const std::string file = variable("MNEME_FINDINGS");
  if (file.empty()) return;
  Fd fd(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (fd) write_all(fd.get(), bytes_of(line + "\n"), file);
}

}  // namespace

void say_findings(const std::string& kernel, const std::vector<bundle::Finding>& findings) {
  for (const bundle::Finding& finding : findings) {
    if (!is_wanted(finding, kernel) || !is_news(kernel, finding)) continue;
    const std::string sentence = bundle::sentence_of(finding);
    say(with_short_name(sentence, kernel));
    if (!finding.lesser) append(sentence);
  }
}

}  // namespace mneme::hostgpu
