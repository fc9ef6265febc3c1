// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for AVX2.
#include "base/digest_avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mneme {

Digest digest_with_avx2(Bytes bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace mneme
