// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/json/json.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/error.h"

namespace mneme::bundle::json {
namespace {

const char* problem_with(Type wanted) {
  switch (wanted) {
    case Type::kObject:
      return "is not an object";
    case Type::kList:
      return "is not a list";
    case Type::kText:
      return "is not a text";
    case Type::kBoolean:
      return "is not true or false";
    default:
      return "is not a whole number of 0 or more";
  }
}

}  // namespace

Object::Object(const Document& document) : document_(document) {}

Object::Object(const Object& parent, size_t value, const char* key, size_t index)
    : document_(parent.document_), value_(value), parent_(&parent), key_(key), index_(index) {
  if (document_[value].type != Type::kObject) {
    throw Error::of("{}: '{}' is not an object", document_.where(), place());
  }
}

std::string Object::place() const {
  if (!parent_) return "";
  std::string out = parent_->place();
  if (!out.empty()) out += '.';
  out += key_;
  if (index_ != kNoIndex) out += fmt::format("[{}]", index_);
  return out;
}

void Object::fail(const char* key, const std::string& problem) const {
  std::string at = place();
  if (!at.empty()) at += '.';
  throw Error::of("{}: '{}{}' {}", document_.where(), at, key, problem);
}

size_t Object::find(const char* key) const {
  size_t at = value_ + 1;
  for (uint32_t i = 0; i < document_[value_].size; ++i, at = document_.after(at + 1)) {
    if (document_.text(document_[at]) == key) return at + 1;
  }
  return 0;
}

std::vector<std::string> Object::keys() const {
  std::vector<std::string> out;
  size_t at = value_ + 1;
  for (uint32_t i = 0; i < document_[value_].size; ++i, at = document_.after(at + 1)) {
    out.emplace_back(document_.text(document_[at]));
  }
  return out;
}

bool Object::has(const char* key) const { return find(key) != 0; }

bool Object::null(const char* key) const {
  size_t found = find(key);
  return found && document_[found].type == Type::kNull;
}

size_t Object::member(const char* key, Type type) const {
  size_t found = find(key);
  if (!found) fail(key, "is missing");
  if (document_[found].type != type) fail(key, problem_with(type));
  return found;
}

std::string_view Object::text_view(const char* key) const {
  return document_.text(document_[member(key, Type::kText)]);
}

std::string Object::text(const char* key) const { return std::string(text_view(key)); }

size_t Object::choice(const char* key, std::initializer_list<std::string_view> allowed) const {
  std::string_view value = text_view(key);
  auto found = std::find(allowed.begin(), allowed.end(), value);
  if (found == allowed.end()) {
    fail(key, fmt::format("is '{}', which this version does not know", value.substr(0, 80)));
  }
  return static_cast<size_t>(found - allowed.begin());
}

bool Object::boolean(const char* key) const { return document_[member(key, Type::kBoolean)].number != 0; }

uint64_t Object::number(const char* key, uint64_t most) const {
  uint64_t value = document_[member(key, Type::kNatural)].number;
  if (value > most) fail(key, fmt::format("is {}, more than {}", value, most));
  return value;
}

double Object::real(const char* key) const {
  size_t found = find(key);
  if (!found) fail(key, "is missing");
  const Value& value = document_[found];
  switch (value.type) {
    case Type::kReal:
      return std::bit_cast<double>(value.number);
    case Type::kNatural:
      return static_cast<double>(value.number);
    case Type::kNegative:
      return static_cast<double>(static_cast<int64_t>(value.number));
    case Type::kText:
      if (document_.text(value) == "inf") return std::numeric_limits<double>::infinity();
      [[fallthrough]];
    default:
      fail(key, "is neither a number nor \"inf\"");
  }
}

uint64_t Object::address(const char* key) const {
  std::string_view text = text_view(key);
  uint64_t out = 0;
  if (text.starts_with("0x") && text.size() <= 18) {
    auto [end, failed] = std::from_chars(text.data() + 2, text.data() + text.size(), out, 16);
    if (failed == std::errc() && end == text.data() + text.size()) return out;
  }
  fail(key, "is not an address such as \"0x400000000000\"");
}

Digest Object::digest(const char* key) const {
  Digest out = digest_or_empty(key);
  if (out.empty()) fail(key, "is empty");
  return out;
}

Digest Object::digest_or_empty(const char* key) const {
  std::string_view value = text_view(key);
  if (value.empty()) return {};
  try {
    return Digest::parse(value);
  } catch (const Error&) {
    fail(key, "is not a digest of 32 hexadecimal digits");
  }
}

std::vector<std::string> Object::texts(const char* key) const {
  std::vector<std::string> out;
  for_items(key, [&](size_t item, size_t) {
    if (document_[item].type != Type::kText) fail(key, "holds something that is not a text");
    out.emplace_back(document_.text(document_[item]));
  });
  return out;
}

std::vector<uint64_t> Object::numbers(const char* key) const {
  std::vector<uint64_t> out;
  for_items(key, [&](size_t item, size_t) {
    if (document_[item].type != Type::kNatural) fail(key, "holds something that is not a whole number of 0 or more");
    out.push_back(document_[item].number);
  });
  return out;
}

std::string Object::hex_bytes(const char* key, size_t most) const {
  std::string_view value = text_view(key);
  if (value.size() > 2 * most) fail(key, fmt::format("has more than {} bytes", most));
  try {
    return from_hex(value);
  } catch (const Error&) {
    fail(key, "is not hexadecimal");
  }
}

std::string Object::object_text(const char* key) const {
  return has(key) ? document_.serialize(member(key, Type::kObject)) : std::string();
}

std::string canonical(const std::string& object, const std::string& where) {
  return object.empty() ? object : Document(object, where).serialize(0);
}

}  // namespace mneme::bundle::json
