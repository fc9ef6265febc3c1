// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mma.sync and mma.sp of every type and shape, in assembly, and wmma by mma.h: random matrices, against products on the
// host. Fragments are put together on the host by the formulas of the PTX ISA. Integers and doubles of few bits are
// equal; what a tensor core rounds in its own way is close.
#include "../check.h"
// After the runtime's header.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

// How a type of elements has its bits.
struct Type {
  const char* name;
  unsigned bits;
  char kind;  // float, signed, unsigned, bits
  int fraction = 0, bias = 0;
};
constexpr Type kF64 = {"f64", 64, 'f', 52, 1023}, kF32 = {"f32", 32, 'f', 23, 127}, kTf32 = {"tf32", 32, 'f', 23, 127},
               kF16 = {"f16", 16, 'f', 10, 15}, kBf16 = {"bf16", 16, 'f', 7, 127}, kE4m3 = {"e4m3", 8, 'f', 3, 7},
               kE5m2 = {"e5m2", 8, 'f', 2, 15}, kS8 = {"s8", 8, 's'}, kU8 = {"u8", 8, 'u'}, kS4 = {"s4", 4, 's'},
               kU4 = {"u4", 4, 'u'}, kB1 = {"b1", 1, 'b'}, kS32 = {"s32", 32, 's'};

double number(const Type& type, uint64_t bits) {
  if (type.kind == 's') {
    return static_cast<double>(static_cast<int64_t>(bits << (64 - type.bits)) >> (64 - type.bits));
  }
  if (type.kind != 'f') return static_cast<double>(bits);
  uint64_t fraction = bits & ((uint64_t{1} << type.fraction) - 1);
  int exponent = static_cast<int>(bits >> type.fraction & ((uint64_t{1} << (type.bits - 1 - type.fraction)) - 1));
  double size = exponent ? std::ldexp(static_cast<double>(fraction | uint64_t{1} << type.fraction),
                                      exponent - type.bias - type.fraction)
                         : std::ldexp(static_cast<double>(fraction), 1 - type.bias - type.fraction);
  return bits >> (type.bits - 1) ? -size : size;
}

struct Matrix {
  Matrix(const Type& type, unsigned rows, unsigned columns) : type(type), columns(columns), bits(rows * columns) {}
  Matrix(const Type& type, unsigned rows, unsigned columns, Random& random) : Matrix(type, rows, columns) {
    for (uint64_t& element : bits) element = random_element(random);
  }
  uint64_t& at(unsigned row, unsigned column) { return bits[row * columns + column]; }
  double operator()(unsigned row, unsigned column) { return number(type, at(row, column)); }

  // Numbers have few bits and are near one, so that sums of singles and doubles are exact; those of 8 bits are any that
  // do not overflow halves.
  uint64_t random_element(Random& random) const {
    uint64_t any = random.bits();
    if (type.kind != 'f') return type.bits == 32 ? any & 0xffff : any & ((uint64_t{1} << type.bits) - 1);
    uint64_t sign = any >> 63, exponent = static_cast<uint64_t>(type.bias - 2) + (any & 3);
    uint64_t fraction = (any >> 8 & 3) << (type.fraction - 2);
    if ((any >> 16 & 15) == 0) exponent = fraction = 0;
    return sign << (type.bits - 1) | exponent << type.fraction | fraction;
  }

  Type type;
  unsigned columns;
  std::vector<uint64_t> bits;
};

struct Place {
  unsigned row, column;
};
Place place_in_a(unsigned bits, unsigned t, unsigned i) {
  unsigned group = t >> 2, near = bits == 64 ? 1 : 32 / bits, word = i / near;
  return {word % 2 ? group + 8 : group, t % 4 * near + i % near + word / 2 * 4 * near};
}
Place place_in_b(unsigned bits, unsigned t, unsigned i) {
  unsigned near = bits == 64 ? 1 : 32 / bits;
  return {t % 4 * near + i % near + i / near * 4 * near, t >> 2};
}
Place place_in_c(unsigned t, unsigned i) { return {(t >> 2) + (i >= 2 ? 8 : 0), t % 4 * 2 + (i & 1)}; }

// The words of all lanes.
template <class PlaceOf>
std::vector<uint32_t> fragments(Matrix& matrix, unsigned elements, PlaceOf place) {
  std::vector<uint32_t> words;
  for (unsigned t = 0; t < 32; ++t) {
    for (unsigned i = 0; i < elements; ++i) {
      Place at = place(t, i);
      uint64_t bits = matrix.at(at.row, at.column);
      unsigned shift = i * matrix.type.bits % 32;
      if (shift == 0) words.push_back(0);
      words.back() |= static_cast<uint32_t>(bits) << shift;
      if (matrix.type.bits == 64) words.push_back(static_cast<uint32_t>(bits >> 32));
    }
  }
  return words;
}

