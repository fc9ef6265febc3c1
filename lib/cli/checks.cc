// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/checks.h"

#include <filesystem>

#include "base/file.h"

namespace mneme::cli {

bundle::WantedChecks wanted_checks(const std::string& list) {
  if (list.empty()) return {};
  try {
    return bundle::wanted_checks(list);
  } catch (const Error& error) {
    throw Error::of("{} {}", kCheckOption, error.what());
  }
}

void FindingOptions::add_options(Options& options) {
  options.value("--suppress", file_, "FILE",
                "leave out the findings of --check that FILE lists: a line each, check, kernel and file:line, as the "
                "shell's patterns");
  options.flag("--warp-synchronous", warp_synchronous_,
               "leave out findings of --check races that hardware gets right whose lanes run in step");
}

void FindingOptions::read() {
  constexpr size_t kMost = 1 << 20;
  if (!file_.empty()) suppressions_ = bundle::Suppressions::parse(read_file(file_, kMost), file_);
}

std::vector<std::string> FindingOptions::variables() const {
  std::vector<std::string> variables;
  if (!file_.empty()) variables.push_back("MNEME_SUPPRESS=" + std::filesystem::absolute(file_).string());
  if (warp_synchronous_) variables.emplace_back("MNEME_WARP_SYNCHRONOUS=1");
  return variables;
}

bool FindingOptions::wants(const bundle::Finding& finding, const std::string& kernel) const {
  if (warp_synchronous_ && finding.kind.starts_with(bundle::kWarpSynchronous)) return false;
  return !suppressions_.has(finding, kernel);
}

void FindingOptions::drop_unwanted(std::vector<bundle::Finding>& findings, const std::string& kernel) const {
  std::erase_if(findings, [&](const bundle::Finding& finding) { return !wants(finding, kernel); });
}

}  // namespace mneme::cli
