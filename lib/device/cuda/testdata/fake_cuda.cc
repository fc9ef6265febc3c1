// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: plays NVIDIA's driver. Its GPU's memory is this process's, and its GPU does everything in order and as
// late as it may: when somebody waits for it. So who reads memory too early, or changes what was to be copied from
// pinned memory before the copy was waited for, is found out. A kernel's code is its name, one of `kernels` below. What
// tests want to know is appended to the file that MNEME_TEST_DRIVER_LOG names.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../gpu/kernels/blocks.h"
#include "../driver.h"

namespace mneme::device::cuda {

// A kernel that compares elements (mneme-run/testdata); its work-group. False: there is none of that name.
bool fake_comparison(const std::string& kernel, Address expected, Address memory, Address out, double scale,
                     unsigned chunks);
bool fits_comparison(unsigned block_x, unsigned block_y);

struct Event {
  size_t behind = 0;  // pieces of work
};
struct Module {
  std::string code;
};
struct Function {
  std::string name;
};

namespace {

using namespace gpu;
using vendor::cuda::Array;
using vendor::cuda::ArrayDescription;
using vendor::cuda::Copy;
using vendor::cuda::Object;
using vendor::cuda::Resource;
using vendor::cuda::Sampling;
using vendor::cuda::View;

constexpr Result kInvalid = 1, kNoMemory = 2, kNoImage = 200, kIllegalAddress = 700;
constexpr int kCacheSize = 5 << 20;
constexpr size_t kLargestStack = 256 << 10, kMostStack = 512 << 10;  // more is cut to the first, or refused

std::vector<std::function<void()>> work;  // all there ever was; what is done is empty
size_t done = 0;
size_t stack = 1024;  // of each thread
Result broken = 0;    // as soon as a kernel faulted, what everything returns
std::map<const char*, size_t> pinned;
std::map<Address, size_t> reserved, mapped;
std::map<Handle, size_t> handles;

// Texels of an array, each level by itself, a row behind the other with a gap: only copies know how they lie.
struct FakeArray {
  size_t pitch = 0, rows = 0, slices = 0, row_bytes = 0;
  std::string texels;
  std::vector<FakeArray*> levels;  // of a mipmapped one
};
std::map<void*, FakeArray*> arrays;  // that are there
// Of textures and surfaces, which have numbers of their own each: none that the recordings have.
std::map<Object, Resource> textures, surfaces;
constexpr Object kFirstTexture = 0x7001, kFirstSurface = 0x9001;

FakeArray* make_array(size_t row_bytes, size_t rows, size_t slices) {
  auto* made = new FakeArray{row_bytes + 24, rows, slices, row_bytes, {}, {}};
  made->texels.assign(made->pitch * rows * slices, '\xA5');
  arrays[made] = made;
  return made;
}

Result make_object(std::map<Object, Resource>& objects, Object first, Object* object, const Resource& resource) {
  if (resource.type < 2 && !arrays.contains(resource.array)) return 1;
  *object = first + objects.size();
  while (objects.contains(*object)) ++*object;
  objects[*object] = resource;
  return broken;
}

void log(const std::string& line) {
  const char* path = std::getenv("MNEME_TEST_DRIVER_LOG");
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

// $MNEME_TEST_DRIVER_LACKS: what is not to be had.
bool lacks(const char* what) {
  const char* lacking = std::getenv("MNEME_TEST_DRIVER_LACKS");
  return lacking && std::strcmp(lacking, what) == 0;
}

Result later(std::function<void()> piece) {
  if (!broken) work.push_back(std::move(piece));
  return broken;
}

Result finish(size_t until) {
  for (; done < until && !broken; done++) std::exchange(work[done], nullptr)();
  return broken;
}

Result finish() { return finish(work.size()); }

char* at(Address address) { return reinterpret_cast<char*>(address); }

// Whether it is: 1; it is not: 0; a part of it is, or of another piece: -1.
int is_pinned(const void* memory, size_t bytes) {
  const char* begin = static_cast<const char*>(memory);
  auto next = pinned.upper_bound(begin);
  if (next != pinned.begin()) {
    auto [piece, size] = *std::prev(next);
    if (begin < piece + size) return begin + bytes <= piece + size ? 1 : -1;
  }
  return next != pinned.end() && next->first < begin + bytes ? -1 : 0;
}

void count_differences(void** arguments, unsigned blocks) {
  const auto* first = *static_cast<const unsigned char**>(arguments[0]);
  const auto* second = *static_cast<const unsigned char**>(arguments[1]);
  auto* out = *static_cast<unsigned**>(arguments[2]);
  for (unsigned block = 0; block < blocks; block++) {
    out[block] = 0;
    for (unsigned i = 0; i < kBytes; i++, first++, second++) out[block] += *first != *second;
  }
}

using Kernel = std::function<void(uint32_t* words, uint32_t count)>;
void add_one(uint32_t* words, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) words[i]++;
}
const std::map<std::string, Kernel> kernels = {
    {"right", add_one},
    {"right with malloc", add_one},
    {"right, in clusters", add_one},
    {"nothing", [](uint32_t*, uint32_t) {}},
    {"wrong_byte",
     [](uint32_t* words, uint32_t count) {
       add_one(words, count);
       words[count - 1] ^= 0x80;
     }},
    {"wrong everywhere",
     [](uint32_t* words, uint32_t count) {
       for (uint32_t i = 0; i < count; i++) words[i] += 3;
     }},
    {"faulty", [](uint32_t*, uint32_t) { broken = kIllegalAddress; }},
    {"every other word",  // in its first launch and each second one after that; in the others the rest
     [](uint32_t* words, uint32_t count) {
       static uint32_t launches = 0;
       for (uint32_t i = launches++ % 2; i < count; i += 2) words[i] += 2;
     }},
    {"half, or all",  // half of the words in its first launch and each second one after that; in the others all
     [](uint32_t* words, uint32_t count) {
       static uint32_t launches = 0;
       add_one(words, launches++ % 2 ? count : count / 2);
     }},
    {"endless", [](uint32_t*, uint32_t) { ::pause(); }},
};

// Words that a texture or surface stands for: the 32-bit texels of a level of an array, or of memory.
uint32_t* texel(const Resource& resource, size_t level, size_t at) {
  if (resource.type >= 2) return reinterpret_cast<uint32_t*>(resource.linear.address) + at;
  FakeArray* array = arrays.at(resource.array);
  if (!array->levels.empty()) array = array->levels.at(level);
  const size_t a_row = array->row_bytes / sizeof(uint32_t);
  return reinterpret_cast<uint32_t*>(&array->texels[at / a_row * array->pitch]) + at % a_row;
}

// Kernels with a texture and a surface behind their other arguments: each word becomes one more by way of them.
using WithTextures =
    std::function<void(uint32_t* words, uint32_t count, const Resource& texture, const Resource& surface)>;
void add_texels(uint32_t* words, uint32_t count, const Resource& texture, const Resource& surface) {
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t ones = *texel(texture, 0, i);
    words[i] += ones;
    *texel(surface, 0, i) += ones;
  }
}
const std::map<std::string, WithTextures> with_textures = {
    {"textures", add_texels},
    {"textures, one texel off",
     [](uint32_t* words, uint32_t count, const Resource& texture, const Resource& surface) {
       add_texels(words, count, texture, surface);
       ++*texel(surface, 0, count - 1);
     }},
    {"texture levels",
     [](uint32_t* words, uint32_t count, const Resource& texture, const Resource& surface) {
       for (uint32_t i = 0; i < count; i++) words[i] += *texel(texture, 1, i / 4);
       for (uint32_t i = 0; i < count; i++) *texel(surface, 0, i) += 1;
     }},
};

Result launch_with_textures(Function* function, void** arguments) {
  log("launch");
  auto* words = reinterpret_cast<uint32_t*>(*static_cast<Address*>(arguments[0]));
  auto count = *static_cast<uint32_t*>(arguments[1]);
  auto texture = textures.find(*static_cast<Object*>(arguments[2]));
  auto surface = surfaces.find(*static_cast<Object*>(arguments[3]));
  if (texture == textures.end() || surface == surfaces.end()) return broken = kIllegalAddress;
  return later([kernel = with_textures.at(function->name), words, count, of_texture = texture->second,
                of_surface = surface->second] { kernel(words, count, of_texture, of_surface); });
}

// Of a kernel of an application's.
Result launch(Function* function, void** arguments) {
  if (with_textures.contains(function->name)) return launch_with_textures(function, arguments);
  log("launch");
  log("launch with stack " + std::to_string(stack));
  auto* words = reinterpret_cast<uint32_t*>(*static_cast<Address*>(arguments[0]));
  auto count = *static_cast<uint32_t*>(arguments[1]);
  return later([kernel = kernels.at(function->name), words, count] { kernel(words, count); });
}

}  // namespace

