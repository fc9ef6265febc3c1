// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the members' json texts have in common: strict reading with errors that name the place, canonical writing.
#pragma once
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace mneme::bundle::json {

inline constexpr size_t kMaxDepth = 64;
inline constexpr size_t kMaxValues = 8 << 20;  // of one text; bounds what parsing takes

// What no kernel and no launch has more of, on any device known.
inline constexpr uint32_t kMaxArgumentBytes = 1 << 20;
inline constexpr uint32_t kMaxSharedBytes = 1 << 30;   // of a block
inline constexpr uint64_t kMaxBlockThreads = 1 << 16;  // no device known has more than 1024
inline constexpr uint64_t kMaxCluster = 1024;          // blocks; no device known has more than 16
inline constexpr uint32_t kMaxRegisters = 255;         // of a thread, on NVIDIA's GPUs

enum class Type : uint8_t { kNull, kBoolean, kNatural, kNegative, kReal, kText, kObject, kList };

// A text's values, one after another in the order of the text; an object's keys are texts ahead of their values.
struct Value {
  Type type = Type::kNull;
  uint32_t size = 0;    // of a text in bytes, of an object or list in members
  uint64_t number = 0;  // a number's bits; where a text starts; the index after an object's or list's last value
};

// A parsed text. Throws Error, naming `where`, on broken json, on json too deep or large, or when it is no object.
// (RapidJSON's own document class does not compile with Clang 19; its parser and writer do.)
class Document {
 public:
  Document(std::string_view text, std::string where);
  const std::string& where() const { return where_; }
  const Value& operator[](size_t index) const { return values_[index]; }
  std::string_view text(const Value& value) const { return std::string_view(texts_).substr(value.number, value.size); }
  size_t after(size_t index) const;  // the next sibling
  std::string serialize(size_t index) const;

 private:
  class Handler;
  std::string where_;
  std::vector<Value> values_;
  std::string texts_;
};

// A typed view of one object of a document. Every getter throws Error naming the member and the key's place in it.
// Objects live on the stack while their children do.
class Object {
 public:
  explicit Object(const Document& document);

  bool has(const char* key) const;
  bool null(const char* key) const;       // whether it is there and has no value
  std::vector<std::string> keys() const;  // in order; one that is there twice, twice
  std::string text(const char* key) const;
  std::string text_or(const char* key, const char* fallback) const { return has(key) ? text(key) : fallback; }
  // One of the texts allowed, as its index.
  size_t choice(const char* key, std::initializer_list<std::string_view> allowed) const;
  bool boolean(const char* key) const;
  uint64_t number(const char* key, uint64_t most = std::numeric_limits<uint64_t>::max()) const;
  uint32_t number32(const char* key, uint32_t most = std::numeric_limits<uint32_t>::max()) const {
    return static_cast<uint32_t>(number(key, most));
  }
  double real(const char* key) const;       // any number, or "inf"
  uint64_t address(const char* key) const;  // "0x" and hexadecimal digits
  Digest digest(const char* key) const;
  Digest digest_or_empty(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  std::vector<uint64_t> numbers(const char* key) const;
  std::string hex_bytes(const char* key, size_t most) const;
  // The object under the key as canonical json text; empty when there is none.
  std::string object_text(const char* key) const;

  template <typename Function>
  void object(const char* key, Function function) const {
    function(Object(*this, member(key, Type::kObject), key, kNoIndex));
  }
  template <typename Function>
  void each(const char* key, Function function) const {
    for_items(key, [&](size_t item, size_t i) { function(Object(*this, item, key, i)); });
  }
  // Throws Error: "<member>: <place of key>: <problem>".
  [[noreturn]] void fail(const char* key, const std::string& problem) const;

 private:
  static constexpr size_t kNoIndex = std::numeric_limits<size_t>::max();
  Object(const Object& parent, size_t value, const char* key, size_t index);
  size_t find(const char* key) const;  // the value's index, or 0: the root is nobody's value
  size_t member(const char* key, Type type) const;
  std::string_view text_view(const char* key) const;
  std::string place() const;

  template <typename Function>
  void for_items(const char* key, Function function) const {
    size_t list = member(key, Type::kList);
    size_t item = list + 1;
    for (size_t i = 0; i < document_[list].size; ++i, item = document_.after(item)) function(item, i);
  }

  const Document& document_;
  size_t value_ = 0;
  const Object* parent_ = nullptr;
  const char* key_ = "";
  size_t index_ = kNoIndex;
};

// Writes one object after another's keys in the order of the calls.
class Text {
 public:
  Text() : writer_(buffer_) {}
  Text& open(const char* key = nullptr);
  Text& close();
  Text& open_array(const char* key);
  Text& close_array();
  Text& add(const char* key, std::string_view value);  // bytes that are not UTF-8 become U+FFFD
  Text& add(const char* key, const char* value) { return add(key, std::string_view(value)); }
  Text& add(const char* key, const Digest& value) { return add(key, value.empty() ? std::string() : value.hex()); }
  Text& add(const char* key, bool value);
  Text& add(const char* key, double value);  // not NaN; infinite as "inf"
  Text& add(const char* key, uint64_t value);
  Text& add(const char* key, uint32_t value) { return add(key, uint64_t{value}); }
  Text& add(const char* key, int value) { return add(key, static_cast<uint64_t>(value)); }
  Text& add_address(const char* key, uint64_t value);
  Text& add_object_text(const char* key, const std::string& object);  // must be json already
  Text& add_all(const char* key, const std::vector<std::string>& values);
  Text& add_all(const char* key, const std::vector<uint64_t>& values);

  std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }
  // The text with the digest of itself as its last key, so that no flipped bit goes unnoticed.
  std::string sealed() const;

 private:
  void write_text(std::string_view value);

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_;
};

enum class Seal { kAbsent, kRight, kWrong };
Seal check_seal(std::string_view text);
// Throws Error when the text has a seal that is wrong.
void refuse_wrong_seal(std::string_view text, const std::string& where);

// An object's text in the one form that it is written and hashed in; empty stays empty.
std::string canonical(const std::string& object, const std::string& where);

}  // namespace mneme::bundle::json
