// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Part of the driver that is played (lib/device/cuda/testdata): the comparison kernels, by plain C++.
#include "device/cuda/driver.h"
#include "verify/element_kernel.h"
#include "verify/kernels/code_pack.h"

namespace mneme::device::cuda {

bool fake_comparison(const std::string& kernel, Address expected, Address memory, Address out, double scale,
                     unsigned chunks);
bool fits_comparison(unsigned block_x, unsigned block_y);

bool fake_comparison(const std::string& kernel, Address expected, Address memory, Address out, double scale,
                     unsigned chunks) {
  for (size_t i = 0; i < verify::kElementTypes; i++) {
    auto type = static_cast<verify::ElementType>(i);
    bool scaled = kernel == verify::comparison_kernel_name(type, true);
    if (!scaled && kernel != verify::comparison_kernel_name(type, false)) continue;
    verify::Measure measure = scaled ? verify::Measure(scale) : verify::kPlainMeasure;
    verify::plain_element_kernel().compare(type, measure, reinterpret_cast<const std::byte*>(expected),
                                           reinterpret_cast<const std::byte*>(memory),
                                           {reinterpret_cast<verify::ChunkErrors*>(out), chunks});
    return true;
  }
  return false;
}

bool fits_comparison(unsigned block_x, unsigned block_y) {
  return block_x == verify::kLanes && block_y == verify::kRows;
}

}  // namespace mneme::device::cuda
