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
  EXPECT_EQ(kind_of_programs({program("cuda", objects::build_elf({{".nv_fatbin", "code"}}))}), ProgramKind::kCuda);
  EXPECT_EQ(kind_of_programs({program("linked", objects::build_elf({{"__nv_relfatbin", "code"}}))}),
            ProgramKind::kCuda);
  EXPECT_EQ(kind_of_programs({program("neither", objects::build_elf({{".text", "code"}}))}), ProgramKind::kUnknown);
  EXPECT_EQ(kind_of_programs({program("both", objects::build_elf({{".nv_fatbin", "c"}, {".hip_fatbin", "c"}}))}),
            ProgramKind::kHip);
}

TEST_F(CudaProgram, AnyWordOfTheCommandMayBeOne) {
  std::string cuda = program("cuda", objects::build_elf({{".nv_fatbin", "code"}}));
  std::string hip = program("hip", objects::build_elf({{".hip_fatbin", "code"}}));
  EXPECT_EQ(kind_of_programs({"env", "A=b", cuda, "input"}), ProgramKind::kCuda);
  EXPECT_EQ(kind_of_programs({"env", "A=b", hip, "input"}), ProgramKind::kHip);
  EXPECT_EQ(kind_of_programs({hip, cuda}), ProgramKind::kCuda);
  EXPECT_EQ(kind_of_programs({"env", "A=b", cuda + "_not_there", "input"}), ProgramKind::kUnknown);
}

TEST_F(CudaProgram, MayHaveTheRuntimeInItself) {
  std::string alone = program("alone", objects::build_elf({{".nv_fatbin", "code"}}));
  std::string hip = program("hip", objects::build_elf({{".hip_fatbin", "code"}}));
  EXPECT_EQ(with_static_cudart({"env", hip, alone, alone + "_not_there"}), alone);
  EXPECT_EQ(with_static_cudart({"env", hip}), "");
}

// The loader does not list the libraries then, and the program will not start.
TEST_F(CudaProgram, HasNoRuntimeInItselfJustBecauseALibraryIsNotThere) {
  auto loaded_by = [&](const std::string& name, const std::string& script) {
    std::string loader = program("loader_of_" + name, "#!/bin/sh\n" + script);
    return program(name, objects::build_elf({{".nv_fatbin", "code"}, {".interp", loader + '\0'}}));
  };
  EXPECT_EQ(with_static_cudart({loaded_by("lacks", "echo libcuda.so.1: not found >&2; exit 127\n")}), "");
  EXPECT_EQ(with_static_cudart({loaded_by("shared", "echo 'libcudart.so.13 => /lib/libcudart.so.13 (0x7f)'\n")}), "");
  std::string alone = loaded_by("alone", "echo 'libc.so.6 => /lib/libc.so.6 (0x7f)'\n");
  EXPECT_EQ(with_static_cudart({alone}), alone);
}

// A library that only the host device has, the driver's say, is looked for there.
TEST_F(CudaProgram, MayHaveTheRuntimeInItselfBesideLibrariesOfAFolder) {
  std::string loader =
      program("loader_of_all", "#!/bin/sh\ncase \"$2\" in /stand-ins|/stand-ins:*) exit 0;; esac; exit 127\n");
  std::string needs = program("needs", objects::build_elf({{".nv_fatbin", "code"}, {".interp", loader + '\0'}}));
  EXPECT_EQ(with_static_cudart({needs}), "");
  EXPECT_EQ(with_static_cudart({needs}, "/stand-ins"), needs);
}

TEST_F(CudaProgram, OthersAreNone) {
  EXPECT_EQ(kind_of_programs({"sh", "-c", "true"}), ProgramKind::kUnknown);  // with the libraries that its loader lists
  EXPECT_EQ(kind_of_programs({program("script", "#!/bin/sh\n")}), ProgramKind::kUnknown);
  EXPECT_EQ(kind_of_programs({program("cut", objects::build_elf({{".nv_fatbin", "code"}}).substr(0, 50))}),
            ProgramKind::kUnknown);
  EXPECT_EQ(kind_of_programs({program("empty", "")}), ProgramKind::kUnknown);
}

}  // namespace
}  // namespace mneme::capture
