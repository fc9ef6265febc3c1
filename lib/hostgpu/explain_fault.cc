// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/explain_fault.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "hostgpu/kernel_code.h"
#include "hostgpu/known_memory.h"

namespace mneme::hostgpu {
namespace {

using codegen::host::GlobalSlot;

// Both are compiled from the same IR.
void share_variables(std::span<const GlobalSlot> from, std::span<GlobalSlot> to) {
  for (GlobalSlot& slot : to) {
    auto same =
        std::find_if(from.begin(), from.end(), [&](const auto& s) { return std::strcmp(s.name, slot.name) == 0; });
    if (same == from.end()) throw Error::of("the variable '{}' is not there", slot.name);
    slot.address = same->address;
  }
}

}  // namespace

std::string explain_fault(const FailedLaunch& launch, const device::host::KernelFault& fault) {
  if (fault.kind() != codegen::host::kNoFault || checks_memory()) return fault.what();
  try {
    auto code = code_of(launch.kernel.embedded(), /*check_memory=*/true);
    share_variables(launch.kernel.code()->globals(), code->globals());
    MemoryTable table = known_memory(code->globals());
    device::host::RunOptions options = launch.options;
    options.print = {};  // it has printed
    options.warn = {};
    options.memory = table.live;
    options.freed = table.released;
    options.only = fault.block();
    device::host::run_grid(*code, launch.grid, launch.block, launch.shared_bytes, launch.arguments, options);
  } catch (const device::host::KernelFault& again) {
    if (again.exact()) return again.what();
  } catch (const Error&) {
    // What is known is all there is to say.
  }
  return fault.what();
}

}  // namespace mneme::hostgpu
