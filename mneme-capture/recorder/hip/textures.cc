// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textures and surfaces of CUDA programs on the host device. Handles are addresses of recorded memory, and so are the
// arrays behind them: a replay on the CPU needs no more. One on a GPU needs to know what they stand for.
#include <algorithm>
#include <cstring>

#include "bundle/textures.h"
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {

CALL(Status, mneme_hostgpu_describe_texture, unsigned long long, bool, bundle::TextureObject*, bundle::TextureArray*)

namespace {

// The number of an array among those found, which it is added to. nullopt: another one lies in the same memory, as a
// level of an array does.
std::optional<uint64_t> number_of(const bundle::TextureArray& array, TexturesOfLaunch& found) {
  auto known = std::ranges::find(found.arrays, array);
  if (known != found.arrays.end()) return static_cast<uint64_t>(known - found.arrays.begin());
  auto end_of = [](const bundle::TextureArray& of) { return of.address + bundle::layout_of(of).value().bytes; };
  if (!bundle::layout_of(array)) return std::nullopt;
  for (const bundle::TextureArray& other : found.arrays) {
    if (array.address < end_of(other) && other.address < end_of(array)) return std::nullopt;
  }
  found.arrays.push_back(array);
  found.levels.emplace_back();
  return found.arrays.size() - 1;
}

}  // namespace

TexturesOfLaunch HipRuntime::textures(const bundle::KernelInfo& kernel, const std::string& arguments, int,
                                      std::vector<std::string>& missing) {
  TexturesOfLaunch found;
  for (const bundle::Handle& handle : kernel.handles) {
    unsigned long long value = 0;
    const auto place = static_cast<size_t>(handle.argument);
    // In memory or computed: known on the CPU only.
    if (handle.argument < 0 || place > arguments.size() || arguments.size() - place < sizeof value) return {};
    std::memcpy(&value, arguments.data() + place, sizeof value);
    if (value == 0) continue;
    bundle::TextureObject object;
    bundle::TextureArray array;
    if (next::mneme_hostgpu_describe_texture(value, handle.surface, &object, &array) != kSuccess) {
      missing.push_back(fmt::format("the host device knows no {} by the handle {:#x} at byte {} of the arguments",
                                    handle.surface ? "surface" : "texture", value, handle.argument));
      return {};
    }
    object.argument = static_cast<uint32_t>(place);
    if (bundle::is_of_array(object)) {
      std::optional<uint64_t> number = number_of(array, found);
      if (!number) return {};
      object.address = *number;
    } else if (!bundle::bytes_in_memory(object)) {
      return {};
    }
    found.objects.push_back(object);
  }
  return found;
}

}  // namespace mneme::record::hip
