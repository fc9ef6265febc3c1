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
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_u8(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Integer<unsigned char, Word8>>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_i8(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Integer<signed char, Word8>>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_u16(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Integer<unsigned short, Word16>>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_i16(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Integer<short, Word16>>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_u32(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Integer<unsigned, Word32>>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_i32(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Integer<int, Word32>>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void compare_u64(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Integer64<Word64>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void compare_i64(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Integer64<long long>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_f16(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Float16>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_f32(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Float32>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(5) void compare_f64(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Float64>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void compare_bf16(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Real<Brain16>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(5) void compare_cf32(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Complex<Float32>>(Plain(), e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void compare_cf64(const void* e, const void* r, ChunkErrors* out, double) {
  compare<Complex<Float64>>(Plain(), e, r, out);
}

MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_u8(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Integer<unsigned char, Word8>>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_i8(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Integer<signed char, Word8>>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_u16(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Integer<unsigned short, Word16>>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_i16(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Integer<short, Word16>>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_u32(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Integer<unsigned, Word32>>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_i32(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Integer<int, Word32>>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void scaled_u64(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Integer64<Word64>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void scaled_i64(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Integer64<long long>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_f16(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Float16>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_f32(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Float32>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(5) void scaled_f64(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Float64>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(8) void scaled_bf16(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Real<Brain16>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(5) void scaled_cf32(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Complex<Float32>>(Scaled{scale}, e, r, out);
}
MNEME_KERNEL MNEME_GROUPS_AT_ONCE(6) void scaled_cf64(const void* e, const void* r, ChunkErrors* out, double scale) {
  compare<Complex<Float64>>(Scaled{scale}, e, r, out);
}
