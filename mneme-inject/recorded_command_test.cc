// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorded_command.h"

#include <gmock/gmock.h>

namespace mneme::inject {
namespace {

using testing::ElementsAre;

TEST(RecordedCommand, HasWhatTheIrDependsOn) {
  EXPECT_THAT(recorded_command({"clang++-19", "-O2", "-c", "-x", "hip", "a.cpp", "-o", "a.o", "-Iinclude", "-D", "N=4",
                                "-MMD", "-MF", "a.d", "--offload-arch=gfx90a"},
                               "/app", "a.cpp"),
              ElementsAre("/app", "clang++-19", "-O2", "-Iinclude", "-D", "N=4", "--offload-arch=gfx90a", "-x", "hip",
                          "a.cpp"));
}

TEST(RecordedCommand, LeavesOutOtherInputsAndTheLink) {
  EXPECT_THAT(recorded_command({"clang++-19", "a.hip", "b.hip", "c.o", "-oapp", "-lm", "-L", "lib", "-Wl,-O1"}, "/app",
                               "b.hip"),
              ElementsAre("/app", "clang++-19", "b.hip"));
}

TEST(RecordedCommand, LeavesOutWhatMnemeInjectAdds) {
  EXPECT_THAT(recorded_command(
                  {"clang++-19", "-Xarch_device", "-fno-discard-value-names", "--rocm-device-lib-path=/r", "-O3",
                   "a.hip", "-Xclang", "-fpass-plugin=/m/lib/mneme/libmneme-inject-pass.so", "-D__MNEME_VENDOR_HEAP__",
                   "-Xoffload-linker", "--load-pass-plugin=/m/lib/mneme/libmneme-inject-pass.so"},
                  "/app", "a.hip"),
              ElementsAre("/app", "clang++-19", "-O3", "a.hip"));
  EXPECT_THAT(
      recorded_command({"clang++-19", "-Xarch_device", "-fno-discard-value-names", "-Wno-unknown-cuda-version",
                        "-isystem", "/m/lib/mneme/cuda/include", "-isystem", "/usr/local/cuda/include", "-isystem",
                        "/usr/local/cuda/include/cccl", "-Ihere", "a.cu", "--cuda-path=/h/.cache/mneme/cuda-0123"},
                       "/app", "a.cu"),
      ElementsAre("/app", "clang++-19", "-Ihere", "a.cu"));
}

TEST(RecordedCommand, KeepsTheApplicationsOwnPlugins) {
  EXPECT_THAT(
      recorded_command({"clang++-19", "-fpass-plugin=own.so", "-Xclang", "-load", "-Xclang", "x.so", "a.hip"}, "/app",
                       "a.hip"),
      ElementsAre("/app", "clang++-19", "-fpass-plugin=own.so", "-Xclang", "-load", "-Xclang", "x.so", "a.hip"));
}

TEST(RecordedCommand, MapsPaths) {
  EXPECT_THAT(
      recorded_command({"clang++-19", "-ffile-prefix-map=/home/me/app=.", "-I/home/me/app/include", "-isystem",
                        "/home/me/app/third", "--x=/home/me/app/y", "-DROOT=/home/me/app", "/home/me/app/a.hip"},
                       "/home/me/app/build", "/home/me/app/a.hip"),
      ElementsAre("./build", "clang++-19", "-I./include", "-isystem", "./third", "--x=./y", "-DROOT=/home/me/app",
                  "./a.hip"));
  EXPECT_THAT(recorded_command({"clang++-19", "-fdebug-prefix-map=/home=/h", "-fdebug-prefix-map=/home/me=/m",
                                "-fdebug-compilation-dir=/src", "a.hip"},
                               "/home/me/app", "a.hip"),
              ElementsAre("/src", "clang++-19", "a.hip"));
}

}  // namespace
}  // namespace mneme::inject
