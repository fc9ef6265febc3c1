// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <bit>

#include "base/error.h"
#include "bundle/json/json.h"

namespace mneme::bundle::json {

// What RapidJSON's parser calls; false stops it.
class Document::Handler {
 public:
  explicit Handler(Document& document) : document_(document) {}

  bool Null() { return add(Type::kNull, 0); }
  bool Bool(bool value) { return add(Type::kBoolean, value); }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Int64(int64_t value) { return add(value < 0 ? Type::kNegative : Type::kNatural, static_cast<uint64_t>(value)); }
  bool Uint64(uint64_t value) { return add(Type::kNatural, value); }
  bool Double(double value) { return add(Type::kReal, std::bit_cast<uint64_t>(value)); }
  bool RawNumber(const char*, unsigned, bool) { return false; }
  bool String(const char* bytes, unsigned size, bool) {
    bool room = add(Type::kText, document_.texts_.size(), size);
    document_.texts_.append(bytes, size);
    return room;
  }
  bool Key(const char* bytes, unsigned size, bool copy) { return String(bytes, size, copy); }
  bool StartObject() { return open(Type::kObject); }
  bool StartArray() { return open(Type::kList); }
  bool EndObject(unsigned members) { return close(members); }
  bool EndArray(unsigned items) { return close(items); }

  bool too_deep() const { return open_.size() > kMaxDepth; }

 private:
  bool add(Type type, uint64_t number, uint32_t size = 0) {
    document_.values_.push_back({type, size, number});
    return document_.values_.size() <= kMaxValues;
  }
  bool open(Type type) {
    open_.push_back(document_.values_.size());
    return add(type, 0) && !too_deep();
  }
  bool close(unsigned size) {
    Value& value = document_.values_[open_.back()];
    value.size = size;
    value.number = document_.values_.size();
    open_.pop_back();
    return true;
  }

  Document& document_;
  std::vector<size_t> open_;
};

Document::Document(std::string_view text, std::string where) : where_(std::move(where)) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  Handler handler(*this);
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag;
  rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (handler.too_deep()) throw Error::of("{} is json nested deeper than {} levels", where_, kMaxDepth);
  if (values_.size() > kMaxValues) throw Error::of("{} is json of more than {} values", where_, kMaxValues);
  if (result.IsError()) {
    std::string reason = rapidjson::GetParseError_En(result.Code());
    if (reason.ends_with('.')) reason.pop_back();
    throw Error::of("{} is not valid json (at byte {}: {})", where_, result.Offset(), reason);
  }
  if (values_[0].type != Type::kObject) throw Error::of("{} is not a json object", where_);
}

size_t Document::after(size_t index) const {
  const Value& value = values_[index];
  return value.type == Type::kObject || value.type == Type::kList ? value.number : index + 1;
}

std::string Document::serialize(size_t index) const {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  std::vector<size_t> ends;  // of the objects and lists that are open, innermost last
  std::vector<Type> types;
  size_t end = after(index);
  for (size_t i = index; i < end || !ends.empty();) {
    if (!ends.empty() && ends.back() == i) {
      types.back() == Type::kObject ? writer.EndObject() : writer.EndArray();
      ends.pop_back();
      types.pop_back();
      continue;
    }
    const Value& value = values_[i++];
    switch (value.type) {
      case Type::kNull:
        writer.Null();
        break;
      case Type::kBoolean:
        writer.Bool(value.number != 0);
        break;
      case Type::kNatural:
        writer.Uint64(value.number);
        break;
      case Type::kNegative:
        writer.Int64(static_cast<int64_t>(value.number));
        break;
      case Type::kReal:
        writer.Double(std::bit_cast<double>(value.number));
        break;
      case Type::kText:
        // The writer knows by itself which texts are keys.
        writer.String(texts_.data() + value.number, value.size);
        break;
      case Type::kObject:
      case Type::kList:
        value.type == Type::kObject ? writer.StartObject() : writer.StartArray();
        ends.push_back(value.number);
        types.push_back(value.type);
        break;
    }
  }
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace mneme::bundle::json
