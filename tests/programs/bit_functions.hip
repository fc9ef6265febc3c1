// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HIP's functions on bits and integers, and AMD's instructions behind them, against plain C.
#include <algorithm>

#include "check.h"

using Word = std::uint32_t;
using Wide = std::uint64_t;
constexpr unsigned kAnswers = 43;

__device__ void answers(Word a, Word b, Word c, Wide* out) {
  int sa = static_cast<int>(a), sb = static_cast<int>(b);
  Wide wide = Wide{a} << 32 | b;
  long long swide = static_cast<long long>(wide), sother = static_cast<long long>(Wide{c} << 32 | a);
  *out++ = __popc(a);
  *out++ = __popcll(wide);
  *out++ = static_cast<Word>(__clz(sa));
  *out++ = static_cast<Word>(__clzll(swide));
  *out++ = __ffs(a);
  *out++ = __ffsll(static_cast<unsigned long long>(wide));
  *out++ = __brev(a);
  *out++ = __brevll(wide);
  *out++ = __byte_perm(a, b, c);
  *out++ = __funnelshift_l(a, b, c);
  *out++ = __funnelshift_lc(a, b, c % 80);
  *out++ = __funnelshift_r(a, b, c);
  *out++ = __funnelshift_rc(a, b, c % 80);
  *out++ = static_cast<Word>(__mul24(sa, sb));
  *out++ = static_cast<Word>(__umul24(a, b));
  *out++ = static_cast<Word>(__mulhi(sa, sb));
  *out++ = __umulhi(a, b);
  *out++ = static_cast<Wide>(__mul64hi(swide, sother));
  *out++ = __umul64hi(wide, static_cast<Wide>(sother));
  *out++ = __uhadd(a, b);
  *out++ = __urhadd(a, b);
  *out++ = __sad(sa >> 1, sb >> 1, c);  // differences are taken in an int
  *out++ = __usad(a, b, c);
  *out++ = __bitextract_u32(a, b % 16, c % 17);
  *out++ = __bitextract_u64(wide, c % 31, a % 33);
  *out++ = __bitinsert_u32(a, b, c % 16, a % 16);
  *out++ = __bitinsert_u64(wide, static_cast<Wide>(sother), c % 31, a % 33);
  // AMD's instructions
  *out++ = __builtin_amdgcn_ubfe(a, b, c);
  *out++ = static_cast<Word>(__builtin_amdgcn_sbfe(a, b, c));
  *out++ = __builtin_amdgcn_alignbit(a, b, c);
  *out++ = __builtin_amdgcn_alignbyte(a, b, c);
  *out++ = __builtin_amdgcn_perm(a, b, c & 0x0f0f0f0f);
  *out++ = __builtin_amdgcn_lerp(a, b, c);
  *out++ = __builtin_amdgcn_sad_u8(a, b, c);
  *out++ = __builtin_amdgcn_sad_hi_u8(a, b, c);
  *out++ = __builtin_amdgcn_sad_u16(a, b, c);
  *out++ = __builtin_amdgcn_msad_u8(a, b, c);
  *out++ = __builtin_amdgcn_qsad_pk_u16_u8(wide, c, wide);
  *out++ = __builtin_amdgcn_mqsad_pk_u16_u8(wide, c, wide);
  *out++ = static_cast<Word>(amd_mixed_dot(short2(static_cast<short>(a), static_cast<short>(a >> 16)),
                                           short2(static_cast<short>(b), static_cast<short>(b >> 16)),
                                           static_cast<int>(c), true));
  *out++ = static_cast<Word>(__builtin_amdgcn_sdot4(sa, sb, static_cast<int>(c), false));
  *out++ = __builtin_amdgcn_udot4(a, b, c, true);
  *out++ = static_cast<Word>(__builtin_amdgcn_sdot8(sa, sb, static_cast<int>(c), true));
}

__global__ void compute(const Word* in, Wide* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) answers(in[3 * i], in[3 * i + 1], in[3 * i + 2], out + kAnswers * i);
}

Word byte(Word x, unsigned i) { return x >> (8 * i) & 255; }
Word differ(Word x, Word y) { return x > y ? x - y : y - x; }
Word differences(Word a, Word b, bool masked) {
  Word sum = 0;
  for (unsigned i = 0; i < 4; ++i) sum += masked && !byte(b, i) ? 0 : differ(byte(a, i), byte(b, i));
  return sum;
}
Wide quad(Wide a, Word b, Wide c, bool masked) {
  Wide result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    Word sum = differences(static_cast<Word>(a >> (8 * i)), b, masked) + static_cast<Word>(c >> (16 * i) & 0xffff);
    result |= static_cast<Wide>(sum & 0xffff) << (16 * i);
  }
  return result;
}
Word reversed(Word x) {
  Word result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
  return result;
}
long long dot(Word a, Word b, unsigned bits, bool is_signed) {
  long long sum = 0, half = 1ll << (bits - 1), full = 2 * half;
  for (unsigned i = 0; i < 32; i += bits) {
    long long x = a >> i & (full - 1), y = b >> i & (full - 1);
    if (is_signed && x >= half) x -= full;
    if (is_signed && y >= half) y -= full;
    sum += x * y;
  }
  return sum;
}
Word limited(long long x) {
  return static_cast<Word>(static_cast<int>(std::clamp<long long>(x, INT32_MIN, INT32_MAX)));
}