extern "C" {

Result cuInit(unsigned) { return 0; }
Result cuDriverGetVersion(int* version) { return *version = 13000, 0; }
Result cuGetErrorString(Result result, const char** text) {
  *text = result == kIllegalAddress ? "an illegal memory access was encountered" : "an error that is played";
  return 0;
}
Result cuDeviceGet(int* device, int) { return *device = 0, 0; }
Result cuDeviceGetName(char* name, int size, int) { return std::snprintf(name, size, "played"), 0; }
Result cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == kL2CacheSize ? kCacheSize : 1;
  return 0;
}
Result cuDevicePrimaryCtxRetain(Context** context, int) {
  log("context");
  return *context = nullptr, 0;
}
Result cuCtxSetCurrent(Context*) { return 0; }
Result cuCtxGetLimit(size_t* value, int limit) { return *value = stack, limit == kStackSize ? broken : kInvalid; }
Result cuCtxSetLimit(int limit, size_t value) {
  if (limit != kStackSize || value > kMostStack) return kInvalid;
  log("stack " + std::to_string(value));
  stack = std::min(value, kLargestStack);
  return broken;
}

Result cuModuleLoadData(Module** module, const void* image) {
  std::string code = static_cast<const char*>(image);
  auto has = [&](const char* text) { return code.find(text) != std::string::npos; };
  const bool ours = has("count_differences") || has("entry compare_") || has("entry scaled_");
  if (ours ? lacks("kernels") : !kernels.contains(code) && !with_textures.contains(code)) return kNoImage;
  *module = new Module{code};
  return broken;
}
Result cuModuleLoadDataEx(Module** module, const void* image, unsigned, const int*, void**) {
  return cuModuleLoadData(module, image);
}
Result cuModuleUnload(Module* module) { return delete module, broken; }
Result cuModuleGetFunction(Function** function, Module* module, const char* name) {
  const bool is_applications = kernels.contains(module->code) || with_textures.contains(module->code);
  *function = new Function{is_applications ? module->code : name};
  return broken;
}
Result cuModuleGetGlobal_v2(Address*, size_t*, Module*, const char*) { return kNotFound; }
Result cuFuncSetAttribute(Function*, int, int) { return broken; }
Result cuFuncGetAttribute(int* value, int which, Function* function) {
  constexpr int kClusters[] = {4, 1, 2};
  const bool is_asked = which >= kRequiredCluster && which < kRequiredCluster + 3;
  *value = is_asked && function->name == "right, in clusters" ? kClusters[which - kRequiredCluster] : 0;
  return broken;
}

