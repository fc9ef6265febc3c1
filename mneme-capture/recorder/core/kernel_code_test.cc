// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/kernel_code.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "recorder/core/sample_cubin.h"

namespace mneme::record {
namespace {

using objects::DeviceCode;
using objects::Parameters;

constexpr char kName[] = "scale";

const std::string kInfo = parameter(1, 8, 4) + parameter(0, 0, 8) + parameter(2, 16, 16);

DeviceCode code_for(const char* processor, const std::string& image) {
  const std::string target = *processor ? std::string("nvptx64-nvidia-cuda--") + processor : "nvptx64-nvidia-cuda";
  return {target, bytes_of(image), nullptr};
}

std::optional<Parameters> ask_nobody() { return std::nullopt; }

KernelCode code_of(Codes cubins, Codes ptx, const std::string& processor) {
  return kernel_code(kName, choose_code(kName, cubins, ptx, processor), processor, ask_nobody);
}

std::string refusal(const Codes& cubins, const Codes& ptx = {}) {
  try {
    code_of(cubins, ptx, "sm_86");
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(KernelCode, IsDescribedByACubin) {
  const std::string image = cubin(kInfo);
  const KernelCode code = code_of({code_for("sm_86", image)}, {}, "sm_86");
  EXPECT_EQ(text_of(code.code), image);
  EXPECT_TRUE(code.ptx.empty());
  EXPECT_EQ(code.info.code, "kernel.cubin");
  EXPECT_EQ(code.info.code_digest, digest_of(image));
  EXPECT_EQ(code.info.target, "nvptx64-nvidia-cuda--sm_86");
  EXPECT_EQ(code.info.argument_bytes, 32u);
  std::string arguments, globals;
  for (const auto& argument : code.info.arguments) {
    arguments += fmt::format("{} {} {} {}; ", argument.offset, argument.size, argument.kind, argument.type);
  }
  for (const auto& global : code.info.globals) {
    globals += fmt::format("{} {} {}; ", global.name, global.size, global.constant);
  }
  EXPECT_EQ(arguments, "0 8 struct [8 x i8]; 8 4 scalar i32; 16 16 struct [16 x i8]; ");
  EXPECT_EQ(globals, "counter 4 false; factors 16 true; ");
  // The same of a kernel that calls the driver's malloc: its heap is out of reach.
  const std::string allocating = cubin(kInfo + attribute(0x0f, words(uint32_t{4})));
  EXPECT_TRUE(uses(code_of({code_for("sm_86", allocating)}, {}, "sm_86").info, bundle::kDeviceHeap));
}

TEST(KernelCode, NeedsNoPtxThatIsDamaged) {
  DeviceCode damaged = code_for("sm_80", {});
  damaged.unpack = []() -> std::shared_ptr<const std::string> { throw Error("the PTX is damaged"); };
  const std::string image = cubin(kInfo);
  const KernelCode code = code_of({code_for("sm_86", image)}, {damaged}, "sm_86");
  EXPECT_EQ(text_of(code.code), image);
  EXPECT_TRUE(code.ptx.empty());
  EXPECT_EQ(refusal({}, {damaged}), "the PTX is damaged");
}

TEST(KernelCode, SaysWhichTexturesItUses) {
  auto of = [](const std::string& body) {
    return code_of({}, {code_for("sm_80", ".version 8.5\n.entry scale(.param .u64 d, .param .u64 t) { " + body + " }")},
                   "sm_86")
        .info;
  };
  const std::string use = "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];";
  const bundle::KernelInfo none = of("ret;"), argument = of("ld.param.u64 %rd1, [t];" + use),
                           unknown = of("call f, (p);" + use);
  EXPECT_FALSE(uses(none, bundle::kTextures));
  EXPECT_TRUE(uses(argument, bundle::kTextures));
  EXPECT_EQ(argument.handles, (std::vector<bundle::Handle>{{8, false}}));
  EXPECT_TRUE(uses(unknown, bundle::kTextures));
  EXPECT_TRUE(unknown.handles.empty());
  EXPECT_FALSE(uses(of("call f, (p);"), bundle::kTextures));
  // Beside a cubin with other parameters.
  const std::string image = cubin(kInfo),
                    text = ".version 8.5\n.entry scale(.param .u64 t) { ld.param.u64 %rd1, [t];" + use + "}";
  const bundle::KernelInfo other = code_of({code_for("sm_86", image)}, {code_for("sm_80", text)}, "sm_86").info;
  EXPECT_TRUE(other.handles.empty());
  EXPECT_FALSE(uses(other, bundle::kTextures));
}

TEST(KernelCode, IsWhatTheDeviceRuns) {
  std::vector<std::string> images;
  for (char i = '0'; i < '5'; ++i) images.push_back(cubin(kInfo) + i);
  const std::string ptx = ".version 9.0\n.target sm_80\n.entry scale(.param .u64 a) { ret; }", other = ".version 9.0";
  const std::vector<DeviceCode> cubins = {code_for("sm_75", images[0]), code_for("sm_80", images[1]),
                                          code_for("sm_86", images[2]), code_for("sm_90", images[3]),
                                          code_for("sm_90a", images[4])};
  const std::vector<DeviceCode> texts = {code_for("sm_70", other), code_for("sm_80", ptx)};
  auto chosen = [&](const char* processor) { return code_of(cubins, texts, processor); };
  EXPECT_EQ(text_of(chosen("sm_80").code), images[1]);
  EXPECT_EQ(text_of(chosen("sm_87").code), images[2]);
  EXPECT_EQ(text_of(chosen("sm_90").code), images[4]) << "made for it alone";
  EXPECT_EQ(text_of(chosen("sm_90").ptx), ptx);
  EXPECT_TRUE(chosen("sm_75").ptx.empty()) << "it is for later ones";
  const KernelCode compiled = chosen("sm_100");
  EXPECT_EQ(text_of(compiled.code), ptx) << "by the driver";
  EXPECT_EQ(compiled.info.code, "kernel.ptx");
  EXPECT_EQ(compiled.info.target, "nvptx64-nvidia-cuda--sm_100");
  EXPECT_TRUE(compiled.ptx.empty());
  // A cubin by itself is what was loaded.
  EXPECT_EQ(text_of(code_of({code_for("", images[0])}, {}, "sm_90").code), images[0]);
}

TEST(KernelCode, SaysWhyThereIsNone) {
  const std::string nowhere = cubin(""), overlapping = cubin(parameter(0, 0, 8) + parameter(1, 4, 4));
  EXPECT_EQ(refusal({}),
            "it carries no IR, and no code for sm_86 was found in the application: build it with mneme-inject");
  EXPECT_EQ(refusal({code_for("sm_75", nowhere)}), refusal({}));
  EXPECT_EQ(refusal({code_for("sm_86", overlapping)}),
            "it carries no IR, and the parameters that its code says it has overlap");
  const std::string cut = cubin(kInfo.substr(0, 20));
  EXPECT_NE(refusal({code_for("sm_86", cut)}).find("malformed cubin"), std::string::npos);
}

TEST(KernelCode, AsksTheDriverWhereTheCodeIsSilent) {
  // The parameters are said to end where none of those ends that are listed.
  const std::string silent = cubin(parameter(0, 0, 8) + std::string{3, 0x19, 16, 0});
  const KernelCode code =
      kernel_code(kName, {bytes_of(silent), {}}, "sm_86", [] { return std::optional(Parameters{{0, 8}, {8, 8}}); });
  EXPECT_EQ(code.info.argument_bytes, 16u);
  EXPECT_EQ(refusal({code_for("sm_86", silent)}),
            "it carries no IR, and neither its code nor the driver says where its parameters lie");
}

TEST(KernelCode, PointersAreWhatLeadsIntoRecordedMemory) {
  const std::string image = cubin(kInfo);
  KernelCode code = code_of({code_for("sm_86", image)}, {}, "sm_86");
  const uint64_t recorded = 0x400000001000;
  uint64_t pointer = recorded, structure[2] = {recorded, 7};
  uint32_t number = 3;
  void* list[] = {&pointer, &number, structure};
  const auto is_recorded = [&](uint64_t address) { return address == recorded; };
  tell_pointers(code.info, {list, {}}, is_recorded);
  EXPECT_EQ(code.info.arguments[0].kind, "pointer");
  EXPECT_EQ(code.info.arguments[1].kind, "scalar");
  EXPECT_EQ(code.info.arguments[2].kind, "struct");
  KernelCode other = code_of({code_for("sm_86", image)}, {}, "sm_86");
  pointer = 5;
  tell_pointers(other.info, {list, {}}, is_recorded);
  EXPECT_EQ(other.info.arguments[0].kind, "struct") << "it may be a null pointer in another launch";
}

}  // namespace
}  // namespace mneme::record