std::vector<Wide> expected(Word a, Word b, Word c) {
  std::vector<Wide> out;
  auto add = [&](Wide x) { out.push_back(x); };
  auto word = [&](Wide x) { out.push_back(static_cast<Word>(x)); };
  int sa = static_cast<int>(a), sb = static_cast<int>(b);
  Wide wide = Wide{a} << 32 | b, both = Wide{b} << 32 | a, other = Wide{c} << 32 | a;
  auto wider = [](Wide x) { return static_cast<__int128>(static_cast<long long>(x)); };
  add(__builtin_popcount(a));
  add(__builtin_popcountll(wide));
  add(a ? __builtin_clz(a) : 32);
  add(wide ? __builtin_clzll(wide) : 64);
  add(__builtin_ffs(sa));
  add(__builtin_ffsll(static_cast<long long>(wide)));
  add(reversed(a));
  add(Wide{reversed(b)} << 32 | reversed(a));
  Word bytes = 0;
  for (unsigned i = 0; i < 4; ++i)
    bytes |= static_cast<Word>(both >> (8 * (byte(c, i / 2) >> (4 * (i % 2)) & 7)) & 255) << (8 * i);
  add(bytes);
  word(both << (c & 31) >> 32);
  word(c % 80 >= 32 ? a : both << (c % 80) >> 32);
  word(both >> (c & 31));
  word(c % 80 >= 32 ? b : both >> (c % 80));
  word(static_cast<Wide>((static_cast<long long>(sa << 8) >> 8) * (static_cast<long long>(sb << 8) >> 8)));
  word(Wide{a & 0xffffff} * (b & 0xffffff));
  word(static_cast<Wide>(static_cast<long long>(sa) * sb) >> 32);
  word(Wide{a} * b >> 32);
  add(static_cast<Wide>(wider(wide) * wider(other) >> 64));
  add(static_cast<Wide>(static_cast<unsigned __int128>(wide) * other >> 64));
  word((a + b) >> 1);
  word((a + b + 1) >> 1);
  word(static_cast<Wide>(std::abs(static_cast<long long>(sa >> 1) - (sb >> 1))) + c);
  word(differ(a, b) + c);
  word(a >> (b % 16) & ((1u << (c % 17)) - 1));
  add(wide >> (c % 31) & ((1ull << (a % 33)) - 1));
  Wide mask = (1ull << (a % 16)) - 1;
  word((a & ~(mask << (c % 16))) | ((b & mask) << (c % 16)));
  mask = (1ull << (a % 33)) - 1;
  add((wide & ~(mask << (c % 31))) | ((other & mask) << (c % 31)));
  Word from = b & 31, bits = c & 31;
  Word field = bits == 0 ? 0 : static_cast<Word>(a >> from & ((1ull << bits) - 1));
  add(field);
  unsigned kept = std::min(bits, 32 - from);
  word(bits == 0 ? 0 : static_cast<Word>(static_cast<int>(field << (32 - kept)) >> (32 - kept)));
  word(wide >> (c & 31));
  word(wide >> (8 * (c & 3)));
  bytes = 0;
  for (unsigned i = 0; i < 4; ++i) {
    Word s = byte(c & 0x0f0f0f0f, i), one = 0;
    if (s < 8)
      one = wide >> (8 * s) & 255;
    else if (s < 12)
      one = wide >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
    else
      one = s == 12 ? 0 : 255;
    bytes |= one << (8 * i);
  }
  add(bytes);
  bytes = 0;
  for (unsigned i = 0; i < 4; ++i) bytes |= (byte(a, i) + byte(b, i) + (byte(c, i) & 1)) >> 1 << (8 * i);
  add(bytes);
  word(differences(a, b, false) + c);
  word((differences(a, b, false) << 16) + c);
  word(differ(a & 0xffff, b & 0xffff) + differ(a >> 16, b >> 16) + c);
  word(differences(a, b, true) + c);
  add(quad(wide, c, wide, false));
  add(quad(wide, c, wide, true));
  add(limited(dot(a, b, 16, true) + static_cast<int>(c)));
  word(static_cast<Wide>(dot(a, b, 8, true) + static_cast<int>(c)));
  add(std::min<Wide>(static_cast<Wide>(dot(a, b, 8, false)) + c, UINT32_MAX));
  add(limited(dot(a, b, 4, true) + static_cast<int>(c)));
  return out;
}

int main() {
  Test test("bit_functions");
  constexpr Word kEdges[] = {0, 1, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff00ff, 0x7f80ff01};
  std::vector<Word> in;
  for (Word a : kEdges) {
    for (Word b : kEdges) {
      for (Word c : kEdges) in.insert(in.end(), {a, b, c});
    }
  }
  Random random(46);
  for (unsigned i = 0; i < 3 * 800; ++i) in.push_back(static_cast<Word>(random.bits() >> random.below(33)));
  unsigned n = static_cast<unsigned>(in.size() / 3);
  Word* device_in = to_device(in);
  Wide* device_out = device_array<Wide>(n * kAnswers);
  compute<<<blocks_for(n, 64), 64>>>(device_in, device_out, n);
  std::vector<Wide> got = to_host(device_out, n * kAnswers);
  for (unsigned i = 0; i < n; ++i) {
    std::vector<Wide> want = expected(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
    test.equal("answers", static_cast<unsigned>(want.size()), kAnswers);
    for (unsigned k = 0; k < kAnswers; ++k) {
      test.equal(("function " + std::to_string(k) + " of " + std::to_string(in[3 * i]) + ", " +
                  std::to_string(in[3 * i + 1]) + ", " + std::to_string(in[3 * i + 2]))
                     .c_str(),
                 got[i * kAnswers + k], want[k]);
    }
  }
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
