// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texture references: variables of the program, on the host with the texture's description, on the device with the
// texture object that is bound to them.
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"
#include "hostgpu/kernels/registration.h"
#include "hostgpu/textures/arrays.h"
#include "hostgpu/textures/textures.h"

namespace mneme::hostgpu {
namespace {

// What a reference is bound to, and what its structure has no room for.
struct Binding {
  hipTextureObject_t object = nullptr;
  hipResourceDesc resource = {};
  float border[4] = {};
};

struct Bindings {
  HeldOverForks<std::mutex> mutex;
  std::map<const textureReference*, Binding> all;
};

Bindings& bindings() {
  static auto* only = new Bindings;
  return *only;
}

// The same reference as the application may change it.
textureReference& changed(const textureReference* reference) { return *const_cast<textureReference*>(reference); }

void set_object(const textureReference* reference, hipTextureObject_t object) {
  auto* device = static_cast<std::byte*>(registered_symbol(reference).address);
  static_cast<void>(hipDeviceSynchronize());  // kernels may be using what was bound before
  std::memcpy(device + offsetof(textureReference, textureObject), &object, sizeof object);
  changed(reference).textureObject = object;
}

void unbind(const textureReference* reference, Binding& binding) {
  if (!binding.object) return;
  set_object(reference, nullptr);
  destroy_texture(std::exchange(binding.object, nullptr));
  binding.resource = {};
}

void bind(const textureReference* reference, const hipResourceDesc& resource) {
  require(reference);
  registered_symbol(reference);
  std::lock_guard lock(bindings().mutex);
  Binding& binding = bindings().all[reference];
  hipTextureDesc texture = {};
  std::copy_n(reference->addressMode, 3, texture.addressMode);
  texture.filterMode = reference->filterMode;
  texture.readMode = reference->readMode;
  texture.sRGB = reference->sRGB;
  texture.normalizedCoords = reference->normalized;
  std::copy_n(binding.border, 4, texture.borderColor);
  hipTextureObject_t object = make_texture(resource, texture, nullptr);
  unbind(reference, binding);
  binding.object = object;
  binding.resource = resource;
  set_object(reference, object);
}

hipResourceDesc linear(const void* start, const hipChannelFormatDesc& channels, size_t size) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear = {const_cast<void*>(start), channels, size};
  return resource;
}

hipResourceDesc pitched(const void* start, const hipChannelFormatDesc& channels, size_t width, size_t height,
                        size_t pitch) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D = {const_cast<void*>(start), channels, width, height, pitch};
  return resource;
}

hipResourceDesc of_array(hipArray_const_t array) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = const_cast<hipArray_t>(array);
  return resource;
}

// The size that hipBindTexture has by default stands for all there is.
size_t bytes_from(const void* start, size_t size) {
  hipDeviceptr_t base = nullptr;
  size_t whole = 0;
  if (size != UINT32_MAX || hipMemGetAddressRange(&base, &whole, const_cast<void*>(start)) != hipSuccess) return size;
  size_t before = static_cast<size_t>(static_cast<const std::byte*>(start) - static_cast<std::byte*>(base));
  return std::min(size, whole - before);
}

hipChannelFormatDesc channels_of_reference(const textureReference& reference) {
  return channels_of(format_of(reference.format, static_cast<unsigned>(reference.numChannels)));
}

