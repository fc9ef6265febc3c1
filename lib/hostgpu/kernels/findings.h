// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What checks find while an application runs (docs/checks.md).
#pragma once
#include <string>
#include <vector>

#include "bundle/format.h"

namespace mneme::hostgpu {

// Says what a launch of the kernel found on standard error: each sentence once in a process, but for what
// $MNEME_SUPPRESS and $MNEME_WARP_SYNCHRONOUS leave out. Those that are not lesser go to the file $MNEME_FINDINGS, too.
void say_findings(const std::string& kernel, const std::vector<bundle::Finding>& findings);

}  // namespace mneme::hostgpu
