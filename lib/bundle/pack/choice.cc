// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define ZSTD_STATIC_LINKING_ONLY  // for ZSTD_c_literalCompressionMode
#include "bundle/pack/choice.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "bundle/pack/planes.h"

namespace mneme::bundle {
namespace {

constexpr size_t kGroup = 32;         // blocks that share a choice
constexpr size_t kSample = 16 << 10;  // bytes of one of them that are tried
constexpr size_t kFrom = (kBlockSize - kSample) / 2;
constexpr size_t kRepetitive = 8;  // a sample that shrinks to one of so many parts is left as it is

// From the quickest to the most general: bytes in planes, where exponents repeat and digits are noise that is best left
// alone; noise whose bytes are not all equally frequent; anything else. For a pack, the most general of its groups'
// serves.
enum Way { kPlanes, kNoise, kAny };
constexpr Setting kSettings[] = {{-1, false}, {-6, true}, {1, true}};

struct Encoding {
  Way way = kAny;
  bool base = false;
  uint32_t stride = 0;
};

class Chooser {
 public:
  Chooser(const PackSource& contents, ZSTD_CCtx* context) : contents_(contents), context_(context) {}

  Encoding choose(size_t index, bool has_base) {
    Bytes block = contents_(index, false).subspan(kFrom, kSample);
    std::copy(block.begin(), block.end(), sample_.begin());
    best_ = {};
    least_ = SIZE_MAX;
    try_all(false);
    if (has_base) {
      xor_bytes(sample_.data(), contents_(index, true).data() + kFrom, sample_.data(), kSample);
      try_all(true);
    }
    return best_;
  }

 private:
  // Ties go to the later, which is the quicker one; the more so as the quick ways do better on a whole pack than on a
  // sample, whose few repetitions count for more.
  void try_one(Way way, bool base, uint32_t stride) {
    if (stride) split_planes(sample_.data(), planes_.data(), kSample, stride);
    size_t size = compress(context_, kSettings[way], stride ? planes_ : sample_, out_);
    size_t credit = way == kNoise ? size / 64 : 0;
    if (size - credit > least_ || (size == least_ && base != best_.base)) return;
    least_ = std::min(size, least_);
    best_ = {way, base, stride};
  }

  void try_all(bool base) {
    try_one(kAny, base, 0);
    if (least_ * kRepetitive < kSample) return;
    try_one(kNoise, base, 0);
    try_one(kPlanes, base, 8);
    try_one(kPlanes, base, 4);
  }

  const PackSource& contents_;
  ZSTD_CCtx* context_;
  std::array<std::byte, kSample> sample_, planes_;
  std::array<std::byte, kSample + 1024> out_;
  Encoding best_;
  size_t least_ = 0;
};

void check(size_t status) {
  if (ZSTD_isError(status)) throw Error::of("cannot compress blocks: {}", ZSTD_getErrorName(status));
}

}  // namespace

size_t compress(ZSTD_CCtx* context, const Setting& setting, Bytes in, std::span<std::byte> out) {
  check(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, setting.level));
  check(ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode,
                               setting.literals ? ZSTD_ps_enable : ZSTD_ps_disable));
  size_t size = ZSTD_compress2(context, out.data(), out.size(), in.data(), in.size());
  check(size);
  return size;
}

Setting choose_encodings(std::vector<PackEntry>& entries, const PackSource& contents, ZSTD_CCtx* context) {
  Chooser chooser(contents, context);
  Way way = kPlanes;
  for (size_t from = 0; from < entries.size(); from += kGroup) {
    size_t to = std::min(from + kGroup, entries.size());
    // Blocks with a base and blocks without one are alike only among themselves.
    for (bool with_base : {false, true}) {
      std::vector<size_t> alike;
      for (size_t i = from; i < to; ++i) {
        if (entries[i].base.empty() != with_base) alike.push_back(i);
      }
      if (alike.empty()) continue;
      Encoding choice = chooser.choose(alike[alike.size() / 2], with_base);
      for (size_t i : alike) {
        entries[i].stride = choice.stride;
        if (!choice.base) entries[i].base = {};
      }
      way = std::max(way, choice.way);
    }
  }
  return kSettings[way];
}

Setting choose_setting(std::span<const PackEntry> entries, Bytes encoded, ZSTD_CCtx* context) {
  std::array<std::byte, kSample + 1024> out;
  Way way = kPlanes;
  for (size_t from = 0; from < entries.size(); from += kGroup) {
    std::vector<size_t> plain;
    for (size_t i = from; i < std::min(from + kGroup, entries.size()); ++i) {
      if (entries[i].stride == 0) plain.push_back(i);
    }
    if (plain.empty()) continue;
    // A block whose bytes stand as they are has its sample where Chooser looked for it.
    Bytes sample = encoded.subspan(plain[plain.size() / 2] * kBlockSize + kFrom, kSample);
    size_t general = compress(context, kSettings[kAny], sample, out);
    bool repetitive = general * kRepetitive < kSample;
    size_t noise = repetitive ? SIZE_MAX : compress(context, kSettings[kNoise], sample, out);
    way = std::max(way, noise - noise / 64 <= general ? kNoise : kAny);
  }
  return kSettings[way];
}

}  // namespace mneme::bundle