Result cuMemAlloc_v2(Address* address, size_t bytes) {
  if (lacks("memory")) return kNoMemory;
  *address = reinterpret_cast<Address>(std::aligned_alloc(kBytes, (bytes + kBytes - 1) / kBytes * kBytes));
  if (*address) std::memset(at(*address), 0xA5, bytes);
  return *address ? broken : kNoMemory;
}
Result cuMemFree_v2(Address address) {
  Result result = finish();
  std::free(at(address));
  return result;
}
Result cuMemGetAllocationGranularity(size_t* bytes, const MemoryProperties*, int) { return *bytes = 2 << 20, 0; }
Result cuMemAddressReserve(Address* address, size_t bytes, size_t, Address wanted, unsigned long long) {
  void* got = ::mmap(at(wanted), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return kNoMemory;
  *address = reinterpret_cast<Address>(got);
  reserved[*address] = bytes;
  return broken;
}
Result cuMemAddressFree(Address address, size_t bytes) {
  reserved.erase(address);
  return ::munmap(at(address), bytes);
}
Result cuMemCreate(Handle* handle, size_t bytes, const MemoryProperties*, unsigned long long) {
  static Handle next = 1;
  handles[*handle = next++] = bytes;
  return broken;
}
Result cuMemRelease(Handle handle) { return handles.erase(handle) ? 0 : kInvalid; }
Result cuMemMap(Address address, size_t bytes, size_t, Handle handle, unsigned long long) {
  if (!handles.contains(handle) || handles[handle] != bytes) return kInvalid;
  auto next = mapped.lower_bound(address + bytes);
  if (next != mapped.begin() && std::prev(next)->first + std::prev(next)->second > address) return kInvalid;
  if (::mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    return kNoMemory;
  }
  mapped[address] = bytes;
  std::memset(at(address), 0xA5, bytes);
  return broken;
}
Result cuMemUnmap(Address address, size_t bytes) {
  if (!mapped.contains(address) || mapped[address] != bytes || done < work.size()) return kInvalid;
  mapped.erase(address);
  ::mmap(at(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  log("unmapped");
  return broken;
}
Result cuMemSetAccess(Address, size_t, const Access*, size_t) { return broken; }

Result cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  if (is_pinned(memory, bytes) != 0) return kInvalid;
  log("pinned");
  pinned[static_cast<const char*>(memory)] = bytes;
  return broken;
}
Result cuMemHostUnregister(void* memory) { return pinned.erase(static_cast<const char*>(memory)) ? 0 : kInvalid; }
Result cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned) {
  return *address = reinterpret_cast<Address>(memory), broken;
}

Result cuMemsetD8Async(Address address, unsigned char value, size_t bytes, Stream*) {
  if (bytes == 2 * kCacheSize) log("cache emptied");
  return later([=] { std::memset(at(address), value, bytes); });
}
Result cuMemsetD8_v2(Address address, unsigned char value, size_t bytes) {
  return cuMemsetD8Async(address, value, bytes, nullptr);
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream*) {
  return later([=] { std::memmove(at(to), at(from), bytes); });
}
Result cuMemcpyDtoD_v2(Address to, Address from, size_t bytes) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr);
}
Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream*) {
  int known = is_pinned(from, bytes);
  if (known < 0) return kInvalid;
  if (known) return later([=] { std::memcpy(at(to), from, bytes); });
  std::string copy(static_cast<const char*>(from), bytes);
  return later([=] { std::memcpy(at(to), copy.data(), bytes); });
}
Result cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
  return finish();
}
Result cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  if (is_pinned(at(from), bytes) < 0) return kInvalid;  // as NVIDIA's driver does
  if (finish()) return broken;
  std::memcpy(to, at(from), bytes);
  return broken;
}

