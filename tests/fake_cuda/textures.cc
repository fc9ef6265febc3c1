// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays, textures and surfaces of CUDA's two interfaces, as far as recorders and the programs beside this call them:
// of words of 32 bits. Handles are numbers that no memory has for an address, but those who know how find the texels by
// them: kernels run on the CPU here, which has no instructions for textures.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "driver.h"
#include "vendor/cuda/textures.h"

using namespace mneme::fake_cuda;
namespace vendor = mneme::vendor::cuda;

namespace {

constexpr uint64_t kMask = 0x5a5a'0000'0000'0000;  // programs/textures.cu has it, too
constexpr int kNoMemory = 2;

struct Channels {  // cudaChannelFormatDesc
  int bits[4], kind;
};
struct Extent {  // cudaExtent
  size_t width, height, depth;
};

struct Array {
  vendor::ArrayDescription description{};
  std::vector<uint32_t> words;
  std::vector<Array*> levels;  // of a mipmapped one: it has nothing else
};

struct RuntimeResource {  // cudaResourceDesc
  int type, padding;
  void* what;         // an array, or memory
  Channels channels;  // of memory, like what follows
  size_t sizes[3];    // bytes; or width, height, pitch

  Array* array() const { return static_cast<Array*>(what); }
};
struct RuntimeSampling {  // cudaTextureDesc, its beginning
  int address_modes[3], filter, reads_fractions, srgb;
  float border[4];
  int normalized;
  unsigned anisotropy;
};

struct Object {
  vendor::Resource resource{};
  vendor::Sampling sampling{};
};

std::mutex mutex;
std::map<Array*, bool> arrays;                        // that are there; whether they are another's level
std::map<vendor::Object, Object> textures, surfaces;  // that are there

int format_of(const Channels& channels) {
  constexpr int kUnsigned = 3, kSigned = 10, kFloat = 32;  // CU_AD_FORMAT_…
  return channels.kind == 0 ? kSigned : channels.kind == 1 ? kUnsigned : kFloat;
}
unsigned count_of(const Channels& channels) {
  return static_cast<unsigned>(std::ranges::count_if(channels.bits, [](int bits) { return bits > 0; }));
}

Array* make(const Channels& channels, Extent extent, unsigned flags, bool is_level = false) {
  auto* made = new Array;
  made->description = {extent.width, extent.height, extent.depth, format_of(channels), count_of(channels), flags};
  made->words.resize(extent.width * std::max<size_t>(extent.height, 1) * std::max<size_t>(extent.depth, 1) *
                     count_of(channels));
  arrays[made] = is_level;
  return made;
}

char* bytes_of(Array* array) { return reinterpret_cast<char*>(array->words.data()); }
size_t row_of(const Array* array) { return array->description.width * array->description.channels * sizeof(uint32_t); }

uint64_t first_word(const RuntimeResource& resource) {
  if (resource.type >= 2) return reinterpret_cast<uint64_t>(resource.what);
  Array* array = resource.array();
  if (!array->levels.empty()) array = array->levels[0];
  return reinterpret_cast<uint64_t>(array->words.data());
}

// Several of the same texels have the same handle here, as they need not have on a GPU.
int make_object(std::map<vendor::Object, Object>& objects, vendor::Object* object, const RuntimeResource& from,
                const RuntimeSampling* sampling) {
  std::lock_guard lock(mutex);
  if (from.type < 2 && !arrays.contains(from.array())) return kInvalidValue;
  Object made;
  made.resource.type = from.type;
  const auto address = reinterpret_cast<Address>(from.what);
  const int format = format_of(from.channels);
  const unsigned count = count_of(from.channels);
  const auto& sizes = from.sizes;
  if (from.type < 2) made.resource.array = from.what;
  if (from.type == 2) made.resource.linear = {address, format, count, sizes[0]};
  if (from.type == 3) made.resource.pitched = {address, format, count, sizes[0], sizes[1], sizes[2]};
  if (sampling) {
    auto& words = made.sampling.words;
    for (int i = 0; i < 3; ++i) words[i] = static_cast<uint32_t>(sampling->address_modes[i]);
    words[3] = static_cast<uint32_t>(sampling->filter);
    words[4] = (sampling->reads_fractions ? 0 : 1) | (sampling->normalized ? 2 : 0);
    words[5] = sampling->anisotropy;
  }
  *object = first_word(from) ^ kMask;
  objects[*object] = made;
  return 0;
}

template <class Answer>
int ask(const std::map<vendor::Object, Object>& objects, vendor::Object object, const Answer& answer) {
  std::lock_guard lock(mutex);
  auto found = objects.find(object);
  if (found == objects.end()) return kInvalidValue;
  answer(found->second);
  return 0;
}

}  // namespace

