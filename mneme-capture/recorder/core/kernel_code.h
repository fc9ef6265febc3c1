// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels without IR: what is recorded of them is the code that ran.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"
#include "objects/embedded.h"
#include "objects/launch_arguments.h"
#include "objects/ptx.h"

namespace mneme::record {

struct KernelCode {
  bundle::KernelInfo info;
  Bytes code, ptx;  // within what was registered; `ptx` may be empty
};

using AskForParameters = std::function<std::optional<objects::Parameters>()>;
using IsRecorded = std::function<bool(uint64_t address)>;

// Of a fat binary's cubins and PTX, the cubin that this processor ("sm_90") runs, or else the PTX that the driver
// compiles for it; and a description of the kernel. Where its parameters lie the code says, or else the driver, by
// `ask`. Throws Error with the reason why the kernel cannot be recorded.
KernelCode kernel_code(const std::string& name, const std::vector<objects::DeviceCode>& cubins,
                       const std::vector<objects::DeviceCode>& ptx, const std::string& processor,
                       const AskForParameters& ask);

// A description of parameters does not tell pointers from numbers: those are pointers that lead into recorded memory.
void tell_pointers(bundle::KernelInfo& kernel, const objects::LaunchArguments& arguments,
                   const IsRecorded& is_recorded);

}  // namespace mneme::record
