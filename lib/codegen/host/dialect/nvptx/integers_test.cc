// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic and bits of CUDA's kernels against C++'s, and what the PTX ISA says.
#include <algorithm>
#include <bit>

#include "codegen/host/dialect/nvptx/operations.h"

namespace mneme::codegen::host {
namespace {

TEST(NvptxIntegers, IntrinsicsAndTheirKind) {
  std::vector<uint32_t> values = {0,          1,          2,          31,         32,         33,         0x7fffffff,
                                  0x80000000, 0xffffffff, 0x12345678, 0xdeadbeef, 0xff00ff00, 0x00ffffff, 0x01000001,
                                  8,          255,        0x7654,     0x3210,     0xfedc,     40};
  auto s = [](uint32_t x) { return static_cast<int32_t>(x); };
  Operations<uint32_t, uint32_t, uint32_t> two;
  two.add("@llvm.nvvm.mulhi.ui", [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); });
  two.add("@llvm.nvvm.mulhi.i",
          [=](uint32_t a, uint32_t b) { return static_cast<uint32_t>(int64_t{s(a)} * s(b) >> 32); });
  two.add("@llvm.nvvm.mul24.i",
          [=](uint32_t a, uint32_t b) { return static_cast<uint32_t>(int64_t{s(a << 8) >> 8} * (s(b << 8) >> 8)); });
  two.add("@llvm.nvvm.mul24.ui", [](uint32_t a, uint32_t b) { return (a & 0xffffff) * (b & 0xffffff); });
  two.add("asm \"shl.b32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) { return b < 32 ? a << b : 0; });
  two.add("asm \"shr.u32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) { return b < 32 ? a >> b : 0; });
  two.add("asm \"shr.s32 $0, $1, $2;\", \"=r,r,r\"",
          [=](uint32_t a, uint32_t b) { return static_cast<uint32_t>(s(a) >> std::min(b, 31u)); });
  two.add("asm \"add.sat.s32 $0, $1, $2;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(std::clamp<int64_t>(int64_t{s(a)} + s(b), INT32_MIN, INT32_MAX));
  });
  two.add(
      "asm \"{ .reg .pred p, q; setp.lt.s32 p|q, $1, $2; selp.b32 $0, $1, $2, q; @!q add.u32 $0, $0, 5; }\", "
      "\"=&r,r,r\"",
      [=](uint32_t a, uint32_t b) { return s(a) < s(b) ? b + 5 : a; });
  two.add("asm \"{ .reg .b64 w; mov.b64 w, {$1, $2}; shr.u64 w, w, 8; cvt.u32.u64 $0, w; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) { return a >> 8 | b << 24; });
  two.add(
      "asm \"{ .reg .u64 w; .reg .b32 lo, hi; mul.wide.u32 w, $1, $2; mov.b64 {lo, hi}, w; xor.b32 $0, lo, hi; }\", "
      "\"=r,r,r\"",
      [](uint32_t a, uint32_t b) {
        uint64_t w = uint64_t{a} * b;
        return static_cast<uint32_t>(w) ^ static_cast<uint32_t>(w >> 32);
      });
  // A sum of 64 bits out of two of 32, as programs with long numbers have it.
  two.add("asm \"{ .reg .u32 t; add.cc.u32 t, $1, $2; addc.u32 $0, $1, 7; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) { return a + 7 + static_cast<uint32_t>((uint64_t{a} + b) >> 32); });
  two.add("asm \"{ .reg .u32 t; sub.cc.u32 t, $1, $2; subc.u32 $0, $1, 7; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) { return a - 7 - (a < b); });
  two.add("asm \"{ .reg .u32 t; mad.lo.cc.u32 t, $1, $2, $2; madc.hi.u32 $0, $1, $2, 1; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) {
            uint64_t carry = (uint64_t{a * b} + b) >> 32;
            return static_cast<uint32_t>((uint64_t{a} * b >> 32) + 1 + carry);
          });
  two.add("asm \"bfind.u32 $0, $1;\", \"=r,r,r\"",
          [](uint32_t a, uint32_t) { return a ? 31u - static_cast<uint32_t>(std::countl_zero(a)) : ~0u; });
  two.add("asm \"bfind.shiftamt.s32 $0, $1;\", \"=r,r,r\"", [=](uint32_t a, uint32_t) {
    uint32_t x = s(a) < 0 ? ~a : a;
    return x ? static_cast<uint32_t>(std::countl_zero(x)) : ~0u;
  });
  two.add("asm \"bmsk.clamp.b32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) {
    uint32_t mask = 0;
    for (uint64_t i = a; i < uint64_t{a} + b && i < 32; ++i) mask |= 1u << i;
    return mask;
  });
  two.add("asm \"szext.wrap.s32 $0, $1, $2;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    uint32_t n = b & 31;
    return n == 0 ? 0 : static_cast<uint32_t>(s(a << (32 - n)) >> (32 - n));
  });
  two.add("asm \"szext.clamp.u32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) {
    return b == 0 ? 0 : b >= 32 ? a : a & (~0u >> (32 - b));
  });
  two.add("asm \"slct.u32.s32 $0, $1, 3, $2;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) { return s(b) >= 0 ? a : 3; });
  two.add("asm \"set.gt.s32.u32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) { return a > b ? ~0u : 0; });
  auto parts = [](uint32_t a, uint32_t b, unsigned size, bool is_signed, auto operation) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 32; i += size) {
      auto part = [&](uint32_t x) {
        uint32_t up = x >> i << (32 - size);
        return is_signed ? static_cast<int32_t>(up) >> (32 - size) : static_cast<int32_t>(up >> (32 - size));
      };
      result |= (static_cast<uint32_t>(operation(part(a), part(b))) & (~0u >> (32 - size))) << i;
    }
    return result;
  };
  two.add("asm \"vadd2.s32.s32.s32.sat $0, $1, $2, 0;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    return parts(a, b, 16, true, [](int x, int y) { return std::clamp(x + y, -32768, 32767); });
  });
  two.add("asm \"vsub4.u32.u32.u32.sat $0, $1, $2, 0;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    return parts(a, b, 8, false, [](int x, int y) { return std::clamp(x - y, 0, 255); });
  });
  two.add("asm \"vset4.s32.s32.lt $0, $1, $2, 0;\", \"=r,r,r\"",
          [=](uint32_t a, uint32_t b) { return parts(a, b, 8, true, [](int x, int y) { return x < y; }); });
  two.add("asm \"vavrg4.u32.u32.u32 $0, $1, $2, 0;\", \"=r,r,r\"",
          [=](uint32_t a, uint32_t b) { return parts(a, b, 8, false, [](int x, int y) { return (x + y + 1) / 2; }); });
  two.add("asm \"vabsdiff4.u32.u32.u32.add $0, $1, $2, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) {
    uint32_t sum = b;
    for (int i = 0; i < 32; i += 8) {
      sum += static_cast<uint32_t>(std::abs(static_cast<int>(a >> i & 255) - static_cast<int>(b >> i & 255)));
    }
    return sum;
  });
  two.check(pairs(values));

  Operations<uint32_t, uint32_t, uint32_t, uint32_t> three;
  auto byte_at = [](uint32_t a, uint32_t b, uint32_t i) {
    return static_cast<uint8_t>((uint64_t{b} << 32 | a) >> (8 * (i & 7)));
  };
  auto bytes = [](auto byte) {
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i) result |= uint32_t{byte(i)} << 8 * i;
    return result;
  };
  three.add("@llvm.nvvm.prmt", [=](uint32_t a, uint32_t b, uint32_t c) {
    return bytes([&](uint32_t i) -> uint8_t {
      uint32_t selector = c >> 4 * i & 15;
      uint8_t byte = byte_at(a, b, selector);
      return selector & 8 ? (byte & 0x80 ? 255 : 0) : byte;
    });
  });
  // The tables of the PTX ISA, from the highest byte to the lowest.
  struct Permutation {
    const char* mode;
    uint32_t selectors[4];
  };
  for (Permutation with : {Permutation{"f4e", {0x3210, 0x4321, 0x5432, 0x6543}},
                           {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
                           {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}},
                           {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
                           {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}},
                           {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}}}) {
    three.add(std::string("asm \"prmt.b32.") + with.mode + " $0, $1, $2, $3;\", \"=r,r,r,r\"",
              [=](uint32_t a, uint32_t b, uint32_t c) {
                return bytes([&](uint32_t i) { return byte_at(a, b, with.selectors[c & 3] >> 4 * i & 7); });
              });
  }
  three.add("@llvm.nvvm.sad.i", [=](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>(std::abs(int64_t{s(a)} - s(b))) + c;
  });
  three.add("@llvm.nvvm.sad.ui", [](uint32_t a, uint32_t b, uint32_t c) { return (a > b ? a - b : b - a) + c; });
  three.add("@llvm.nvvm.fns", [](uint32_t mask, uint32_t base, uint32_t offset) {
    // As CUDA's programming guide describes __fns.
    int n = static_cast<int32_t>(offset), found = 0;
    if (base > 31) return ~0u;
    if (n == 0) return mask >> base & 1 ? base : ~0u;
    for (int i = static_cast<int>(base); n > 0 ? i < 32 : i >= 0; i += n > 0 ? 1 : -1) {
      found += mask >> i & 1;
      if (int64_t{found} == std::abs(int64_t{n})) return static_cast<uint32_t>(i);
    }
    return ~0u;
  });
  auto field = [=](uint32_t a, uint32_t position, uint32_t length, bool is_signed) {
    // The pseudocode of bfe in the PTX ISA.
    uint32_t result = 0, pos = position & 255, len = length & 255;
    bool sign = !is_signed || len == 0 ? false : a >> std::min(pos + len - 1, 31u) & 1;
    for (uint32_t i = 0; i < 32; ++i) {
      bool bit = i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sign;
      result |= static_cast<uint32_t>(bit) << i;
    }
    return result;
  };
  three.add("asm \"bfe.u32 $0, $1, $2, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) { return field(a, b, c, false); });
  three.add("asm \"bfe.s32 $0, $1, $2, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) { return field(a, b, c, true); });
  three.add("asm \"bfi.b32 $0, $1, $2, $3, 9;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t pos = c & 255;
    for (uint32_t i = 0; i < 9 && pos + i <= 31; ++i) {
      b = (b & ~(1u << (pos + i))) | (a >> i & 1) << (pos + i);
    }
    return b;
  });
  three.add("asm \"lop3.b32 $0, $1, $2, $3, 0xE8;\", \"=r,r,r,r\"",
            [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (a & c) | (b & c); });
  three.add("asm \"lop3.b32 $0, $1, $2, $3, 0x1A;\", \"=r,r,r,r\"",
            [](uint32_t a, uint32_t b, uint32_t c) { return ((a & b) | c) ^ a; });
  auto clamped = [](int64_t value, int64_t low, int64_t high) {
    return static_cast<uint32_t>(std::clamp(value, low, high));
  };
  auto part = [](uint32_t word, unsigned at, unsigned bits, bool is_signed) {
    auto value = static_cast<int64_t>(word >> at & ((uint64_t{1} << bits) - 1));
    return is_signed && value >> (bits - 1) ? value - (int64_t{1} << bits) : value;
  };
  three.add(
      "asm \"{ .reg .pred %p, %q; setp.ne.u32 %q, $2, 0; lop3.and.b32 $0|%p, $1, $2, $3, 0x80, %q; @%p add.u32 $0, $0, "
      "1; }\", \"=r,r,r,r\"",
      [](uint32_t a, uint32_t b, uint32_t c) { return (a & b & c) + ((a & b & c) != 0 ? 1 : 0); });
  three.add("asm \"vadd.s32.s32.s32.sat.min $0, $1, $2, $3;\", \"=r,r,r,r\"", [=](uint32_t a, uint32_t b, uint32_t c) {
    return clamped(std::min<int64_t>(std::clamp<int64_t>(int64_t{s(a)} + s(b), INT32_MIN, INT32_MAX), s(c)), INT32_MIN,
                   INT32_MAX);
  });
  three.add("asm \"vabsdiff.u32.s32.u32 $0.b2, $1.h1, $2.b0, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) {
              auto difference = static_cast<uint32_t>(std::abs(part(a, 16, 16, true) - part(b, 0, 8, false)));
              return (c & 0xff00ffff) | (difference & 255) << 16;
            });
  three.add("asm \"vmad.s32.s32.u32.sat.shr7 $0, -$1.h0, $2.b3, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) {
              return clamped((-part(a, 0, 16, true) * part(b, 24, 8, false) + s(c)) >> 7, INT32_MIN, INT32_MAX);
            });
  three.add("asm \"vmad.u32.u32.u32.po $0, $1, $2, $3;\", \"=r,r,r,r\"",
            [](uint32_t a, uint32_t b, uint32_t c) { return a * b + c + 1; });
  three.add("asm \"vshr.s32.s32.u32.clamp.add $0, $1, $2.b0, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) {
              return static_cast<uint32_t>(int64_t{s(a)} >> std::min(b & 255, 32u)) + c;
            });
  three.add("asm \"vset.u32.s32.ge.max $0, $1, $2, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) { return std::max<uint32_t>(int64_t{a} >= s(b) ? 1 : 0, c); });
  three.add("asm \"vsub4.s32.u32.u32.sat $0.b31, $1.b7043, $2, $3;\", \"=r,r,r,r\"",
            [=](uint32_t, uint32_t b, uint32_t c) {
              // The parts of a and b are numbered 0 to 7, and b's come in order.
              uint32_t one = clamped(part(b, 0, 8, false) - part(b, 8, 8, false), -128, 127) & 255;
              uint32_t three_ = clamped(part(b, 24, 8, false) - part(b, 24, 8, false), -128, 127) & 255;
              return (c & 0x00ff00ff) | one << 8 | three_ << 24;
            });
  three.add("asm \"shf.l.wrap.b32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t{b} << 32 | a) << (c & 31) >> 32);
  });
  three.add("asm \"shf.r.clamp.b32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> std::min(c, 32u));
  });
  three.add("asm \"dp4a.s32.u32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 32; i += 8)
      c += static_cast<uint32_t>(static_cast<int8_t>(a >> i) * static_cast<int>(b >> i & 255));
    return c;
  });
  three.add("asm \"dp2a.hi.u32.u32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    return c + (a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24);
  });
  three.check(triples(values));
  three.check(triples(values), "default<O0>");
}

}  // namespace
}  // namespace mneme::codegen::host