// Instructions by how many registers they have of D, A, B and C.
#define PLAIN_2112(text)                             \
  asm volatile(text " {%0,%1}, {%2}, {%3}, {%4,%5};" \
               : "=r"(d[0]), "=r"(d[1])              \
               : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]))
#define PLAIN_2212(text)                                \
  asm volatile(text " {%0,%1}, {%2,%3}, {%4}, {%5,%6};" \
               : "=r"(d[0]), "=r"(d[1])                 \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]))
#define PLAIN_2422(text)                                         \
  asm volatile(text " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};" \
               : "=r"(d[0]), "=r"(d[1])                          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]))
#define OUT4 "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
#define IN4(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
#define PLAIN_4214(text) \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" : OUT4 : "r"(a[0]), "r"(a[1]), "r"(b[0]), IN4(c))
#define PLAIN_4424(text)                                                         \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" \
               : OUT4                                                            \
               : IN4(a), "r"(b[0]), "r"(b[1]), IN4(c))
#define SPARSE_2222(text)                                          \
  asm volatile(text " {%0,%1}, {%2,%3}, {%4,%5}, {%6,%7}, %8, %9;" \
               : "=r"(d[0]), "=r"(d[1])                            \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(e), "n"(kSelector))
#define SPARSE_4224(text)                                                          \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%8,%9,%10,%11}, %12, %13;" \
               : OUT4                                                              \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), IN4(c), "r"(e), "n"(kSelector))
#define SPARSE_4444(text)                                                                          \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}, %16, %17;" \
               : OUT4                                                                              \
               : IN4(a), IN4(b), IN4(c), "r"(e), "n"(kSelector))

struct Words {
  const uint32_t *a, *b, *c, *e;
  uint32_t* d;
  unsigned of_a, of_b, of_c, of_d;  // a lane's
};
template <class Instruction>
__global__ void multiply(Words all) {
  uint32_t a[4] = {}, b[4] = {}, c[4] = {}, d[4] = {};
  unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 4; ++i) {
    if (i < all.of_a) a[i] = all.a[t * all.of_a + i];
    if (i < all.of_b) b[i] = all.b[t * all.of_b + i];
    if (i < all.of_c) c[i] = all.c[t * all.of_c + i];
  }
  Instruction::run(d, a, b, c, all.e[t]);
  for (unsigned i = 0; i < 4; ++i) {
    if (i < all.of_d) all.d[t * all.of_d + i] = d[i];
  }
}

// Where a sparse A's elements are: two bits for each, of tf32 two times two, of four bits for each pair. Lanes have
// them as the figures of the PTX ISA have it, "Sparse MMA .m16n8k16 metadata layout" and its like.
struct Sparse {
  Sparse(const Type& type, unsigned depth, Random& random)
      : bits(type.bits),
        units(depth / (bits == 32  ? 1
                       : bits == 4 ? 4
                                   : 2)) {
    for (unsigned i = 0; i < 16 * units; i += 2) {
      unsigned first = bits == 32 ? random.below(2) * 2 : random.below(3);
      index.push_back(first);
      index.push_back(bits == 32 ? first + 1 : first + 1 + random.below(3 - first));
    }
  }
  unsigned column(unsigned row, unsigned k) const {
    auto of_unit = [&](unsigned unit) { return index[row * units + unit] + unit / 2 * 4; };
    return bits == 32 ? of_unit(2 * k) / 2 : bits == 4 ? of_unit(k / 2) * 2 + k % 2 : of_unit(k);
  }
  uint32_t piece(unsigned row, unsigned i) const {
    uint32_t word = 0;
    for (unsigned unit = 0; unit < 8; ++unit) word |= index[row * units + i * 8 + unit] << unit * 2;
    return word;
  }
  uint32_t word(unsigned t, unsigned selector) const {
    unsigned group = t >> 2, in_group = t % 4, pieces = units / 8;
    auto both = [](uint32_t low, uint32_t high) { return low | high << 16; };
    if (pieces == 1) return in_group == selector ? both(piece(group, 0), piece(group + 8, 0)) : 0x44444444;
    if (pieces == 2 && in_group / 2 != selector) return 0x44444444;
    if (pieces == 2 && bits >= 16) return both(piece(group, in_group % 2), piece(group + 8, in_group % 2));
    unsigned row = in_group % 2 ? group + 8 : group, first = pieces == 2 ? 0 : in_group / 2 * 2;
    return both(piece(row, first), piece(row, first + 1));
  }

