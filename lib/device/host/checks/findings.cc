// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/findings.h"

#include <algorithm>
#include <iterator>

namespace mneme::device::host {

void Findings::note(const Key& key, const std::function<void(bundle::Finding&)>& describe) {
  std::lock_guard lock(mutex_);
  auto [known, fresh] = known_.try_emplace(key, std::min(list_.size(), kMost - 1));
  if (!fresh || list_.size() == kMost) {
    ++list_[known->second].count;
    return;
  }
  bundle::Finding& finding = list_.emplace_back();
  finding.check = key.check;
  finding.kind = key.kind;
  finding.lesser = key.lesser;
  describe(finding);
}

std::vector<bundle::Finding> Findings::list() const {
  std::lock_guard lock(mutex_);
  std::vector<bundle::Finding> all;
  // The same lines may be several places: of an inlined function, or of a loop that was unrolled.
  for (const bundle::Finding& finding : list_) {
    auto same = std::ranges::find_if(all, [&](const bundle::Finding& one) {
      return !one.line.empty() &&
             std::tie(one.check, one.kind, one.line, one.other, one.lesser) ==
                 std::tie(finding.check, finding.kind, finding.line, finding.other, finding.lesser);
    });
    if (same == all.end()) {
      all.push_back(finding);
    } else {
      same->count += finding.count;
    }
  }
  std::vector<bundle::Finding> sorted;
  for (const bool lesser : {false, true}) {
    std::ranges::copy_if(all, std::back_inserter(sorted),
                         [&](const bundle::Finding& one) { return one.lesser == lesser; });
  }
  return sorted;
}

}  // namespace mneme::device::host
