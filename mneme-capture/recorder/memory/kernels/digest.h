// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The digest of a block of memory (base/digest.h: XXH3-128) in kParts parts, which a GPU's threads work out beside each
// other. For kernels and for C++ alike: no header of either.
//
// XXH3 adds up eight numbers over stripes of 64 bytes, mixes them after every sixteen, and at the end multiplies them
// two by two: a part is two of them.
#pragma once

#ifdef __CUDA__
#define MNEME_BOTH __attribute__((host, device))
#else
#define MNEME_BOTH
#endif

namespace mneme::record::cuda {

using Word = unsigned long long;

inline constexpr unsigned kParts = 4;
inline constexpr unsigned kDigestThreads = 128;  // of a thread block, which has kParts for each block of memory
inline constexpr unsigned kStripe = 8;           // words
inline constexpr unsigned kStripesAtOnce = 16;
inline constexpr unsigned kDigestedWords = (64 << 10) / sizeof(Word);

// Words of XXH3's secret, from where the algorithm reads them.
struct DigestKeys {
  Word stripes[kStripesAtOnce + kStripe];  // from 0 on; the last are for mixing
  Word last[kStripe];                      // for the stripe that ends the block
  Word low[kStripe], high[kStripe];        // for the end
};

struct DigestPart {
  Word low, high;
};

inline constexpr Word kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                      kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5;
inline constexpr Word kShort1 = 0x9E3779B1, kShort2 = 0x85EBCA77, kShort3 = 0xC2B2AE3D;

MNEME_BOTH inline Word product_of_halves(Word word) { return (word & 0xFFFFFFFF) * (word >> 32); }

MNEME_BOTH inline Word folded_product(Word a, Word b) {
  unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<Word>(product) ^ static_cast<Word>(product >> 64);
}

MNEME_BOTH inline Word mixed(Word number, Word key) { return (number ^ (number >> 47) ^ key) * kShort1; }

// `part`: less than kParts. `block`: kDigestedWords words.
MNEME_BOTH inline DigestPart part_of_digest(const Word* block, unsigned part, const DigestKeys& keys) {
  using Pair = Word __attribute__((ext_vector_type(2)));
  const unsigned lane = 2 * part;
  const auto* words = reinterpret_cast<const Pair*>(block + lane);
  constexpr unsigned kNext = kStripe / 2;  // pairs
  Word first = part == 0 ? kShort3 : part == 1 ? kPrime2 : part == 2 ? kPrime4 : kPrime5;
  Word second = part == 0 ? kPrime1 : part == 1 ? kPrime3 : part == 2 ? kShort2 : kShort1;
  Word key[kStripesAtOnce + 2];
  for (unsigned i = 0; i < kStripesAtOnce + 2; i++) key[i] = keys.stripes[lane + i];

  constexpr unsigned kStripes = kDigestedWords / kStripe;
  for (unsigned begin = 0; begin < kStripes; begin += kStripesAtOnce) {
    const bool ends = begin + kStripesAtOnce == kStripes;
#pragma unroll
    for (unsigned i = 0; i < kStripesAtOnce; i++) {
      Pair pair = words[(begin + i) * kNext];
      bool last = ends && i + 1 == kStripesAtOnce;
      first += pair.y + product_of_halves(pair.x ^ (last ? keys.last[lane] : key[i]));
      second += pair.x + product_of_halves(pair.y ^ (last ? keys.last[lane + 1] : key[i + 1]));
    }
    if (!ends) {
      first = mixed(first, key[kStripesAtOnce]);
      second = mixed(second, key[kStripesAtOnce + 1]);
    }
  }
  return {folded_product(first ^ keys.low[lane], second ^ keys.low[lane + 1]),
          folded_product(first ^ keys.high[lane], second ^ keys.high[lane + 1])};
}

MNEME_BOTH inline Word avalanche(Word hash) {
  hash = (hash ^ (hash >> 37)) * 0x165667919E3779F9;
  return hash ^ (hash >> 32);
}

// Of a block, given the sums of its parts.
MNEME_BOTH inline DigestPart digest_of_parts(DigestPart sum) {
  constexpr Word kBytes = Word{kDigestedWords} * sizeof(Word);
  return {avalanche(kBytes * kPrime1 + sum.low), avalanche(~(kBytes * kPrime2) + sum.high)};
}

}  // namespace mneme::record::cuda