Result cuArray3DCreate_v2(Array* array, const ArrayDescription* wanted) {
  if (lacks("arrays")) return kNoMemory;
  log("array");
  *array = make_array(wanted->width * 4 * wanted->channels, std::max<size_t>(wanted->height, 1),
                      std::max<size_t>(wanted->depth, 1));
  return broken;
}
Result cuMipmappedArrayCreate(Array* array, const ArrayDescription* wanted, unsigned levels) {
  log("array");
  FakeArray* whole = make_array(4, 1, 1);
  for (unsigned level = 0; level < levels; level++) {
    whole->levels.push_back(make_array(std::max<size_t>(wanted->width >> level, 1) * 4 * wanted->channels,
                                       std::max<size_t>(wanted->height >> level, 1),
                                       std::max<size_t>(wanted->depth >> level, 1)));
  }
  *array = whole;
  return broken;
}
Result cuMipmappedArrayGetLevel(Array* array, Array levels, unsigned level) {
  FakeArray* whole = arrays.at(levels);
  if (level >= whole->levels.size()) return kInvalid;
  return *array = whole->levels[level], broken;
}
Result cuArrayDestroy(Array array) {
  log("array destroyed");
  if (Result result = finish()) return result;
  return arrays.erase(array) ? 0 : kInvalid;
}
Result cuMipmappedArrayDestroy(Array array) { return cuArrayDestroy(array); }
// Between an array and memory, as late as it may: of pitched memory to where rows have gaps.
Result cuMemcpy3D_v2(const Copy* copied) {
  if (lacks("array_copies")) return kInvalid;
  const bool to_array = copied->to.type == vendor::cuda::kArrayMemory;
  const auto& of_array = to_array ? copied->to : copied->from;
  const auto& of_memory = to_array ? copied->from : copied->to;
  auto found = arrays.find(of_array.array);
  if (found == arrays.end() || of_memory.type != vendor::cuda::kDeviceMemory) return kInvalid;
  FakeArray* array = found->second;
  if (copied->row_bytes != array->row_bytes || copied->rows != array->rows || copied->slices != array->slices) {
    return kInvalid;
  }
  log(to_array ? "array filled" : "array read");
  return later([=, memory = of_memory] {
    for (size_t slice = 0; slice < array->slices; slice++) {
      for (size_t row = 0; row < array->rows; row++) {
        char* texels = &array->texels[(slice * array->rows + row) * array->pitch];
        char* bytes = at(memory.device) + (slice * memory.height + row) * memory.pitch;
        std::memcpy(to_array ? texels : bytes, to_array ? bytes : texels, array->row_bytes);
      }
    }
  });
}
Result cuTexObjectCreate(Object* object, const Resource* resource, const Sampling* sampling, const View* view) {
  if (lacks("textures")) return kInvalid;
  log("texture with filter " + std::to_string(sampling->words[3]) + (view ? " and a view" : ""));
  return make_object(textures, kFirstTexture, object, *resource);
}
Result cuTexObjectDestroy(Object object) { return textures.erase(object) ? broken : kInvalid; }
Result cuSurfObjectCreate(Object* object, const Resource* resource) {
  return make_object(surfaces, kFirstSurface, object, *resource);
}
Result cuSurfObjectDestroy(Object object) { return surfaces.erase(object) ? broken : kInvalid; }

