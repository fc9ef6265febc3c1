// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/run_kernel.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/long_names.h"
#include "hostgpu/compile/kernel_code.h"
#include "hostgpu/errors.h"
#include "hostgpu/kernels/explain_fault.h"
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
  if (checks_memory()) {
    table = known_memory(kernel.code()->globals());
    options.memory = table.live;
    options.freed = table.released;
  }
  try {
    device::host::run_grid(kernel.code_for(block), grid, block, shared_bytes, arguments, options);
  } catch (const device::host::KernelFault& fault) {
    auto explained = explain_fault({kernel, grid, block, shared_bytes, arguments, options}, fault);
    throw HipError(code_of(explained, kernel), shortened(explained.what()));
  } catch (const Error& error) {
    throw HipError(hipErrorLaunchFailure, shortened(error.what()));
  }
}

// What the device's memory holds, to be put back. More than that much is not kept.
class MemoryBefore {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  explicit MemoryBefore(const Kernel& kernel) {
    const MemoryTable table = known_memory(kernel.code()->globals());
    uint64_t bytes = 0;
    for (const device::host::KnownMemory& memory : table.live) bytes += memory.size;
    is_kept_ = bytes <= kMostBytes;
    if (!is_kept_) return;
    for (const device::host::KnownMemory& memory : table.live) {
      const auto* bytes = reinterpret_cast<const std::byte*>(memory.address);
      copies_.emplace_back(memory.address, std::vector<std::byte>(bytes, bytes + memory.size));
    }
  }
  bool is_kept() const { return is_kept_; }
  void put_back() const {
    for (const auto& [address, bytes] : copies_) {
      std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
    }
  }

 private:
  bool is_kept_ = false;
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> copies_;
};

}  // namespace

// A variant that fails mostly fails the first time: then the application's own code runs on the memory as it was. Later
// ones fail as the application's own would.
void run_kernel(Kernel& kernel, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes arguments) {
  if (!kernel.original || kernel.proven) return run_alone(kernel, grid, block, shared_bytes, arguments);
  if (!kernel.failed) {
    const MemoryBefore before(kernel);
    try {
      run_alone(kernel, grid, block, shared_bytes, arguments);
      kernel.proven = true;
      return;
    } catch (const HipError& error) {
      if (!before.is_kept()) throw;
      before.put_back();
      if (!kernel.failed.exchange(true)) {
        say(fmt::format("a variant fails, and the application's own code runs in its place: {}", error.what()));
      }
    }
  }
  run_alone(*kernel.original, grid, block, shared_bytes, arguments);
}

}  // namespace mneme::hostgpu
