// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/translation.h"

#include "base/error.h"
#include "device/cuda/block_kernels.h"
#include "device/cuda/kernels/blocks.h"

namespace mneme::device::cuda {

static_assert(sizeof(Way) == sizeof(Moves::Way) && offsetof(Way, target) == offsetof(Moves::Way, target));

void Translation::translate(const std::vector<Moves::Way>& ways) const {
  if (ways.empty()) return;
  static Function* const kernel = block_kernel("translate");
  DeviceMemory table(ways.size() * sizeof(Way));
  if (!table.address()) throw Error("the GPU has no memory left to translate addresses of variables");
  check(driver().cuMemcpyHtoD_v2(table.address(), ways.data(), ways.size() * sizeof(Way)), "translating addresses");
  for (auto [begin, end] : ranges_) {
    Address words = begin, entries = table.address();
    auto count = static_cast<unsigned>(ways.size());
    void* arguments[] = {&words, &entries, &count};
    check(driver().cuLaunchKernel(kernel, static_cast<unsigned>((end - begin) / kBytes), 1, 1, kThreads, 1, 1, 0,
                                  nullptr, arguments, nullptr),
          "translating addresses");
  }
  check(driver().cuCtxSynchronize(), "translating addresses");
}

}  // namespace mneme::device::cuda
