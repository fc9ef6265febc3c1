// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: CUDA kernels given as LLVM IR, compiled for the host and run one block at a time.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/host/host.h"
#include "codegen/host/neutral/test_block.h"

namespace mneme::codegen::host {

inline constexpr char kNvptxHead[] = R"(
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
)";

inline bundle::KernelInfo nvptx_kernel(unsigned pointers) {
  bundle::KernelInfo kernel;
  kernel.name = kernel.demangled = "k";
  kernel.wave_size = 32;
  kernel.argument_bytes = pointers * 8;
  for (unsigned i = 0; i < pointers; ++i) kernel.arguments.push_back({i * 8, 8, "pointer", "ptr", {}});
  return kernel;
}

// What a kernel did besides writing memory.
struct NvptxEvents {
  std::string printed;
  uint32_t stopped = 0;  // BlockFault
  int grids = 0, yields = 0;
  std::string images;  // what was asked of textures and surfaces
};

class NvptxCode {
  LoadedCode code_;

 public:
  NvptxCode(const bundle::KernelInfo& kernel, const std::string& text, const std::string& passes = "default<O3>",
            const std::string& form = "auto")
      : NvptxCode(kernel, kNvptxHead + text, configuration_of(passes, form)) {}
  // All of the IR, as text or bitcode.
  NvptxCode(const bundle::KernelInfo& kernel, std::string_view ir, const bundle::Configuration& configuration)
      : code_(compile(kernel, ir, configuration).code), object(code_.object) {}

  CodeObject* object;

  // `arguments`: the argument bytes.
  NvptxEvents run(const void* arguments, uint32_t threads, uint32_t shared_dynamic = 0) {
    NvptxEvents events;
    Services services = {};
    services.stop = [](BlockContext* context, uint32_t, uint32_t fault, const char*) {
      events_of(context).stopped = fault;
    };
    services.print_begin = [](BlockContext*, uint32_t, uint32_t) { return uint64_t{1}; };
    services.print_string = [](BlockContext* context, uint32_t, uint64_t, const char* text, uint64_t length, uint32_t) {
      events_of(context).printed += std::string(text, length - 1) + "|";
      return uint64_t{1};
    };
    services.print_words = [](BlockContext* context, uint32_t, uint64_t, uint32_t count, uint64_t a, uint64_t b,
                              uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint32_t) {
      uint64_t words[] = {a, b, c, d, e, f, g};
      for (uint32_t i = 0; i < count; ++i) events_of(context).printed += std::to_string(words[i]) + "|";
      return uint64_t{7};
    };
    services.allocate = [](BlockContext*, uint32_t, uint64_t size) { return std::malloc(size); };
    services.release = [](BlockContext*, uint32_t, void* address) { std::free(address); };
    services.converge_grid = [](BlockContext* context, uint32_t) { ++events_of(context).grids; };
    services.wall_clock = [](BlockContext*, uint32_t) { return uint64_t{5}; };
    services.yield = [](BlockContext* context, uint32_t, uint32_t) { ++events_of(context).yields; };
    services.print_count = [](BlockContext*, uint32_t, const char* format) {
      return static_cast<uint32_t>(std::string_view(format).size());
    };
    services.diverged = [](BlockContext*, uint32_t, const uint32_t*, uint32_t) {};
    note_images(services);
    TestBlock block(*object, arguments, {.threads = threads, .shared_dynamic = shared_dynamic});
    EXPECT_EQ(block.run(services, &events).fault, kNoFault);
    return events;
  }

  static bundle::Configuration configuration_of(const std::string& passes, const std::string& form) {
    bundle::Configuration configuration;
    configuration.target = default_target();
    configuration.passes = passes;
    configuration.form = form;
    return configuration;
  }

 private:
  // Textures whose texels are 1, 2, 3 and 4, as floats, and surfaces that hold bytes 1, 2, 3, …
  static void note_images(Services& services) {
    constexpr Texel kNumbers{0x3f800000, 0x40000000, 0x40400000, 0x40800000};
    services.image_load = [](BlockContext* context, uint32_t, uint64_t image, int32_t x, int32_t y, int32_t z) {
      events_of(context).images += fmt::format("load {} at {} {} {}|", image, x, y, z);
      return kNumbers;
    };
    services.image_sample = [](BlockContext* context, uint32_t, uint64_t image, uint64_t sampler, uint32_t shape,
                               float x, float y, float z, float layer, float level) {
      events_of(context).images += fmt::format("sample {} by {} shape {} at {} {} {} layer {} level {}|", image,
                                               sampler, shape, x, y, z, layer, level);
      return kNumbers;
    };
    services.image_gather = [](BlockContext* context, uint32_t, uint64_t image, uint64_t sampler, uint32_t channel,
                               float x, float y) {
      events_of(context).images += fmt::format("gather {} by {} channel {} at {} {}|", image, sampler, channel, x, y);
      return kNumbers;
    };
    services.image_query = [](BlockContext* context, uint32_t, uint64_t image, uint32_t what) {
      events_of(context).images += fmt::format("query {} of {}|", what, image);
      return uint32_t{17};
    };
    services.image_level = [](BlockContext* context, uint32_t, uint64_t image, uint64_t, uint32_t shape, float x0,
                              float y0, float z0, float x1, float y1, float z1) {
      events_of(context).images +=
          fmt::format("slopes {} shape {}: {} {} {}, {} {} {}|", image, shape, x0, y0, z0, x1, y1, z1);
      return 2.5f;
    };
    services.surface_load = [](BlockContext* context, uint32_t, uint64_t image, uint32_t bytes, uint32_t bounds,
                               int32_t x, int32_t y, int32_t z) {
      events_of(context).images += fmt::format("read {} of {} bounds {} at {} {} {}|", bytes, image, bounds, x, y, z);
      return Texel{0x04030201, 0x08070605, 0x0c0b0a09, 0x100f0e0d};
    };
    services.surface_store = [](BlockContext* context, uint32_t, uint64_t image, uint32_t bytes, uint32_t bounds,
                                int32_t x, int32_t y, int32_t z, Texel texel) {
      events_of(context).images += fmt::format("write {} of {} bounds {} at {} {} {}: {:x} {:x} {:x} {:x}|", bytes,
                                               image, bounds, x, y, z, +texel[0], +texel[1], +texel[2], +texel[3]);
    };
  }

  static NvptxEvents& events_of(BlockContext* context) { return *static_cast<NvptxEvents*>(context->launch); }
};

// What compile() throws for a kernel of no arguments with this body; empty: nothing.
inline std::string nvptx_refusal(const std::string& body, const std::string& declarations = "") {
  try {
    NvptxCode(nvptx_kernel(0), declarations + "\ndefine ptx_kernel void @k() {\n" + body + "\nret void\n}\n");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace mneme::codegen::host
