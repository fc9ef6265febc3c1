// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "invocation.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/shell.h"
#include "command.h"
#include "compiler.h"

namespace mneme::inject {
namespace {

using Words = std::vector<std::string>;

TEST(Invocation, finds_hip_sources) {
  EXPECT_TRUE(understand({"-O2", "app.hip", "-o", "app"}).hip_sources);
  EXPECT_TRUE(understand({"-x", "hip", "app.cpp"}).hip_sources);
  EXPECT_TRUE(understand({"-xhip", "-c", "app.cc"}).hip_sources);
  EXPECT_TRUE(understand({"--language=hip", "-c", "app.cc"}).hip_sources);
  EXPECT_TRUE(understand({"-x", "hip", "-"}).hip_sources);
  EXPECT_TRUE(understand({"-x", "hip", "--", "-odd.cc"}).hip_sources);
  EXPECT_TRUE(understand({"a.cpp", "-x", "hip", "b.cpp"}).hip_sources);
}

TEST(Invocation, other_inputs_are_no_hip_sources) {
  EXPECT_FALSE(understand({}).hip_sources);
  EXPECT_FALSE(understand({"--version"}).hip_sources);
  EXPECT_FALSE(understand({"-c", "app.cpp"}).hip_sources);
  EXPECT_FALSE(understand({"--hip-link", "app.o", "-o", "app"}).hip_sources);
  EXPECT_FALSE(understand({"app.cpp", "-x", "hip"}).hip_sources) << "-x is for the inputs that follow it";
  EXPECT_FALSE(understand({"-x", "hip", "-x", "none", "app.cpp"}).hip_sources);
  EXPECT_FALSE(understand({"-x", "c++", "app.hip"}).hip_sources);
}

TEST(Invocation, values_of_options_are_no_inputs) {
  EXPECT_FALSE(understand({"-c", "app.cpp", "-o", "app.hip"}).hip_sources);
  EXPECT_FALSE(understand({"-include", "app.hip", "app.cpp"}).hip_sources);
  EXPECT_FALSE(understand({"-MF", "app.hip", "-Xclang", "x.hip", "app.cpp"}).hip_sources);
}

TEST(Invocation, finds_cuda_sources) {
  EXPECT_TRUE(understand({"-O2", "app.cu", "-o", "app"}).cuda_sources);
  EXPECT_TRUE(understand({"-x", "cuda", "app.cpp"}).cuda_sources);
  EXPECT_TRUE(understand({"-xcuda", "-c", "app.cc"}).cuda_sources);
  EXPECT_FALSE(understand({"-x", "hip", "app.cu"}).cuda_sources);
  EXPECT_FALSE(understand({"-c", "app.cpp", "-o", "app.cu"}).cuda_sources);
  EXPECT_EQ(understand({"app.cu", "--cuda-path=/a", "--cuda-path=/b"}).cuda_path, "/b");
  EXPECT_TRUE(understand({"app.cu", "-nocudainc"}).no_cuda_headers);
}

TEST(Invocation, notes_what_is_made) {
  EXPECT_TRUE(understand({"app.cu"}).links);
  EXPECT_FALSE(understand({"app.cu"}).keeps_temporaries);
  EXPECT_TRUE(understand({"app.cu", "--save-temps=obj"}).keeps_temporaries);
  EXPECT_FALSE(understand({"app.cu", "-S"}).links);
  EXPECT_TRUE(understand({"app.cu", "--offload-device-only"}).device_only);
  EXPECT_FALSE(understand({"app.cu", "--cuda-device-only", "--cuda-host-only"}).device_only);
  EXPECT_TRUE(understand({"--offload-link", "a.o"}).offload_link);
  EXPECT_FALSE(understand({"--version"}).inputs);
  EXPECT_TRUE(understand({"a.o"}).inputs);
}

TEST(Invocation, the_last_word_on_relocatable_code_counts) {
  EXPECT_FALSE(understand({"app.hip"}).relocatable);
  EXPECT_TRUE(understand({"-fgpu-rdc", "app.hip"}).relocatable);
  EXPECT_TRUE(understand({"--offload-new-driver", "app.hip"}).new_driver);
  EXPECT_FALSE(understand({"--offload-new-driver", "--no-offload-new-driver", "app.hip"}).new_driver);
  EXPECT_FALSE(understand({"-fgpu-rdc", "-fno-gpu-rdc", "app.hip"}).relocatable);
}

TEST(Invocation, notes_the_processors) {
  EXPECT_EQ(understand({"--offload-arch=gfx906,gfx90a:xnack+", "--cuda-gpu-arch=gfx942", "app.hip"}).processors,
            (std::vector<std::string>{"gfx906", "gfx90a:xnack+", "gfx942"}));
  EXPECT_TRUE(understand({"app.hip"}).processors.empty());
  EXPECT_EQ(understand({"-mcode-object-version=6", "app.hip"}).code_object, "6");
}

TEST(Invocation, notes_where_device_libraries_are) {
  EXPECT_FALSE(understand({"app.hip"}).names_device_libraries);
  EXPECT_TRUE(understand({"--rocm-device-lib-path=/x", "app.hip"}).names_device_libraries);
  EXPECT_TRUE(understand({"-nogpulib", "app.hip"}).names_device_libraries);
  EXPECT_EQ(understand({"--rocm-path=/x", "app.hip"}).rocm_path, "/x");
}

TEST(Invocation, looks_into_response_files) {
  TemporaryFolder folder;
  write_file(folder.path() + "/inner", "-x\nhip 'a b.cpp' \"c \\\" d\" e\\ f ''");
  write_file(folder.path() + "/outer", "-O2 @" + folder.path() + "/inner");
  Words expected = {"-O2", "-x", "hip", "a b.cpp", "c \" d", "e f", "", "-c"};
  EXPECT_EQ(expand_response_files({"@" + folder.path() + "/outer", "-c"}), expected);
  EXPECT_TRUE(understand({"@" + folder.path() + "/outer"}).hip_sources);
  EXPECT_EQ(expand_response_files({"@/no/such/file"}), Words{"@/no/such/file"});
  write_file(folder.path() + "/self", "@" + folder.path() + "/self");
  EXPECT_EQ(expand_response_files({"@" + folder.path() + "/self"}).size(), 1u) << "it ends";
}

TEST(Invocation, looks_into_configuration_files) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/hip.cfg";
  write_file(file, "# -S is a comment\n-x hip\n--offload-arch=gfx90a -DX='a b'\n");
  for (const Words& words : {Words{"--config=" + file, "app.cpp"}, Words{"app.cpp", "--config", file}}) {
    Invocation found = understand(words);
    EXPECT_TRUE(found.hip_sources);
    EXPECT_FALSE(found.text);
    EXPECT_EQ(found.processors, Words{"gfx90a"});
  }
  EXPECT_FALSE(understand({"--config=hip.cfg", "app.cpp"}).hip_sources) << "clang looks for it elsewhere";
}

TEST(Invocation, knows_the_long_names) {
  EXPECT_TRUE(understand({"app.hip", "--assemble"}).text);
  EXPECT_TRUE(understand({"-c", "app.hip", "-Xclang", "-emit-llvm"}).text);
  EXPECT_FALSE(understand({"app.hip", "-Xclang", "-O2"}).text);
  EXPECT_FALSE(understand({"app.hip", "--compile"}).text);
  for (const char* step : {"--assemble", "--compile", "--preprocess", "--dependencies", "--user-dependencies"}) {
    EXPECT_FALSE(understand({"app.hip", step}).links) << step;
  }
}

TEST(Compiler, stands_behind_caches) {
  EXPECT_EQ(compiler_index({"clang++-19", "-c"}), 0u);
  EXPECT_EQ(compiler_index({"ccache", "clang++-19"}), 1u);
  EXPECT_EQ(compiler_index({"/usr/bin/ccache", "distcc", "clang++-19"}), 2u);
  EXPECT_EQ(compiler_index({"ccache"}), 0u);
}

TEST(Command, is_quoted_for_a_shell) {
  EXPECT_EQ(cli::quoted({"clang++-19", "-DX=a b", "it's", ""}), "clang++-19 '-DX=a b' 'it'\\''s' ''");
}

TEST(Command, without_hip_stays_as_it_is) {
  Words command = {"g++", "-c", "app.cpp", "-o", "app.o"};
  EXPECT_EQ(recordable(command).command, command);
  Words link = {"clang++-19", "app.o", "-o", "app"};
  EXPECT_EQ(recordable(link).command, link);
  Words host = {"clang++-19", "--cuda-host-only", "-c", "app.hip"};
  EXPECT_EQ(recordable(host).command, host);
}

}  // namespace
}  // namespace mneme::inject
