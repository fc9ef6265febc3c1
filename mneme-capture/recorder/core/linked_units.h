// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "objects/embedded.h"

namespace mneme::record {

// nvlink makes one cubin of relocatable units (nvcc -rdc=true), and leaves their PTX in another section of the program
// or library. The PTX of those units, linked, of the program or library that a fat binary in memory is part of, left
// packed; its target is empty where there is none.
objects::DeviceCode ptx_of_linked_units(const std::byte* fatbin);

}  // namespace mneme::record
