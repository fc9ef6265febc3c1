// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "confined.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "codegen/host/host.h"

namespace mneme::compile {
namespace {

bundle::KernelInfo kernel() {
  bundle::KernelInfo kernel;
  kernel.name = "k";
  kernel.demangled = "k()";
  return kernel;
}

bundle::Configuration configuration(const std::string& passes) {
  bundle::Configuration configuration;
  configuration.target = codegen::host::default_target();
  configuration.passes = passes;
  configuration.form = "auto";
  return configuration;
}

constexpr char kEmpty[] = "target triple = \"amdgcn-amd-amdhsa\"\ndefine amdgpu_kernel void @k() { ret void }";

TEST(CompileConfined, GivesWhatTheCompilerGives) {
  codegen::Code result = compile_confined(kernel(), kEmpty, configuration("default<O2>"));
  EXPECT_EQ(result.form, "loop");
  EXPECT_EQ(result.bytes, codegen::compile(kernel(), kEmpty, configuration("default<O2>")).bytes);
}

TEST(CompileConfined, PassesErrorsOn) {
  try {
    compile_confined(kernel(), "define void @k(", configuration("default<O2>"));
    FAIL() << "compiled nonsense";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not LLVM IR"), std::string::npos) << error.what();
  }
}

// A compiler that dies takes only its own process along.
TEST(CompileConfined, SurvivesACrashOfTheCompiler) {
  try {
    compile_confined(kernel(), kEmpty, configuration("trigger-crash-module"));
    FAIL() << "did not crash";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("was killed by SIG"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("k()"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace mneme::compile
