// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "objects/elf_builder.h"

namespace mneme::capture {
namespace {

struct CudaProgram : testing::Test {
  TemporaryFolder folder;

  std::string program(const std::string& name, const std::string& contents) {
    std::string path = folder.path() + "/" + name;
    write_file(path, contents);
    ::chmod(path.c_str(), 0755);
    return path;
  }
};

TEST_F(CudaProgram, HoldsCodeForNvidiasGpus) {
  EXPECT_TRUE(starts_cuda_program({program("cuda", objects::build_elf({{".nv_fatbin", "code"}}))}));
  EXPECT_TRUE(starts_cuda_program({program("linked", objects::build_elf({{"__nv_relfatbin", "code"}}))}));
  EXPECT_FALSE(starts_cuda_program({program("neither", objects::build_elf({{".text", "code"}}))}));
  EXPECT_FALSE(starts_cuda_program({program("both", objects::build_elf({{".nv_fatbin", "c"}, {".hip_fatbin", "c"}}))}));
}

TEST_F(CudaProgram, AnyWordOfTheCommandMayBeOne) {
  std::string cuda = program("cuda", objects::build_elf({{".nv_fatbin", "code"}}));
  EXPECT_TRUE(starts_cuda_program({"env", "A=b", cuda, "input"}));
  EXPECT_FALSE(starts_cuda_program({"env", "A=b", cuda + "_not_there", "input"}));
}

TEST_F(CudaProgram, OthersAreNone) {
  EXPECT_FALSE(starts_cuda_program({"sh", "-c", "true"}));  // with the libraries that its loader lists
  EXPECT_FALSE(starts_cuda_program({program("script", "#!/bin/sh\n")}));
  EXPECT_FALSE(starts_cuda_program({program("cut", objects::build_elf({{".nv_fatbin", "code"}}).substr(0, 50))}));
  EXPECT_FALSE(starts_cuda_program({program("empty", "")}));
}

}  // namespace
}  // namespace mneme::capture