  unsigned bits, units;
  std::vector<unsigned> index;
};

Random random_numbers(17);

// Whether `sum` is what a tensor core may make of `want`, the sum of numbers up to `scale`.
bool is_close(const Type& type, double sum, double want, double scale) {
  if (type.kind != 'f') return sum == static_cast<int32_t>(static_cast<int64_t>(want));
  double unit = type.bits == 16 ? 0x1p-10 : type.bits == 32 ? 0x1p-20 : 0x1p-50;
  if (type.bits == 16 && std::fabs(want) > 65000) return std::fabs(sum) > 64000;
  return std::fabs(sum - want) <= scale * unit;
}

void compare(Test& test, const std::string& what, Matrix& a, Matrix& b, Matrix& c, Matrix& d, unsigned m, bool is_and) {
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < c.columns; ++column) {
      double want = c(row, column), scale = std::fabs(want);
      for (unsigned k = 0; k < a.columns; ++k) {
        double product = a(row, k) * b(k, column);
        if (a.type.kind == 'b' && !is_and) product = a(row, k) != b(k, column);
        want += product;
        scale += std::fabs(product);
      }
      std::ostringstream text;
      text << what << ", row " << row << ", column " << column << ": " << d(row, column) << ", not " << want;
      test.expect(is_close(c.type, d(row, column), want, scale), text.str());
    }
  }
}

template <class Instruction>
void check_one(Test& test, const Type& a_type, const Type& b_type, const Type& sum, unsigned m, unsigned k,
               unsigned selector) {
  const bool sparse = std::string(Instruction::name()).find("mma.sp") == 0;
  const unsigned stored = sparse ? k / 2 : k;
  Matrix a(a_type, m, stored, random_numbers), b(b_type, k, 8, random_numbers), c(sum, m, 8, random_numbers),
      d(sum, m, 8);
  Sparse where(a_type, k, random_numbers);
  std::vector<uint32_t> indices;
  for (unsigned t = 0; t < 32; ++t) indices.push_back(sparse && m == 16 ? where.word(t, selector) : 0);
  auto of = [](const Type& type, auto place) { return [=](unsigned t, unsigned i) { return place(type.bits, t, i); }; };
  std::vector<uint32_t> in_a = fragments(a, m * stored / 32, of(a_type, place_in_a)),
                        in_b = fragments(b, k * 8 / 32, of(b_type, place_in_b)),
                        in_c = fragments(c, m * 8 / 32, place_in_c);
  auto lane = [](const std::vector<uint32_t>& words) { return static_cast<unsigned>(words.size() / 32); };
  Words words = {
      to_device(in_a), to_device(in_b), to_device(in_c), to_device(indices), device_array<uint32_t>(in_c.size()),
      lane(in_a),      lane(in_b),      lane(in_c),      lane(in_c)};
  multiply<Instruction><<<1, 32>>>(words);
  check(hipGetLastError());
  std::vector<uint32_t> out = to_host(words.d, in_c.size());
  for (unsigned t = 0; t < 32; ++t) {
    for (unsigned i = 0; i < m * 8 / 32; ++i) {
      Place at = place_in_c(t, i);
      uint32_t word = out[t * words.of_d + i * sum.bits / 32];
      d.at(at.row, at.column) = sum.bits == 16 ? word >> i % 2 * 16 & 0xffff : word;
    }
  }
  if (sparse) {
    Matrix whole(a_type, m, k);
    for (unsigned row = 0; row < m; ++row) {
      for (unsigned i = 0; i < stored; ++i) whole.at(row, where.column(row, i)) = a.at(row, i);
    }
    a = whole;
  }
  compare(test, Instruction::name(), a, b, c, d, m,
          std::string(Instruction::name()).find(".and.") != std::string::npos);
  for (const void* memory : {words.a, words.b, words.c, words.e, static_cast<const uint32_t*>(words.d)}) {
    check(hipFree(const_cast<void*>(memory)));
  }
}