// A setter or a getter of one member.
template <typename Body>
hipError_t with(const textureReference* reference, const Body& body) {
  return answer([&] {
    require(reference);
    body(changed(reference));
  });
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipBindTexture(size_t* offset, const textureReference* reference, const void* start,
                          const hipChannelFormatDesc* channels, size_t size) {
  return answer_on_device([&] {
    require(channels && start && size);
    bind(reference, linear(start, *channels, bytes_from(start, size)));
    if (offset) *offset = 0;
  });
}

hipError_t hipBindTexture2D(size_t* offset, const textureReference* reference, const void* start,
                            const hipChannelFormatDesc* channels, size_t width, size_t height, size_t pitch) {
  return answer_on_device([&] {
    require(channels && start);
    bind(reference, pitched(start, *channels, width, height, pitch));
    if (offset) *offset = 0;
  });
}

hipError_t hipBindTextureToArray(const textureReference* reference, hipArray_const_t array,
                                 const hipChannelFormatDesc* channels) {
  return answer_on_device([&] {
    require(channels && array);
    bind(reference, of_array(array));
  });
}

hipError_t hipUnbindTexture(const textureReference* reference) {
  return answer_on_device([&] {
    require(reference);
    std::lock_guard lock(bindings().mutex);
    auto found = bindings().all.find(reference);
    if (found != bindings().all.end()) unbind(reference, found->second);
  });
}

hipError_t hipGetTextureReference(const textureReference** reference, const void* symbol) {
  return answer([&] {
    require(reference);
    registered_symbol(symbol);
    *reference = static_cast<const textureReference*>(symbol);
  });
}

hipError_t hipGetTextureAlignmentOffset(size_t* offset, const textureReference* reference) {
  return answer([&] {
    require(offset && reference);
    *offset = 0;
  });
}

hipError_t hipTexRefSetArray(textureReference* reference, hipArray_const_t array, unsigned flags) {
  return answer_on_device([&] {
    require(flags == HIP_TRSA_OVERRIDE_FORMAT && array);
    bind(reference, of_array(array));
  });
}

hipError_t hipTexRefSetAddress(size_t* offset, textureReference* reference, hipDeviceptr_t start, size_t size) {
  return answer_on_device([&] {
    require(reference && start);
    bind(reference, linear(start, channels_of_reference(*reference), size));
    if (offset) *offset = 0;
  });
}

hipError_t hipTexRefSetAddress2D(textureReference* reference, const HIP_ARRAY_DESCRIPTOR* wanted, hipDeviceptr_t start,
                                 size_t pitch) {
  return answer_on_device([&] {
    require(reference && wanted && start);
    bind(reference, pitched(start, channels_of(format_of(wanted->Format, wanted->NumChannels)), wanted->Width,
                            wanted->Height, pitch));
  });
}

hipError_t hipTexRefGetAddress(hipDeviceptr_t* start, const textureReference* reference) {
  return answer([&] {
    require(start && reference);
    std::lock_guard lock(bindings().mutex);
    const Binding& binding = bindings().all[reference];
    require(binding.object && binding.resource.resType != hipResourceTypeArray);
    *start = binding.resource.resType == hipResourceTypeLinear ? binding.resource.res.linear.devPtr
                                                               : binding.resource.res.pitch2D.devPtr;
  });
}

hipError_t hipTexRefSetAddressMode(textureReference* reference, int axis, hipTextureAddressMode mode) {
  return with(reference, [&](textureReference& r) {
    require(axis >= 0 && axis < 3);
    r.addressMode[axis] = mode;
  });
}
hipError_t hipTexRefGetAddressMode(hipTextureAddressMode* mode, const textureReference* reference, int axis) {
  return with(reference, [&](textureReference& r) {
    require(mode && axis >= 0 && axis < 3);
    *mode = r.addressMode[axis];
  });
}

hipError_t hipTexRefSetFilterMode(textureReference* reference, hipTextureFilterMode mode) {
  return with(reference, [&](textureReference& r) { r.filterMode = mode; });
}
hipError_t hipTexRefGetFilterMode(hipTextureFilterMode* mode, const textureReference* reference) {
  return with(reference, [&](textureReference& r) {
    require(mode);
    *mode = r.filterMode;
  });
}

hipError_t hipTexRefSetFlags(textureReference* reference, unsigned flags) {
  return with(reference, [&](textureReference& r) {
    r.readMode = flags & HIP_TRSF_READ_AS_INTEGER ? hipReadModeElementType : hipReadModeNormalizedFloat;
    r.normalized = (flags & HIP_TRSF_NORMALIZED_COORDINATES) != 0;
    r.sRGB = (flags & HIP_TRSF_SRGB) != 0;
  });
}
hipError_t hipTexRefGetFlags(unsigned* flags, const textureReference* reference) {
  return with(reference, [&](textureReference& r) {
    require(flags);
    *flags = (r.readMode == hipReadModeElementType ? HIP_TRSF_READ_AS_INTEGER : 0u) |
             (r.normalized ? HIP_TRSF_NORMALIZED_COORDINATES : 0u) | (r.sRGB ? HIP_TRSF_SRGB : 0u);
  });
}

hipError_t hipTexRefSetFormat(textureReference* reference, hipArray_Format format, int channels) {
  return with(reference, [&](textureReference& r) {
    r.channelDesc = channels_of(format_of(format, static_cast<unsigned>(channels)));
    r.format = format;
    r.numChannels = channels;
  });
}
hipError_t hipTexRefGetFormat(hipArray_Format* format, int* channels, const textureReference* reference) {
  return with(reference, [&](textureReference& r) {
    require(format && channels);
    *format = r.format;
    *channels = r.numChannels;
  });
}

hipError_t hipTexRefSetBorderColor(textureReference* reference, float* color) {
  return with(reference, [&](textureReference& r) {
    require(color);
    std::lock_guard lock(bindings().mutex);
    std::copy_n(color, 4, bindings().all[&r].border);
  });
}

// There is one level, and it is not filtered along slopes: these are only kept.
hipError_t hipTexRefSetMaxAnisotropy(textureReference* reference, unsigned value) {
  return with(reference, [&](textureReference& r) { r.maxAnisotropy = value; });
}
hipError_t hipTexRefGetMaxAnisotropy(int* value, const textureReference* reference) {
  return with(reference, [&](textureReference& r) {
    require(value);
    *value = static_cast<int>(r.maxAnisotropy);
  });
}

}  // extern "C"
