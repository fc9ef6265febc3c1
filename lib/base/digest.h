// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mneme {

using Bytes = std::span<const std::byte>;

inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// XXH3-128 of some bytes. Written as 32 hexadecimal digits; stored as 16 bytes, high half first,
// each half big-endian (XXH128's canonical form), so that the stored and written orders agree.
struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;

  static constexpr size_t kSize = 16;

  auto operator<=>(const Digest&) const = default;
  bool empty() const { return high == 0 && low == 0; }
  std::string hex() const;
  void store(std::byte* out) const;           // writes kSize bytes
  static Digest load(const std::byte* in);    // reads kSize bytes
  static Digest parse(std::string_view hex);  // throws Error unless exactly 32 lower-case digits
};

Digest digest_of(Bytes bytes);
inline Digest digest_of(std::string_view text) { return digest_of(bytes_of(text)); }

// The same digest over pieces. Not copyable; finish() may be called at any time.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(const DigestStream&) = delete;
  DigestStream& operator=(const DigestStream&) = delete;

  void add(Bytes bytes);
  void add(std::string_view text) { add(bytes_of(text)); }
  void add(uint64_t number);  // as 8 bytes, little-endian
  Digest finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string to_hex(Bytes bytes);
std::string from_hex(std::string_view hex);  // throws Error on an odd length or another character

}  // namespace mneme

template <>
struct std::hash<mneme::Digest> {
  size_t operator()(const mneme::Digest& digest) const noexcept { return digest.low; }
};