#define CHECK(registers, rows, depth, of_a, of_b, of_sums, text, selector)                                             \
  {                                                                                                                    \
    struct Instruction {                                                                                               \
      static const char* name() { return text; }                                                                       \
      static __device__ void run(uint32_t (&d)[4], uint32_t (&a)[4], uint32_t (&b)[4], uint32_t (&c)[4], uint32_t e) { \
        constexpr int kSelector = selector;                                                                            \
        registers(text);                                                                                               \
      }                                                                                                                \
    };                                                                                                                 \
    check_one<Instruction>(test, of_a, of_b, of_sums, rows, depth, selector);                                          \
  }

// Each instruction; a sparse one with a selector.
#define MMA "mma.sync.aligned."
void check_floats(Test& test) {
  CHECK(PLAIN_2422, 16, 16, kF16, kF16, kF16, MMA "m16n8k16.row.col.f16.f16.f16.f16", 0)
  CHECK(PLAIN_4424, 16, 16, kF16, kF16, kF32, MMA "m16n8k16.row.col.f32.f16.f16.f32", 0)
  CHECK(PLAIN_2212, 16, 8, kF16, kF16, kF16, MMA "m16n8k8.row.col.f16.f16.f16.f16", 0)
  CHECK(PLAIN_4214, 16, 8, kF16, kF16, kF32, MMA "m16n8k8.row.col.f32.f16.f16.f32", 0)
  CHECK(PLAIN_4424, 16, 16, kBf16, kBf16, kF32, MMA "m16n8k16.row.col.f32.bf16.bf16.f32", 0)
  CHECK(PLAIN_4214, 16, 8, kBf16, kBf16, kF32, MMA "m16n8k8.row.col.f32.bf16.bf16.f32", 0)
  CHECK(PLAIN_4214, 16, 4, kTf32, kTf32, kF32, MMA "m16n8k4.row.col.f32.tf32.tf32.f32", 0)
  CHECK(PLAIN_4424, 16, 8, kTf32, kTf32, kF32, MMA "m16n8k8.row.col.f32.tf32.tf32.f32", 0)
  CHECK(PLAIN_4424, 16, 32, kE4m3, kE4m3, kF32, MMA "m16n8k32.row.col.f32.e4m3.e4m3.f32", 0)
  CHECK(PLAIN_4424, 16, 32, kE4m3, kE5m2, kF32, MMA "m16n8k32.row.col.f32.e4m3.e5m2.f32", 0)
  CHECK(PLAIN_4424, 16, 32, kE5m2, kE5m2, kF32, MMA "m16n8k32.row.col.f32.e5m2.e5m2.f32", 0)
}
void check_integers(Test& test) {
  CHECK(PLAIN_2112, 8, 16, kS8, kS8, kS32, MMA "m8n8k16.row.col.s32.s8.s8.s32", 0)
  CHECK(PLAIN_4214, 16, 16, kU8, kS8, kS32, MMA "m16n8k16.row.col.s32.u8.s8.s32", 0)
  CHECK(PLAIN_4424, 16, 32, kS8, kU8, kS32, MMA "m16n8k32.row.col.satfinite.s32.s8.u8.s32", 0)
  CHECK(PLAIN_2112, 8, 32, kS4, kS4, kS32, MMA "m8n8k32.row.col.s32.s4.s4.s32", 0)
  CHECK(PLAIN_4214, 16, 32, kU4, kS4, kS32, MMA "m16n8k32.row.col.s32.u4.s4.s32", 0)
  CHECK(PLAIN_4424, 16, 64, kS4, kU4, kS32, MMA "m16n8k64.row.col.s32.s4.u4.s32", 0)
  CHECK(PLAIN_2112, 8, 128, kB1, kB1, kS32, MMA "m8n8k128.row.col.s32.b1.b1.s32.and.popc", 0)
  CHECK(PLAIN_4214, 16, 128, kB1, kB1, kS32, MMA "m16n8k128.row.col.s32.b1.b1.s32.and.popc", 0)
  CHECK(PLAIN_4424, 16, 256, kB1, kB1, kS32, MMA "m16n8k256.row.col.s32.b1.b1.s32.and.popc", 0)
}

