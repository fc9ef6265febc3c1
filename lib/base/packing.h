// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structures as bytes, for messages between processes of one build. A structure has visit(), which calls its visitor
// with all members in their order. Integers are little-endian as they lie in memory, strings and lists have a u64
// count.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/digest.h"
#include "base/error.h"

namespace mneme {

// A vector of digests. The message holds them as memory does, since a vector may be very long.
template <class T>
inline constexpr bool kPlain = std::is_same_v<T, std::vector<Digest>>;
static_assert(std::is_trivially_copyable_v<Digest>);

class Packer {
 public:
  template <class... T>
  void operator()(T&... fields) {
    (put(fields), ...);
  }
  std::string take() { return std::move(out_); }

 private:
  template <class T>
  void put(T& field) {
    if constexpr (std::is_same_v<T, std::string>) {
      put_number(field.size());
      out_ += field;
    } else if constexpr (requires { field.visit(*this); }) {
      field.visit(*this);
    } else if constexpr (requires { field.begin(); }) {
      put_number(field.size());
      if constexpr (kPlain<T>) {
        out_.append(reinterpret_cast<const char*>(field.data()), field.size() * sizeof field[0]);
      } else {
        for (auto& element : field) put(element);
      }
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      out_.append(reinterpret_cast<const char*>(&field), sizeof field);
    }
  }
  void put_number(uint64_t number) { put(number); }

  std::string out_;
};

// Throws Error on a message that is too short: its writer is of another build.
class Unpacker {
 public:
  explicit Unpacker(std::string_view in) : in_(in) {}
  template <class... T>
  void operator()(T&... fields) {
    (get(fields), ...);
  }
  bool done() const { return in_.empty(); }

 private:
  template <class T>
  void get(T& field) {
    if constexpr (std::is_same_v<T, std::string>) {
      field = take(get_number());
    } else if constexpr (requires { field.visit(*this); }) {
      field.visit(*this);
    } else if constexpr (requires { field.emplace_back(); }) {
      uint64_t left = get_number();
      if constexpr (kPlain<T>) {
        std::string_view raw = take(left > in_.size() ? UINT64_MAX : left * sizeof field[0]);
        field.resize(left);
        std::memcpy(field.data(), raw.data(), raw.size());
      } else {
        for (; left > 0; --left) get(field.emplace_back());
      }
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      std::string_view raw = take(sizeof field);
      if constexpr (std::is_same_v<T, bool>) {
        field = raw[0] != 0;
      } else {
        raw.copy(reinterpret_cast<char*>(&field), sizeof field);
      }
    }
  }
  uint64_t get_number() {
    uint64_t number = 0;
    get(number);
    return number;
  }
  std::string_view take(uint64_t size) {
    if (size > in_.size()) throw Error("a message between processes is too short");
    std::string_view piece = in_.substr(0, size);
    in_.remove_prefix(size);
    return piece;
  }

  std::string_view in_;
};

template <class M>
std::string pack(const M& message) {
  Packer packer;
  const_cast<M&>(message).visit(packer);  // which changes nothing
  return packer.take();
}

template <class M>
M unpack(std::string_view body) {
  M message;
  Unpacker unpacker(body);
  message.visit(unpacker);
  if (!unpacker.done()) throw Error("a message between processes is too long");
  return message;
}

}  // namespace mneme
