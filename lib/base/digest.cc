// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "base/digest_avx2.h"
#include "base/error.h"

namespace mneme {
namespace {

Digest from_xxh(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string to_hex(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::byte b : bytes) {
    out += kDigits[std::to_integer<unsigned>(b) >> 4];
    out += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

std::string from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) throw Error::of("'{}' has an odd number of hexadecimal digits", hex.substr(0, 80));
  std::string out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size(); i += 2) {
    int high = digit_value(hex[i]), low = digit_value(hex[i + 1]);
    if (high < 0 || low < 0) throw Error::of("'{}' is not hexadecimal", hex.substr(0, 80));
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

std::string Digest::hex() const {
  std::byte raw[kSize];
  store(raw);
  return to_hex(raw);
}

void Digest::store(std::byte* out) const {
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<std::byte>(high >> (56 - 8 * i));
    out[8 + i] = static_cast<std::byte>(low >> (56 - 8 * i));
  }
}

Digest Digest::load(const std::byte* in) {
  Digest digest;
  for (int i = 0; i < 8; ++i) {
    digest.high = digest.high << 8 | std::to_integer<uint64_t>(in[i]);
    digest.low = digest.low << 8 | std::to_integer<uint64_t>(in[8 + i]);
  }
  return digest;
}

Digest Digest::parse(std::string_view hex) {
  if (hex.size() != 2 * kSize) throw Error::of("'{}' is not a digest of 32 hexadecimal digits", hex.substr(0, 80));
  std::string raw = from_hex(hex);
  return load(reinterpret_cast<const std::byte*>(raw.data()));
}

Digest digest_of(Bytes bytes) {
  static const bool has_avx2 = [] {
    __builtin_cpu_init();  // the recorder may be called before constructors are
    return __builtin_cpu_supports("avx2") != 0;
  }();
  return has_avx2 ? digest_with_avx2(bytes) : from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

struct DigestStream::State {
  XXH3_state_t xxh;
};

DigestStream::DigestStream() : state_(new State) { XXH3_128bits_reset(&state_->xxh); }
DigestStream::~DigestStream() = default;

void DigestStream::add(Bytes bytes) { XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size()); }

void DigestStream::add(uint64_t number) {
  std::byte raw[8];
  for (int i = 0; i < 8; ++i) raw[i] = static_cast<std::byte>(number >> (8 * i));
  add(Bytes(raw));
}

Digest DigestStream::finish() const { return from_xxh(XXH3_128bits_digest(&state_->xxh)); }

}  // namespace mneme