#define MMA_SP "mma.sp::ordered_metadata.sync.aligned."
void check_sparse(Test& test){
    CHECK(SPARSE_4224, 16, 16, kF16, kF16, kF32, MMA_SP "m16n8k16.row.col.f32.f16.f16.f32",
          2) CHECK(SPARSE_2222, 16, 16, kF16, kF16, kF16, MMA_SP "m16n8k16.row.col.f16.f16.f16.f16",
                   0) CHECK(SPARSE_4444, 16, 32, kF16, kF16, kF32, MMA_SP "m16n8k32.row.col.f32.f16.f16.f32", 1)
        CHECK(SPARSE_4444, 16, 32, kBf16, kBf16, kF32, MMA_SP "m16n8k32.row.col.f32.bf16.bf16.f32", 0)
            CHECK(SPARSE_4224, 16, 8, kTf32, kTf32, kF32, MMA_SP "m16n8k8.row.col.f32.tf32.tf32.f32", 3)
                CHECK(SPARSE_4444, 16, 16, kTf32, kTf32, kF32, MMA_SP "m16n8k16.row.col.f32.tf32.tf32.f32", 1)
                    CHECK(SPARSE_4224, 16, 32, kS8, kU8, kS32, MMA_SP "m16n8k32.row.col.s32.s8.u8.s32", 1)
                        CHECK(SPARSE_4444, 16, 64, kS8, kS8, kS32, MMA_SP "m16n8k64.row.col.s32.s8.s8.s32", 0)
                            CHECK(SPARSE_4224, 16, 64, kS4, kU4, kS32, MMA_SP "m16n8k64.row.col.s32.s4.u4.s32", 1)
                                CHECK(SPARSE_4444, 16, 128, kU4, kU4, kS32, MMA_SP "m16n8k128.row.col.s32.u4.u4.s32", 0)
                                    CHECK(SPARSE_4444, 16, 64, kE4m3, kE5m2, kF32,
                                          MMA_SP "m16n8k64.row.col.f32.e4m3.e5m2.f32", 0)}

// mma of doubles, and of halves by eight lanes each: fragments by the formulas, in the kernels.
__global__ void doubles(const double* a, const double* b, double* c) {
  unsigned t = threadIdx.x, group = t / 4, in_group = t % 4;
  double d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = c[(group + i / 2 * 8) * 8 + in_group * 2 + i % 2];
  auto left = [&](unsigned i) { return a[(group + i % 2 * 8) * 16 + in_group + i / 2 * 4]; };
  auto right = [&](unsigned i) { return b[(in_group + i * 4) * 8 + group]; };
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
      "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(left(0)), "d"(left(1)), "d"(left(2)), "d"(left(3)), "d"(left(4)), "d"(left(5)), "d"(left(6)), "d"(left(7)),
        "d"(right(0)), "d"(right(1)), "d"(right(2)), "d"(right(3)));
  for (unsigned i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + in_group * 2 + i % 2] = d[i];
}
// Four products of eight rows and columns.
__global__ void quads(const __half* a, const __half* b, float* c) {
  unsigned t = threadIdx.x, quad = t % 16 / 4, upper = t < 16 ? 0 : 4;
  __half halves[2][4];
  for (unsigned i = 0; i < 4; ++i) {
    halves[0][i] = a[(quad * 8 + t % 4 + upper) * 4 + i];
    halves[1][i] = b[(quad * 4 + i) * 8 + t % 4 + upper];
  }
  uint32_t left[2], right[2];
  memcpy(left, halves[0], sizeof left);
  memcpy(right, halves[1], sizeof right);
  float d[8];
  auto at = [&](unsigned i) { return (quad * 8 + (t & 1) + (i & 2) + upper) * 8 + (i & 4) + (t & 2) + (i & 1); };
  for (unsigned i = 0; i < 8; ++i) d[i] = c[at(i)];
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "
      "{%0,%1,%2,%3,%4,%5,%6,%7};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "r"(left[0]), "r"(left[1]), "r"(right[0]), "r"(right[1]));
  for (unsigned i = 0; i < 8; ++i) c[at(i)] = d[i];
}

// By mma.h, with elements of a fragment changed where they are.
template <class T, class Sum, class Layout, int m, int n, int k>
__global__ void by_fragments(const T* a, const T* b, Sum* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, m, n, k, T, Layout> left;
  fragment<matrix_b, m, n, k, T, Layout> right;
  fragment<accumulator, m, n, k, Sum> sum;
  constexpr bool kRows = std::is_same_v<Layout, row_major>;
  load_matrix_sync(left, a, kRows ? k : m);
  load_matrix_sync(right, b, kRows ? n : k);
  load_matrix_sync(sum, c, n, mem_row_major);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, n, mem_row_major);
}