extern "C" {

// ---- the runtime's ----

int cudaMallocArray(Array** array, const Channels* channels, size_t width, size_t height, unsigned flags) {
  std::lock_guard lock(mutex);
  *array = make(*channels, {width, height, 0}, flags);
  return 0;
}
int cudaMallocMipmappedArray(Array** array, const Channels* channels, Extent extent, unsigned levels, unsigned flags) {
  std::lock_guard lock(mutex);
  *array = new Array;
  arrays[*array] = false;
  for (unsigned level = 0; level < levels; ++level) {
    (*array)->levels.push_back(make(*channels, {extent.width >> level, extent.height >> level, 0}, flags, true));
  }
  return 0;
}
int cudaGetMipmappedArrayLevel(Array** level, Array* array, unsigned number) {
  if (number >= array->levels.size()) return kInvalidValue;
  *level = array->levels[number];
  return 0;
}
int cudaFreeArray(Array* array) {
  static_cast<void>(hipDeviceSynchronize());
  std::lock_guard lock(mutex);
  for (Array* level : array->levels) arrays.erase(level);
  return arrays.erase(array) ? 0 : kInvalidValue;  // what lies there stays: nothing else comes to have its handles
}
int cudaFreeMipmappedArray(Array* array) { return cudaFreeArray(array); }
// All of it.
int cudaMemcpy2DToArray(Array* array, size_t, size_t, const void* from, size_t, size_t width, size_t height, int) {
  std::memcpy(bytes_of(array), from, width * height);
  return 0;
}
int cudaMemcpy2DFromArray(void* to, size_t, Array* array, size_t, size_t, size_t width, size_t height, int) {
  static_cast<void>(hipDeviceSynchronize());
  std::memcpy(to, bytes_of(array), width * height);
  return 0;
}
int cudaCreateTextureObject(vendor::Object* object, const RuntimeResource* resource, const RuntimeSampling* sampling,
                            const void*) {
  return make_object(textures, object, *resource, sampling);
}
int cudaCreateSurfaceObject(vendor::Object* object, const RuntimeResource* resource) {
  return make_object(surfaces, object, *resource, nullptr);
}
int cudaDestroyTextureObject(vendor::Object object) {
  std::lock_guard lock(mutex);
  return textures.erase(object) ? 0 : kInvalidValue;
}
int cudaDestroySurfaceObject(vendor::Object object) {
  std::lock_guard lock(mutex);
  return surfaces.erase(object) ? 0 : kInvalidValue;
}

// ---- the driver's ----

Result cuTexObjectGetResourceDesc(vendor::Resource* resource, vendor::Object object) {
  return ask(textures, object, [&](const Object& known) { *resource = known.resource; });
}
Result cuTexObjectGetTextureDesc(vendor::Sampling* sampling, vendor::Object object) {
  return ask(textures, object, [&](const Object& known) { *sampling = known.sampling; });
}
Result cuTexObjectGetResourceViewDesc(vendor::View*, vendor::Object) { return kInvalidValue; }  // there are none
Result cuSurfObjectGetResourceDesc(vendor::Resource* resource, vendor::Object object) {
  return ask(surfaces, object, [&](const Object& known) { *resource = known.resource; });
}
Result cuArray3DGetDescriptor_v2(vendor::ArrayDescription* description, Array* array) {
  std::lock_guard lock(mutex);
  if (!arrays.contains(array) || !array->levels.empty()) return kInvalidValue;
  *description = array->description;
  return 0;
}
Result cuMipmappedArrayGetLevel(Array** level, Array* array, unsigned number) {
  return cudaGetMipmappedArrayLevel(level, array, number);
}
// All of an array to memory.
Result cuMemcpy3D_v2(const vendor::Copy* copy) {
  auto* array = static_cast<Array*>(copy->from.array);
  const auto& description = array->description;
  if (copy->from.type != vendor::kArrayMemory || copy->to.type != vendor::kDeviceMemory) return kInvalidValue;
  if (copy->row_bytes != row_of(array) || copy->rows != std::max<size_t>(description.height, 1)) return kInvalidValue;
  if (description.flags & 0x20) return kNoMemory;  // programs ask for that
  static_cast<void>(hipDeviceSynchronize());
  for (size_t row = 0; row < copy->rows; ++row) {
    std::memcpy(pointer(copy->to.device + row * copy->to.pitch), bytes_of(array) + row * copy->row_bytes,
                copy->row_bytes);
  }
  return 0;
}

}  // extern "C"
