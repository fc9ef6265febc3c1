// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/assembler.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "objects/elf_builder.h"

namespace mneme::codegen::nvptx {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kPtx[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [k_param_0];
  st.global.u64 [%rd1], %rd1;
  ret;
}
)";

bundle::KernelInfo kernel() {
  bundle::KernelInfo kernel;
  kernel.name = "k";
  kernel.demangled = "k(void*)";
  return kernel;
}

bundle::Configuration configuration() {
  bundle::Configuration configuration;
  configuration.target = "cuda:sm_90";
  configuration.ptxas_level = 1;
  return configuration;
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

// With a ptxas of a toolkit that comes before the machine's own.
class FakePtxas : public ::testing::Test {
 protected:
  FakePtxas() {
    std::filesystem::create_directories(folder_.path() + "/nvvm/libdevice");
    std::filesystem::create_directories(folder_.path() + "/include");
    std::filesystem::create_directories(folder_.path() + "/bin");
    write_file(folder_.path() + "/include/cuda.h", "#define CUDA_VERSION 12030\n");
    const char* before = std::getenv("CUDA_PATH");
    if (before) before_ = before;
    ::setenv("CUDA_PATH", folder_.path().c_str(), 1);
  }
  ~FakePtxas() override { before_ ? ::setenv("CUDA_PATH", before_->c_str(), 1) : ::unsetenv("CUDA_PATH"); }

  void put_ptxas(const std::string& script) {
    std::string file = folder_.path() + "/bin/ptxas";
    write_file(file, "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'release 12.3, V12.3.45'; exit; fi\n" + script);
    ::chmod(file.c_str(), 0755);
  }

  Assembled assembled() { return assemble(find_assembler("ptxas").value(), kernel(), kPtx, configuration()); }

  TemporaryFolder folder_;

 private:
  std::optional<std::string> before_;
};

TEST_F(FakePtxas, GetsThePtxAndGivesACubin) {
  Elf64_Sym none{}, function{};
  function.st_name = 1;
  function.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  auto bytes = [](const Elf64_Sym& symbol) {
    return std::string(reinterpret_cast<const char*>(&symbol), sizeof symbol);
  };
  std::string cubin =
      objects::build_elf({{".strtab", std::string("\0k\0", 3)}, {".symtab", bytes(none) + bytes(function)}});
  write_file(folder_.path() + "/cubin", cubin);
  put_ptxas("cd " + folder_.path() + R"(
echo "$@" >&2
grep -c 'entry k' /dev/stdin >&2
echo hostile > written 2>/dev/null
test -e written || echo confined >&2
echo "    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads" >&2
cat cubin > /dev/stdout
)");
  Assembler assembler = find_assembler("auto").value();
  EXPECT_EQ(assembler.kind, "ptxas");
  EXPECT_EQ(assembler.version, "12.3.45");
  EXPECT_EQ(assembler.path, std::filesystem::canonical(folder_.path() + "/bin/ptxas"));
  Assembled made = assembled();
  EXPECT_EQ(made.cubin, cubin);
  EXPECT_EQ(made.resources.spill_stores, 16u);
  EXPECT_EQ(made.resources.spill_loads, 24u);
}

TEST_F(FakePtxas, IsToldWhatTheConfigurationSays) {
  put_ptxas("echo \"$@\" >&2; exit 1\n");
  EXPECT_THAT(refusal([&] { assembled(); }),
              AllOf(HasSubstr("kernel 'k(void*)': ptxas 12.3.45 cannot assemble it for cuda:sm_90: -arch=sm_90 -O1 -v"),
                    HasSubstr("--assembler none")));
  bundle::Configuration limited = configuration();
  limited.max_registers = 32;
  EXPECT_THAT(refusal([&] { assemble(find_assembler("ptxas").value(), kernel(), kPtx, limited); }),
              HasSubstr("-arch=sm_90 -maxrregcount=32 -O1"));
}

TEST_F(FakePtxas, MayGoWrong) {
  put_ptxas("kill -SEGV $$\n");
  EXPECT_THAT(refusal([&] { assembled(); }), HasSubstr("it was killed by SIGSEGV"));
  put_ptxas("echo nonsense\n");
  EXPECT_THAT(refusal([&] { assembled(); }), HasSubstr("the assembler's output is not an ELF file"));
  put_ptxas("true\n");
  EXPECT_THAT(refusal([&] { assembled(); }), HasSubstr("cannot assemble it"));
}

TEST(AssemblersLog, TellsOfSpillsAndSharedMemory) {
  bundle::Resources resources;
  read_assemblers_log(R"(ptxas info    : 272 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90'
ptxas info    : Used 30 registers, used 1 barriers, 440 bytes cumulative stack size, 1 bytes smem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    440 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 30 registers, used 1 barriers, 256 bytes smem, 380 bytes cmem[0]
ptxas info    : Function properties for __internal_trig_reduction_slowpathd
ptxas         .     40 bytes stack frame, 4 bytes spill stores, 2 bytes spill loads
)",
                      "k", resources);
  EXPECT_EQ(resources.shared, 256u);
  EXPECT_EQ(resources.spill_stores, 16u);
  EXPECT_EQ(resources.spill_loads, 10u);
}

// What there is on this machine does its work.
TEST(Assemblers, GiveCubins) {
  for (const char* kind : {"ptxas", "nvjitlink"}) {
    std::optional<Assembler> assembler;
    std::string missing = refusal([&] { assembler = find_assembler(kind); });
    if (!assembler) {
      EXPECT_THAT(missing, HasSubstr("in a CUDA toolkit (CUDA_PATH, CUDA_HOME, /usr/local/cuda, …)"));
      GTEST_SKIP() << missing;
    }
    EXPECT_EQ(assembler->kind, kind);
    Assembled made = assemble(*assembler, kernel(), kPtx, configuration());
    EXPECT_TRUE(
        made.cubin.starts_with("\x7f"
                               "ELF"));
    EXPECT_GT(made.resources.registers, 0u);
    EXPECT_EQ(made.cubin, assemble(*assembler, kernel(), kPtx, configuration()).cubin);
    EXPECT_THAT(refusal([&] { assemble(*assembler, kernel(), "nonsense", configuration()); }),
                AllOf(HasSubstr(kind), HasSubstr("cannot assemble it for cuda:sm_90: ")));
    bundle::Configuration unknown = configuration();
    unknown.target = "cuda:sm_1";
    // nvJitLink ends the process over it.
    EXPECT_THAT(refusal([&] { assemble(*assembler, kernel(), kPtx, unknown); }),
                AnyOf(HasSubstr("cannot assemble it"), HasSubstr("with nvjitlink exited with status 1")));
  }
}

}  // namespace
}  // namespace mneme::codegen::nvptx
