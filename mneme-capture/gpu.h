// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::capture {

// Whether applications find an NVIDIA GPU here, be it that the driver says so: not everywhere are there device files
// (Windows' subsystem for Linux has none).
bool has_nvidia_gpu();

}  // namespace mneme::capture
