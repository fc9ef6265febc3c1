// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "base/error.h"
#include "bundle/json/json.h"

namespace mneme::bundle::json {
namespace {

constexpr std::string_view kSealKey = ",\"digest\":\"";
constexpr size_t kSealSize = kSealKey.size() + 2 * Digest::kSize + 2;  // with the closing quote and brace

// The length of the UTF-8 character at the text's start; 0 if there is none.
size_t character_length(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](size_t i, unsigned low = 0x80, unsigned high = 0xBF) { return byte(i) >= low && byte(i) <= high; };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    unsigned low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    unsigned low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// Command lines and file names need not be UTF-8; json must be.
std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = character_length(text);
    if (length) {
      out += text.substr(0, length);
    } else {
      out += "\uFFFD";
    }
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

}  // namespace

void Text::write_text(std::string_view value) {
  std::string text = as_utf8(value);
  writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

Text& Text::open(const char* key) {
  if (key) writer_.Key(key);
  writer_.StartObject();
  return *this;
}

Text& Text::close() {
  writer_.EndObject();
  return *this;
}

Text& Text::open_array(const char* key) {
  writer_.Key(key);
  writer_.StartArray();
  return *this;
}

Text& Text::close_array() {
  writer_.EndArray();
  return *this;
}

Text& Text::add(const char* key, std::string_view value) {
  writer_.Key(key);
  write_text(value);
  return *this;
}

Text& Text::add(const char* key, bool value) {
  writer_.Key(key);
  writer_.Bool(value);
  return *this;
}

Text& Text::add(const char* key, double value) {
  if (std::isinf(value)) return add(key, std::string_view("inf"));
  writer_.Key(key);
  writer_.Double(value);
  return *this;
}

Text& Text::add(const char* key, uint64_t value) {
  writer_.Key(key);
  writer_.Uint64(value);
  return *this;
}

Text& Text::add_address(const char* key, uint64_t value) { return add(key, fmt::format("{:#x}", value)); }

Text& Text::add_object_text(const char* key, const std::string& object) {
  writer_.Key(key);
  writer_.RawValue(object.data(), object.size(), rapidjson::kObjectType);
  return *this;
}

Text& Text::add_all(const char* key, const std::vector<std::string>& values) {
  open_array(key);
  for (const std::string& value : values) write_text(value);
  return close_array();
}

Text& Text::add_all(const char* key, const std::vector<uint64_t>& values) {
  open_array(key);
  for (uint64_t value : values) writer_.Uint64(value);
  return close_array();
}

std::string Text::sealed() const {
  std::string out = text();
  out.pop_back();
  std::string digest = digest_of(out).hex();
  out += kSealKey;
  out += digest;
  out += "\"}";
  return out;
}

Seal check_seal(std::string_view text) {
  if (text.size() < kSealSize) return Seal::kAbsent;
  std::string_view body = text.substr(0, text.size() - kSealSize);
  std::string_view seal = text.substr(body.size());
  if (!seal.starts_with(kSealKey) || !seal.ends_with("\"}")) return Seal::kAbsent;
  return seal.substr(kSealKey.size(), 2 * Digest::kSize) == digest_of(body).hex() ? Seal::kRight : Seal::kWrong;
}

void refuse_wrong_seal(std::string_view text, const std::string& where) {
  if (check_seal(text) == Seal::kWrong) {
    throw Error::of("{} is damaged: its text does not have the digest that it ends with", where);
  }
}

}  // namespace mneme::bundle::json
