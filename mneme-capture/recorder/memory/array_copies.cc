// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/array_copies.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "bundle/textures.h"

namespace mneme::record {
namespace {

// Whether all of it is in segments, which may lie one behind the other.
bool covers(const std::vector<WireSegment>& segments, uint64_t address, uint64_t size) {
  while (size > 0) {
    auto after = std::ranges::upper_bound(segments, address, {}, &WireSegment::address);
    if (after == segments.begin()) return false;
    const WireSegment& segment = *std::prev(after);
    uint64_t offset = address - segment.address;
    if (segment.count > 1) offset -= std::min(offset / segment.stride, segment.count - 1) * segment.stride;
    if (offset >= segment.size) return false;
    const uint64_t covered = std::min(segment.size - offset, size);
    address += covered;
    size -= covered;
  }
  return true;
}

}  // namespace

ArrayCopies::~ArrayCopies() { forget(); }

void ArrayCopies::forget() {
  for (const void* copy : copies_) allocations_.release(copy);
  copies_.clear();
  symbols_.clear();
  textures_ = {};
}

void ArrayCopies::take(const bundle::KernelInfo& kernel, const std::string& arguments,
                       std::vector<std::string>& missing) {
  const size_t before = missing.size();
  textures_ = runtime_.textures(kernel, arguments, device_, missing);
  for (size_t i = 0; i < textures_.arrays.size() && missing.size() == before; ++i) {
    const uint64_t bytes = bundle::layout_of(textures_.arrays[i]).value().bytes;
    if (textures_.levels[i].empty()) {
      symbols_.push_back({bundle::kArraySymbol + std::to_string(i), {textures_.arrays[i].address, bytes}});
      continue;
    }
    void* copy = allocations_.allocate(Space::kDevice, bytes, 0, device_);
    if (!copy) {
      missing.push_back("there is too little device memory for a copy of a texture's array");
      break;
    }
    copies_.push_back(copy);
    const auto address = reinterpret_cast<uint64_t>(copy);
    symbols_.push_back({bundle::kArraySymbol + std::to_string(i), {address, bytes}});
    if (!runtime_.copy_array(textures_.arrays[i], textures_.levels[i], address)) {
      missing.push_back("a texture's array cannot be copied");
    }
  }
  missing.size() == before ? place() : forget();
}

// In the order of their addresses, as instances list arrays.
void ArrayCopies::place() {
  for (bundle::TextureObject& object : textures_.objects) {
    if (is_of_array(object)) object.address = symbols_[object.address].range.address;
  }
  TexturesOfLaunch sorted{std::move(textures_.objects), {}, {}};
  std::vector<size_t> order(symbols_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [this](size_t i) { return symbols_[i].range.address; });
  std::vector<Allocations::Symbol> symbols;
  for (size_t i : order) {
    sorted.arrays.push_back(textures_.arrays[i]);
    sorted.arrays.back().address = symbols_[i].range.address;
    sorted.levels.push_back(std::move(textures_.levels[i]));
    symbols.push_back({bundle::kArraySymbol + std::to_string(symbols.size()), symbols_[i].range});
  }
  textures_ = std::move(sorted);
  symbols_ = std::move(symbols);
}

bool ArrayCopies::take_again() const {
  for (size_t i = 0; i < textures_.arrays.size(); ++i) {
    const bool written = std::ranges::any_of(textures_.objects, [&](const bundle::TextureObject& object) {
      return object.surface && object.address == textures_.arrays[i].address;
    });
    if (written && !textures_.levels[i].empty() &&
        !runtime_.copy_array(textures_.arrays[i], textures_.levels[i], textures_.arrays[i].address)) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> ArrayCopies::missing_in(const std::vector<WireSegment>& segments) const {
  std::vector<std::string> missing;
  for (const bundle::TextureObject& object : textures_.objects) {
    if (is_of_array(object)) continue;
    const uint64_t bytes = bundle::bytes_in_memory(object).value();
    if (covers(segments, object.address, bytes)) continue;
    missing.push_back(
        fmt::format("the texture whose handle lies at byte {} of the arguments is of {} bytes of memory at "
                    "{:#x}, not all of which is recorded",
                    object.argument, bytes, object.address));
  }
  return missing;
}

std::string ArrayCopies::json() const {
  if (textures_.objects.empty()) return {};
  bundle::InstanceInfo instance;
  instance.arrays = textures_.arrays;
  instance.textures = textures_.objects;
  return bundle::write_textures(instance);
}

}  // namespace mneme::record
