// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/device.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::device {
namespace {

Exit exit_of(const std::string& name) {
  try {
    make_device(name);
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return error.exit();
  }
  return Exit::kSuccess;
}

TEST(MakeDevice, ByName) {
  EXPECT_EQ(make_device("host")->name(), "host");
  EXPECT_EQ(make_device("auto")->name(), "host");
  EXPECT_EQ(make_device("host")->clock(), "steady");
}

TEST(MakeDevice, SaysWhatIsMissing) {
  for (const char* gpu : {"cuda", "hip"}) {
    Exit exit = exit_of(gpu);
    if (exit != Exit::kSuccess) EXPECT_EQ(exit, Exit::kMissing) << gpu;  // else there is one
  }
  EXPECT_EQ(exit_of("abacus"), Exit::kBadInput);
}

// What a check throws for a launch with this handle of eight bytes; empty: nothing.
std::string said_of(uint64_t value, bool with_textures, std::vector<bundle::Handle> handles = {{8, false}},
                    const char* code = "") {
  bundle::KernelInfo kernel;
  kernel.code = code;
  kernel.globals = {{.name = bundle::kTextures, .size = 0, .align = 1, .constant = true}};
  kernel.handles = std::move(handles);
  bundle::InstanceInfo instance;
  instance.arguments = std::string(8, 'x') + std::string(reinterpret_cast<const char*>(&value), sizeof value);
  if (with_textures) instance.textures.emplace_back();
  try {
    refuse_unknown_handles(kernel, instance);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Handles, OfTexturesHaveToBeKnown) {
  EXPECT_EQ(said_of(0x400000001000, true), "");
  EXPECT_EQ(said_of(0, false), "") << "none, which the kernel does not use";
  EXPECT_NE(said_of(0x400000001000, false).find("only the handles"), std::string::npos);
  EXPECT_NE(said_of(0, false, {{-1, false}}), "") << "it comes from elsewhere";
  EXPECT_NE(said_of(0, false, {}), "") << "nobody looked";
  EXPECT_NE(said_of(0, false, {{-1, false}}, "kernel.cubin"), "");
  EXPECT_EQ(said_of(0, false, {}, "kernel.cubin"), "") << "without PTX, nobody can";
}

TEST(Handles, StandForNothingOnAmdsGpus) {
  Launch launch;
  EXPECT_NO_THROW(refuse_textures(launch));
  launch.textures.emplace_back();
  EXPECT_THROW(refuse_textures(launch), Error);
}

}  // namespace
}  // namespace mneme::device
