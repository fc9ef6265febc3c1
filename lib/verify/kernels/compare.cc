// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The comparison kernels, one for each element type; chunk.h says what they find out. Elements are aligned to their
// words. With MNEME_WORK_ITEM_PER_CHUNK defined they are for a CPU, else for GPUs: alone.h, together.h.
#ifdef MNEME_WORK_ITEM_PER_CHUNK
#include "alone.h"
#else
#include "together.h"
#endif

// By the names of element types (verify/element_type.h).
using namespace mneme::verify;
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_u8(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Integer<unsigned char, Word8>>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_i8(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Integer<signed char, Word8>>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_u16(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Integer<unsigned short, Word16>>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_i16(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Integer<short, Word16>>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_u32(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Integer<unsigned, Word32>>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_i32(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Integer<int, Word32>>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void compare_u64(const void* e, const void* r, ChunkErrors* out) {
  compare<Integer64<Word64>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void compare_i64(const void* e, const void* r, ChunkErrors* out) {
  compare<Integer64<long long>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_f16(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Float16>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_f32(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Float32>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(5) void compare_f64(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Float64>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_bf16(const void* e, const void* r, ChunkErrors* out) {
  compare<Real<Brain16>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(5) void compare_cf32(const void* e, const void* r, ChunkErrors* out) {
  compare<Complex<Float32>>(e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void compare_cf64(const void* e, const void* r, ChunkErrors* out) {
  compare<Complex<Float64>>(e, r, out);
}
