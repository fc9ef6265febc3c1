// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/cuda_processor.h"

#include <gtest/gtest.h>

namespace mneme::objects {
namespace {

bool cubin_runs(const char* cubin, const char* device) {
  return runs_on(cuda_processor(cubin), cuda_processor(device));
}
bool ptx_serves(const char* ptx, const char* device) {
  return compiles_for(cuda_processor(ptx), cuda_processor(device));
}

TEST(CudaProcessor, RunsCodeOfItsGeneration) {
  EXPECT_TRUE(cubin_runs("sm_90", "sm_90"));
  EXPECT_TRUE(cubin_runs("nvptx64-nvidia-cuda--sm_80", "sm_86"));
  EXPECT_FALSE(cubin_runs("sm_86", "sm_80"));
  EXPECT_FALSE(cubin_runs("sm_80", "sm_90"));
  EXPECT_FALSE(cubin_runs("sm_90", "sm_100"));
  EXPECT_TRUE(cubin_runs("sm_90a", "sm_90"));
  EXPECT_FALSE(cubin_runs("sm_100a", "sm_103"));
  EXPECT_TRUE(cubin_runs("sm_100f", "sm_103"));
  EXPECT_FALSE(cubin_runs("sm_100f", "sm_120"));
  EXPECT_FALSE(cubin_runs("nvptx64-nvidia-cuda", "sm_90"));
}

TEST(CudaProcessor, CompilesPtxOfOlderOnes) {
  EXPECT_TRUE(ptx_serves("sm_52", "sm_90"));
  EXPECT_FALSE(ptx_serves("sm_100", "sm_90"));
  EXPECT_FALSE(ptx_serves("sm_90a", "sm_100"));
  EXPECT_TRUE(ptx_serves("sm_90a", "sm_90"));
  EXPECT_TRUE(ptx_serves("sm_100f", "sm_103"));
  EXPECT_FALSE(ptx_serves("sm_100f", "sm_120"));
}

}  // namespace
}  // namespace mneme::objects
