// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::capture {

// Whether applications find an NVIDIA GPU here: there is a driver, and a device file or the driver's word for it. (Not
// everywhere are there device files: Windows' subsystem for Linux has none, and containers may show but one GPU's.)
bool has_nvidia_gpu();

// Whether the HIP runtime that programs get here, of whichever version, finds an AMD GPU. Mneme's stand-in is none.
bool has_amd_gpu();
inline constexpr char kAmdDriver[] = "/dev/kfd";

}  // namespace mneme::capture
