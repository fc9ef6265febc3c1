// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/process.h"

namespace mneme::hostgpu {

// Runs argv[0], a path, to its end with standard input `input`, so that the process around us notices nothing: no
// child of its own to wait for, no SIGCHLD, none of its descriptors, signal handlers or environment in the command
// (but PATH, HOME, TMPDIR, XDG_CACHE_HOME and MNEME_LIBDIR). Throws Error (Exit::kMissing) when it cannot be started.
CommandResult run_detached(const std::vector<std::string>& argv, Bytes input);

}  // namespace mneme::hostgpu
