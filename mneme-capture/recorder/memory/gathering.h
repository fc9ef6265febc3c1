// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <span>
#include <vector>

#include "recorder/link/protocol.h"

namespace mneme::record {

// The blocks that the pieces are made of, where a kernel brings them sooner than copies do: many that are small, which
// would be a call each. Else none.
std::vector<uint64_t> blocks_to_gather(std::span<const Piece> pieces);

}  // namespace mneme::record
