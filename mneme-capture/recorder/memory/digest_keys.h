// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/memory/kernels/digest.h"

namespace mneme::record::cuda {

// What a GPU needs to work out digests as base/digest.h does.
DigestKeys digest_keys();

}  // namespace mneme::record::cuda
