// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/run_kernel.h"

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/long_names.h"
#include "device/host/checks/findings.h"
#include "hostgpu/compile/kernel_code.h"
#include "hostgpu/errors.h"
#include "hostgpu/kernels/explain_fault.h"
#include "hostgpu/kernels/findings.h"
#include "hostgpu/memory/device_heap.h"
#include "hostgpu/memory/known_memory.h"

namespace mneme::hostgpu {
namespace {

bool poisons_shared_memory() {
  static const bool poisons = [] {
    const char* value = std::getenv("MNEME_HOST_POISON");
    return value && *value && *value != '0';
  }();
  return poisons;
}

// As the vendors' hardware has it: AMD's tells of assertions no more than of a trap.
hipError_t code_of(const device::host::KernelFault& fault, const Kernel& kernel) {
  constexpr auto kMisalignedAddress = static_cast<hipError_t>(716);  // HIP has no name for it
  bool is_cuda = kernel.info().target.starts_with("nvptx");
  if (fault.kind() == codegen::host::kAssertionFailed && is_cuda) return hipErrorAssert;
  if (fault.kind() == codegen::host::kMisaligned && is_cuda) return kMisalignedAddress;
  return fault.address() ? hipErrorIllegalAddress : hipErrorLaunchFailure;
}

// On the application's own streams, so that its messages and the kernel's come in order; all out when the launch ends.
class Printer {
 public:
  ~Printer() {
    if (wrote_) std::fflush(stdout);
  }
  void print(int stream, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream == 2 ? stderr : stdout);
    wrote_ = true;
  }

 private:
  bool wrote_ = false;
};

std::atomic<int> waiting{0};

}  // namespace

int waiting_kernels() { return waiting.load(); }

namespace {

void run_alone(const Kernel& kernel, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments) {
  Printer printer;
  device::host::RunOptions options;
  options.print = [&printer](int stream, std::string_view text) { printer.print(stream, text); };
  options.heap = device_heap();
  options.poison_shared = poisons_shared_memory();
  auto shortened = [&kernel](const std::string& sentence) {
    return with_short_name(sentence, kernel.info().demangled);
  };
  options.warn = [&](const std::string& sentence) { say(shortened(sentence)); };
  options.waiting = &waiting;
  MemoryTable table;
  device::host::Findings findings;
  if (!wanted_checks().empty()) options.findings = &findings;
  if (checks_memory() || options.findings) {
    table = known_memory(kernel.code()->globals());
    options.memory = table.live;
    options.freed = table.released;
  }
  try {
    device::host::run_grid(kernel.code_for(block), grid, block, shared_bytes, arguments, options);
    say_findings(kernel.info().demangled, findings.list());
  } catch (const device::host::KernelFault& fault) {
    say_findings(kernel.info().demangled, findings.list());
    auto explained = explain_fault({kernel, grid, block, shared_bytes, arguments, options}, fault);
    throw HipError(code_of(explained, kernel), shortened(explained.what()));
  } catch (const Error& error) {
    throw HipError(hipErrorLaunchFailure, shortened(error.what()));
  }
}

// Of the thread itself: not those in which others had its core.
uint64_t own_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Where it fails, the application's own code runs on the memory as it was. A kernel that fails either way is the
// application's business.
void run_variant(const Kernel& kernel, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments) {
  Variant& variant = *kernel.variant;
  auto run_own = [&] { run_alone(variant.original, grid, block, shared_bytes, arguments); };
  if (variant.is_out) {
    run_own();
    return variant.failed(true, {});
  }
  const bool keeps = variant.cost.allows();
  const uint64_t before = keeps ? own_nanoseconds() : 0;
  const KeptMemory kept(kernel, arguments, keeps);
  const uint64_t kept_ns = keeps ? own_nanoseconds() - before : 0;
  const auto start = std::chrono::steady_clock::now();
  try {
    run_alone(kernel, grid, block, shared_bytes, arguments);
    const std::chrono::nanoseconds ran = std::chrono::steady_clock::now() - start;
    variant.cost.add(kept_ns, static_cast<uint64_t>(ran.count()));
  } catch (const HipError& error) {
    const std::string fault = error.what();
    if (const std::string why = kept.why_not(); !why.empty()) {
      variant.is_out = true;
      variant.failed(false, fmt::format("{}; the launch fails, because the memory that it may write cannot be put "
                                        "back: {}",
                                        fault, why));
      throw;
    }
    kept.put_back();
    run_own();
    variant.is_out = true;
    variant.failed(true, fault);
  }
}

}  // namespace

void run_kernel(Kernel& kernel, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments) {
  if (kernel.variant) return run_variant(kernel, grid, block, shared_bytes, arguments);
  run_alone(kernel, grid, block, shared_bytes, arguments);
}

}  // namespace mneme::hostgpu