Result cuLaunchKernel(Function* function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned block_y,
                      unsigned, unsigned, Stream*, void** arguments, void**) {
  if (kernels.contains(function->name) || with_textures.contains(function->name)) return launch(function, arguments);
  // Values of arguments are read now, as the driver does.
  if (function->name == "put_back") {
    return cuMemcpyDtoDAsync_v2(*static_cast<Address*>(arguments[0]), *static_cast<Address*>(arguments[1]),
                                size_t{grid_x} * *static_cast<unsigned*>(arguments[2]), nullptr);
  }
  Address values[3];
  for (int i = 0; i < 3; i++) values[i] = *static_cast<Address*>(arguments[i]);
  if (function->name.starts_with("compare_") || function->name.starts_with("scaled_")) {
    if (!fits_comparison(block_x, block_y)) return kInvalid;
    log(function->name);
    double scale = *static_cast<double*>(arguments[3]);
    return later([=, kernel = function->name] {
      if (!fake_comparison(kernel, values[0], values[1], values[2], scale, grid_x)) broken = kNotFound;
    });
  }
  return later([=]() mutable {
    void* pointers[] = {&values[0], &values[1], &values[2]};
    count_differences(pointers, grid_x);
  });
}
Result cuLaunchKernelEx(const LaunchConfiguration* configuration, Function* function, void** arguments, void**) {
  for (unsigned i = 0; i < configuration->count; i++) {
    const LaunchAttribute& attribute = configuration->attributes[i];
    if (attribute.which == kLaunchCooperative && attribute.value[0] == 1) log("cooperative");
    if (attribute.which == kLaunchClusterDimension) {
      log("cluster " + std::to_string(attribute.value[0]) + " " + std::to_string(attribute.value[1]) + " " +
          std::to_string(attribute.value[2]));
    }
  }
  return launch(function, arguments);
}

Result cuCtxSynchronize() { return finish(); }
Result cuEventCreate(Event** event, unsigned) { return *event = new Event, broken; }
Result cuEventDestroy_v2(Event* event) { return delete event, 0; }
Result cuEventRecord(Event* event, Stream*) { return event->behind = work.size(), broken; }
Result cuEventSynchronize(Event* event) { return finish(event->behind); }
Result cuEventElapsedTime(float* milliseconds, Event*, Event*) { return *milliseconds = 0.5F, broken; }
}

}  // namespace mneme::device::cuda
