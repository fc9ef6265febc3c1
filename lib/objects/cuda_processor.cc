// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/cuda_processor.h"

#include <charconv>
#include <string>

namespace mneme::objects {

CudaProcessor cuda_processor(std::string_view text) {
  constexpr std::string_view kPrefix = "sm_";
  const size_t at = text.rfind(kPrefix);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kPrefix.size());
  unsigned number = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return {};
  return {number, end < text.data() + text.size() ? *end : '\0'};
}

bool runs_on(const CudaProcessor& cubin, const CudaProcessor& device) {
  if (cubin.kind == 'a') return cubin.number == device.number;
  return cubin.generation() == device.generation() && cubin.number <= device.number;
}

bool compiles_for(const CudaProcessor& ptx, const CudaProcessor& device) {
  if (ptx.kind == 'a') return ptx.number == device.number;
  if (ptx.kind == 'f') return runs_on(ptx, device);
  return ptx.number <= device.number;
}

}  // namespace mneme::objects