template <class T, class Sum, class Layout, int m, int n, int k>
void check_fragments(Test& test, const char* what) {
  auto numbers = [](int count) {
    std::vector<T> values;
    for (int i = 0; i < count; ++i) values.push_back(static_cast<T>(static_cast<float>(random_numbers.between(-8, 8))));
    return values;
  };
  constexpr bool kRows = std::is_same_v<Layout, nvcuda::wmma::row_major>;
  std::vector<T> a = numbers(m * k), b = numbers(k * n);
  std::vector<Sum> c, want;
  for (int i = 0; i < m * n; ++i) c.push_back(static_cast<Sum>(static_cast<float>(random_numbers.between(-99, 99))));
  for (int i = 0; i < m * n; ++i) {
    float sum = 2 * static_cast<float>(c[i]);
    for (int j = 0; j < k; ++j) {
      float left = static_cast<float>(kRows ? a[i / n * k + j] : a[j * m + i / n]),
            right = static_cast<float>(kRows ? b[j * n + i % n] : b[i % n * k + j]);
      sum += left * right;
    }
    want.push_back(static_cast<Sum>(sum));
  }
  T *left = to_device(a), *right = to_device(b);
  Sum* sums = to_device(c);
  by_fragments<T, Sum, Layout, m, n, k><<<1, 32>>>(left, right, sums);
  check(hipGetLastError());
  auto plain = [](const std::vector<Sum>& values) {
    std::vector<float> singles;
    for (const Sum& value : values) singles.push_back(static_cast<float>(value));
    return singles;
  };
  test.equal(what, plain(to_host(sums, m * n)), plain(want));
  for (void* memory : {static_cast<void*>(left), static_cast<void*>(right), static_cast<void*>(sums)}) {
    check(hipFree(memory));
  }
}

void check_wmma(Test& test) {
  using nvcuda::wmma::col_major, nvcuda::wmma::row_major;
  check_fragments<__half, float, row_major, 16, 16, 16>(test, "wmma, rows of halves");
  check_fragments<__half, float, col_major, 32, 8, 16>(test, "wmma, columns of halves");
  check_fragments<__half, __half, row_major, 8, 32, 16>(test, "wmma, halves");
  check_fragments<__nv_bfloat16, float, col_major, 16, 16, 16>(test, "wmma, bfloat16");
  check_fragments<signed char, int, row_major, 32, 8, 16>(test, "wmma, signed");
  check_fragments<unsigned char, int, col_major, 8, 32, 16>(test, "wmma, unsigned");
  check_fragments<double, double, row_major, 8, 8, 4>(test, "wmma, doubles");
}

int main() {
  Test test("matrix_shapes");
  check_floats(test);
  check_integers(test);
  check_sparse(test);
  check_wmma(test);

  Matrix a(kF64, 16, 16, random_numbers), b(kF64, 16, 8, random_numbers), c(kF64, 16, 8, random_numbers), d = c;
  auto plain = [](Matrix& matrix, auto convert) {
    std::vector<decltype(convert(0.0))> values;
    for (size_t i = 0; i < matrix.bits.size(); ++i) values.push_back(convert(number(matrix.type, matrix.bits[i])));
    return values;
  };
  auto itself = [](double value) { return value; };
  double *left = to_device(plain(a, itself)), *right = to_device(plain(b, itself)), *sums = to_device(plain(c, itself));
  doubles<<<1, 32>>>(left, right, sums);
  std::vector<double> out = to_host(sums, 128);
  for (size_t i = 0; i < 128; ++i) memcpy(&d.bits[i], &out[i], sizeof(double));
  compare(test, "doubles", a, b, c, d, 16, false);

  std::vector<__half> rows, columns;
  std::vector<float> before, want;
  for (int i = 0; i < 128; ++i) {
    rows.push_back(__float2half(static_cast<float>(random_numbers.between(-9, 9))));
    columns.push_back(__float2half(static_cast<float>(random_numbers.between(-9, 9))));
  }
  for (int i = 0; i < 256; ++i) {
    before.push_back(static_cast<float>(random_numbers.between(-99, 99)));
    float sum = before.back();
    for (int k = 0; k < 4; ++k) {
      sum += __half2float(rows[i / 8 * 4 + k]) * __half2float(columns[(i / 64 * 4 + k) * 8 + i % 8]);
    }
    want.push_back(sum);
  }
  __half *of_rows = to_device(rows), *of_columns = to_device(columns);
  float* products = to_device(before);
  quads<<<1, 32>>>(of_rows, of_columns, products);
  test.equal("quads", to_host(products, 256), want);
  for (void* memory : {static_cast<void*>(left), static_cast<void*>(right), static_cast<void*>(sums),
                       static_cast<void*>(of_rows), static_cast<void*>(of_columns), static_cast<void*>(products)}) {
    check(hipFree(memory));
  }
  return test.finish();
}
