// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A folder with all that an application needs to run with tuned variants where Mneme is not installed.
#pragma once
#include <string>
#include <vector>

#include "bundle/format.h"
#include "cli/stage.h"

namespace mneme::restore {

// Makes the folder, and opens its tuned.tar as `output`. Throws Error where no choice is for a GPU: the host device is
// a part of Mneme.
void begin_deployment(const std::string& folder, const std::vector<bundle::Choice>& choices, cli::Output& output);
// Adds the library to preload and the script that runs a command with both.
void end_deployment(const std::string& folder);

}  // namespace mneme::restore
