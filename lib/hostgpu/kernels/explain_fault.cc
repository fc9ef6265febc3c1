// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/explain_fault.h"

#include "base/error.h"
#include "hostgpu/compile/kernel_code.h"
#include "hostgpu/memory/known_memory.h"

namespace mneme::hostgpu {

device::host::KernelFault explain_fault(const FailedLaunch& launch, const device::host::KernelFault& fault) {
  if (fault.kind() != codegen::host::kNoFault || checks_memory()) return fault;
  try {
    CompileOptions checking = usual_options();
    checking.check_memory = true;
    checking.checks.clear();
    if (!device::host::suits(*launch.kernel.code(), launch.block)) checking.form = "fiber";
    auto code = code_beside(*launch.kernel.code(), launch.kernel.embedded(), checking);
    MemoryTable table = known_memory(code->globals());
    device::host::RunOptions options = launch.options;
    options.print = {};  // it has printed
    options.warn = {};
    options.findings = nullptr;
    options.memory = table.live;
    options.freed = table.released;
    options.only = fault.block();
    device::host::run_grid(*code, launch.grid, launch.block, launch.shared_bytes, launch.arguments, options);
  } catch (const device::host::KernelFault& again) {
    if (again.exact()) return again;
  } catch (const Error&) {
    // What is known is all there is to say.
  }
  return fault;
}

}  // namespace mneme::hostgpu
