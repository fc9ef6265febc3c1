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

// Of a fat binary's cubins or PTX.
using Codes = std::vector<objects::DeviceCode>;

// Cubins in the order in which this processor ("sm_90") prefers them, and then those that it does not run.
std::vector<objects::DeviceCode*> by_preference(Codes& cubins, const std::string& processor);

// Images, of which one may be empty.
struct ChosenCode {
  Bytes cubin, ptx;
};
// The cubin that this processor runs, and the PTX that the driver compiles for it. No other is unpacked that fits less.
ChosenCode choose_code(const std::string& name, Codes& cubins, Codes& ptx, const std::string& processor);

// The cubin, or else the PTX, as what ran, and a description of the kernel. Where its parameters lie the code says, or
// else the driver, by `ask`. Throws Error with the reason why the kernel cannot be recorded.
KernelCode kernel_code(const std::string& name, const ChosenCode& chosen, const std::string& processor,
                       const AskForParameters& ask);

// A description of parameters does not tell pointers from numbers: those are pointers that lead into recorded memory.
void tell_pointers(bundle::KernelInfo& kernel, const objects::LaunchArguments& arguments,
                   const IsRecorded& is_recorded);

}  // namespace mneme::record
