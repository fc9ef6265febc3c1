// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/digest_keys.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <cstring>

namespace mneme::record::cuda {

DigestKeys digest_keys() {
  unsigned char secret[XXH_SECRET_DEFAULT_SIZE];
  XXH3_generateSecret_fromSeed(secret, 0);  // what it is without a seed
  DigestKeys keys;
  const unsigned char* end = secret + sizeof secret - sizeof keys.last;  // where the last stripe's would begin
  static_assert(sizeof keys.stripes == sizeof secret);
  std::memcpy(keys.stripes, secret, sizeof keys.stripes);
  std::memcpy(keys.last, end - 7, sizeof keys.last);
  std::memcpy(keys.low, secret + 11, sizeof keys.low);
  std::memcpy(keys.high, end - 11, sizeof keys.high);
  return keys;
}

}  // namespace mneme::record::cuda
