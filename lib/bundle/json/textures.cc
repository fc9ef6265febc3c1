// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/json/textures.h"

#include <algorithm>

#include "base/error.h"
#include "bundle/textures.h"

namespace mneme::bundle::json {
namespace {

constexpr std::string_view kKinds[] = {"texture", "surface"};
constexpr std::string_view kSources[] = {"array", "mipmapped array", "linear", "pitched"};  // in TextureSource's order
constexpr uint64_t kHandleBytes = 8;

template <class Numbers>
std::vector<uint64_t> list_of(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

template <class Numbers>
Numbers numbers_of(const Object& in, const char* key) {
  std::vector<uint64_t> list = in.numbers(key);
  Numbers numbers;
  if (list.size() != numbers.size()) in.fail(key, fmt::format("is not a list of {} numbers", numbers.size()));
  for (size_t i = 0; i < list.size(); ++i) {
    numbers[i] = static_cast<typename Numbers::value_type>(list[i]);
    if (numbers[i] != list[i]) in.fail(key, "has a number that is too large");
  }
  return numbers;
}

TextureArray parse_array(const Object& in, const std::vector<Segment>& segments) {
  TextureArray array;
  array.address = in.address("address");
  array.width = in.number("width");
  array.height = in.number("height");
  array.depth = in.number("depth");
  array.format = in.number32("format");
  array.channels = in.number32("channels");
  array.flags = in.number32("flags");
  array.levels = in.number32("levels");
  const std::optional<ArrayLayout> layout = layout_of(array);
  if (!layout) in.fail("format", "describes an array that no GPU has");
  auto segment = std::ranges::lower_bound(segments, array.address, {}, &Segment::address);
  if (segment == segments.end() || segment->address != array.address || segment->size != layout->bytes) {
    in.fail("address", "is of no segment that has the array's size");
  }
  return array;
}

TextureObject parse_object(const Object& in, const InstanceInfo& info) {
  TextureObject object;
  if (info.arguments.size() < kHandleBytes) in.fail("argument", "lies behind the arguments");
  object.argument = static_cast<uint32_t>(in.number("argument", info.arguments.size() - kHandleBytes));
  object.surface = in.choice("kind", {kKinds[0], kKinds[1]}) == 1;
  object.source = static_cast<TextureSource>(in.choice("of", {kSources[0], kSources[1], kSources[2], kSources[3]}));
  object.address = in.address("address");
  if (is_of_array(object)) {
    auto array = std::ranges::find(info.arrays, object.address, &TextureArray::address);
    if (array == info.arrays.end()) in.fail("address", "is of no array");
    if ((array->levels > 0) != (object.source == TextureSource::kMipmappedArray)) {
      in.fail("of", "is not what the array is");
    }
  } else {
    object.format = in.number32("format");
    object.channels = in.number32("channels");
    object.width = in.number("width");
    if (object.source == TextureSource::kPitched) {
      object.height = in.number("height");
      object.pitch = in.number("pitch");
    }
    const std::optional<uint64_t> bytes = bytes_in_memory(object);
    if (!bytes) in.fail("width", "describes a texture that no GPU has");
    if (*bytes > UINT64_MAX - object.address) in.fail("width", "goes beyond the last address");
  }
  if (object.surface) return object;
  object.sampling = numbers_of<decltype(object.sampling)>(in, "sampling");
  if (in.has("view")) object.view = numbers_of<std::array<uint64_t, 8>>(in, "view");
  return object;
}

}  // namespace

void add_textures(Text& out, const InstanceInfo& info) {
  out.open_array("arrays");
  for (const TextureArray& array : info.arrays) {
    out.open().add_address("address", array.address).add("width", array.width).add("height", array.height);
    out.add("depth", array.depth).add("format", array.format).add("channels", array.channels);
    out.add("flags", array.flags).add("levels", array.levels).close();
  }
  out.close_array().open_array("textures");
  for (const TextureObject& object : info.textures) {
    out.open().add("argument", object.argument).add("kind", kKinds[object.surface]);
    out.add("of", kSources[static_cast<size_t>(object.source)]).add_address("address", object.address);
    if (!is_of_array(object)) {
      out.add("format", object.format).add("channels", object.channels).add("width", object.width);
    }
    if (object.source == TextureSource::kPitched) out.add("height", object.height).add("pitch", object.pitch);
    if (!object.surface) out.add_all("sampling", list_of(object.sampling));
    if (object.view) out.add_all("view", list_of(*object.view));
    out.close();
  }
  out.close_array();
}

void parse_textures(const Object& in, InstanceInfo& info) {
  in.each("arrays", [&](Object array) {
    info.arrays.push_back(parse_array(array, info.segments));
    if (info.arrays.size() > 1 && info.arrays.rbegin()[1].address >= info.arrays.back().address) {
      array.fail("address", "is not behind that of the array ahead of it");
    }
  });
  in.each("textures", [&](Object object) {
    info.textures.push_back(parse_object(object, info));
    if (info.textures.size() > 1 && info.textures.rbegin()[1].argument + kHandleBytes > info.textures.back().argument) {
      object.fail("argument", "lies in or before the handle ahead of it");
    }
  });
  if (info.textures.empty()) in.fail("textures", "is empty");
}

}  // namespace mneme::bundle::json

namespace mneme::bundle {

std::string write_textures(const InstanceInfo& instance) {
  json::Text text;
  text.open();
  json::add_textures(text, instance);
  return text.close().text();
}

void read_textures(std::string_view text, const std::string& where, InstanceInfo& instance) {
  json::Document document(text, where);
  json::parse_textures(json::Object(document), instance);
}

}  // namespace mneme::bundle
