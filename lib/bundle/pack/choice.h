// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <zstd.h>

#include <vector>

#include "bundle/pack/encoder.h"

namespace mneme::bundle {

// A way to use zstd.
struct Setting {
  int level = 1;
  bool literals = true;  // entropy-coded, too
};
// Compresses in one go; the frame's size. Throws Error.
size_t compress(ZSTD_CCtx* context, const Setting& setting, Bytes in, std::span<std::byte> out);

// What makes a pack small and quick to write, found by trying it on samples: sets the entries' strides, drops bases
// that do not help, and says the setting for the whole. Depends on nothing but the contents.
Setting choose_encodings(std::vector<PackEntry>& entries, const PackSource& contents, ZSTD_CCtx* context);

// The setting for blocks that are encoded already, of which `encoded` has one after another.
Setting choose_setting(std::span<const PackEntry> entries, Bytes encoded, ZSTD_CCtx* context);

}  // namespace mneme::bundle
