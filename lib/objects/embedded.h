// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-inject embeds in a device code object, for AMD's GPUs and NVIDIA's alike: section ".mneme.ir" holds, one
// after another, each aligned to 16 bytes and padded with zeros,
//   "MNEMEIR1"  u64 size of the json  u64 size of the bitcode (both little-endian)  json  bitcode
// The json is the kernel's KernelInfo (bundle/format.h), so that nobody needs LLVM to read it.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::objects {

inline constexpr std::string_view kEmbeddedMagic = "MNEMEIR1";
inline constexpr std::string_view kEmbeddedSection = ".mneme.ir";
inline constexpr size_t kEmbeddedAlign = 16;

struct EmbeddedKernel {
  bundle::KernelInfo info;
  std::string_view json;  // both within the bytes that were parsed
  Bytes bitcode;
};

// The record for one kernel, padded to kEmbeddedAlign.
std::string write_embedded(std::string_view json, Bytes bitcode);

// Every kernel in a section's bytes. Throws Error on anything malformed.
std::vector<EmbeddedKernel> parse_embedded(Bytes section, const std::string& where);

// The bytes of the section named `name` in a 64-bit little-endian ELF image, empty if it has none.
// Every offset is checked against `elf`; throws Error on a malformed image.
Bytes elf_section(Bytes elf, std::string_view name, const std::string& where);

// The same of the section of that index; empty: there is none.
Bytes elf_section_at(Bytes elf, uint64_t index, const std::string& where);

// The index of the section of that name, as symbols have it; nullopt: there is none.
std::optional<uint16_t> index_of_section(Bytes elf, std::string_view name, const std::string& where);

// The image with one more section, at its end: it is no part of what is loaded, and everything else stays where it was.
// Throws Error on a malformed image, or one without section names.
std::string with_section(Bytes elf, std::string_view name, std::string_view contents, const std::string& where);

// An exported variable of a 64-bit little-endian ELF image, nothing when there is none of that name. Throws Error on a
// malformed image.
struct ElfVariable {
  uint64_t size = 0;
  Bytes first;  // what it holds at first, without its relocations; empty: zeros
};
std::optional<ElfVariable> elf_variable(Bytes elf, std::string_view name, const std::string& where);

// Whether such an image may have a function or variable of that name, also one that is not exported: it has one, or
// does not say what it has.
bool elf_may_have(Bytes elf, std::string_view name, const std::string& where);

// The device code objects (ELF images for AMD's GPUs, cubins for NVIDIA's) that an executable or a registered fat
// binary carries.
struct DeviceCode {
  std::string target;                        // "hipv4-amdgcn-amd-amdhsa--gfx90a", "nvptx64-nvidia-cuda--sm_90"
  Bytes image;                               // within what was parsed, or within `owner`
  std::shared_ptr<const std::string> owner;  // of compressed code: what it decompressed to
  // Of code that is packed still, and whose image is empty: decompresses it. Throws Error where it is damaged.
  std::function<std::shared_ptr<const std::string>()> unpack = {};
};
// The image, unpacked if it has not been.
Bytes image_of(DeviceCode& code);

// `fatbin` is what a registration wrapper's data points to: clang's offload bundle, plain or compressed, or CUDA's fat
// binary. `size` unknown (registered in memory): pass SIZE_MAX and the header's own sizes are used.
std::vector<DeviceCode> device_code_of_fatbin(const std::byte* fatbin, size_t size, const std::string& where);
// The same, with CUDA's compressed code left packed. `ptx`, unless null, gets the PTX, by targets such as
// "nvptx64-nvidia-cuda--sm_90"; its image is the text without the zero that ends it.
std::vector<DeviceCode> packed_code_of_fatbin(const std::byte* fatbin, size_t size, const std::string& where,
                                              std::vector<DeviceCode>* ptx);
// How many bytes the fat binary has that `bytes` starts with.
size_t size_of_fatbin(Bytes bytes, const std::string& where);
// What a program loads as a module, in a file or in memory: a fat binary, one code object by itself, or PTX. `size`
// and `ptx` as above.
std::vector<DeviceCode> device_code_of_image(const std::byte* image, size_t size, const std::string& where);
std::vector<DeviceCode> packed_code_of_image(const std::byte* image, size_t size, const std::string& where,
                                             std::vector<DeviceCode>* ptx);
// How many bytes an image in memory has, by its own headers. Throws Error for what is neither.
size_t size_of_image(const std::byte* image, const std::string& where);
// Of a fat binary's texts that for the newest processor; null: there are none.
DeviceCode* newest_ptx(std::vector<DeviceCode>& ptx);
// The PTX of units that a program is linked of (nvcc -rdc=true), by their fat binaries: of each the newest, one behind
// the other, left packed. Its target is empty where there is none. The units' bytes have to stay until it is unpacked.
DeviceCode linked_ptx(const std::vector<Bytes>& units, const std::string& where);
// The same, of the units in the section "__nv_relfatbin".
DeviceCode linked_ptx_of_executable(Bytes file, const std::string& where);
// Of a host executable or object file: every fat binary in sections ".hip_fatbin" and ".nv_fatbin". `ptx` as above; it
// also gets the PTX of linked units, as one.
std::vector<DeviceCode> device_code_of_executable(Bytes file, const std::string& where,
                                                  std::vector<DeviceCode>* ptx = nullptr);

}  // namespace mneme::objects
