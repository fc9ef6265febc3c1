// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/device_kernel.h"

#include <map>
#include <utility>

#include "base/error.h"
#include "verify/kernels/code_pack.h"

// MNEME_KERNELS_V… are the code packs that the build makes of kernels/compare.cc.
#define MNEME_EMBED(level, file) \
  asm(".pushsection .rodata\n"   \
      ".balign 8\n"              \
      "mneme_comparison_" level  \
      "_begin:\n"                \
      ".incbin \"" file          \
      "\"\n"                     \
      "mneme_comparison_" level  \
      "_end:\n"                  \
      ".popsection\n")
MNEME_EMBED("v2", MNEME_KERNELS_V2);
MNEME_EMBED("v3", MNEME_KERNELS_V3);
MNEME_EMBED("v4", MNEME_KERNELS_V4);
MNEME_EMBED("cuda", MNEME_KERNELS_CUDA);
MNEME_EMBED("hip", MNEME_KERNELS_HIP);
#define MNEME_EMBEDDED(level)                                                                          \
  extern "C" __attribute__((visibility("hidden"))) const std::byte mneme_comparison_##level##_begin[]; \
  extern "C" __attribute__((visibility("hidden"))) const std::byte mneme_comparison_##level##_end[]
MNEME_EMBEDDED(v2);
MNEME_EMBEDDED(v3);
MNEME_EMBEDDED(v4);
MNEME_EMBEDDED(cuda);
MNEME_EMBEDDED(hip);

namespace mneme::verify {
namespace {

Bytes host_kernels(unsigned best_level) {
  if (best_level >= 4 && __builtin_cpu_supports("x86-64-v4"))
    return {mneme_comparison_v4_begin, mneme_comparison_v4_end};
  if (best_level >= 3 && __builtin_cpu_supports("x86-64-v3"))
    return {mneme_comparison_v3_begin, mneme_comparison_v3_end};
  return {mneme_comparison_v2_begin, mneme_comparison_v2_end};
}

// The code of a pack that was wanted so far.
class Loaded {
 public:
  Loaded(device::Device& device, Bytes pack) : device_(device), pack_(pack) {}

  device::Code& code(ElementType type, bool scaled) {
    auto& loaded = loaded_[{type, scaled}];
    if (!loaded) {
      bundle::KernelInfo kernel;
      kernel.name = kernel.demangled = comparison_kernel_name(type, scaled);
      loaded = device_.load(kernel, packed_code(pack_, type, scaled));
    }
    return *loaded;
  }

 private:
  device::Device& device_;
  Bytes pack_;
  std::map<std::pair<ElementType, bool>, std::unique_ptr<device::Code>> loaded_;
};

// A kernel's.
struct Arguments {
  const void *expected, *replayed;
  void* out;
  double scale;
};

class DeviceKernel : public ElementKernel {
 public:
  DeviceKernel(device::Device& device, Bytes pack) : device_(device), loaded_(device, pack) {}

  void compare(ElementType type, Measure measure, const std::byte* expected, const std::byte* replayed,
               std::span<ChunkErrors> out) override {
    device::Launch launch;
    launch.grid = {static_cast<uint32_t>(out.size()), 1, 1};
    launch.block = {1, 1, 1};
    const Arguments arguments{expected, replayed, out.data(), measure.value_or(0)};
    launch.arguments.assign(reinterpret_cast<const char*>(&arguments), sizeof arguments);
    device_.execute(loaded_.code(type, measure.has_value()), launch);
  }

 private:
  device::Device& device_;
  Loaded loaded_;
};

Bytes cuda_kernels() { return {mneme_comparison_cuda_begin, mneme_comparison_cuda_end}; }

Bytes hip_kernels() {
  static const std::string pack = objects::unpacked({mneme_comparison_hip_begin, mneme_comparison_hip_end});
  return bytes_of(pack);
}

class GpuKernel : public ImageKernel {
 public:
  GpuKernel(device::Device& device, Bytes pack) : loaded_(device, pack) {}

  void compare(ElementType type, Measure measure, device::Image& expected, uint64_t address,
               std::span<ChunkErrors> out) override {
    expected.compare(loaded_.code(type, measure.has_value()), address, out.size() * kChunk * size_of(type),
                     static_cast<uint32_t>(out.size()), {kLanes, kRows, 1}, measure.value_or(0),
                     std::as_writable_bytes(out));
  }

 private:
  Loaded loaded_;
};

}  // namespace

std::unique_ptr<ElementKernel> make_device_kernel(device::Device& device, unsigned best_level) {
  if (device.name() != "host") throw Error::of("there are no comparison kernels for the device '{}'", device.name());
  return std::make_unique<DeviceKernel>(device, host_kernels(best_level));
}

std::unique_ptr<ImageKernel> make_image_kernel(device::Device& device) {
  if (device.name() == "cuda") return std::make_unique<GpuKernel>(device, cuda_kernels());
  if (device.name() == "hip") return std::make_unique<GpuKernel>(device, hip_kernels());
  return nullptr;
}

Bytes cuda_kernel(ElementType type, bool scaled) { return packed_code(cuda_kernels(), type, scaled); }

}  // namespace mneme::verify
