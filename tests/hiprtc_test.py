#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program is told when it compiles, while it runs, what cannot be compiled."""

import unittest

from support import BUILD, TestCase, run

# Compiles its first argument with the options that follow, and shows the log.
SOURCE = """\
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>
#include <cstdio>
#include <string>

int main(int argc, const char** argv) {
  hiprtcProgram program;
  if (hiprtcCreateProgram(&program, argv[1], "given.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS) return 1;
  hiprtcResult result = hiprtcCompileProgram(program, argc - 2, argv + 2);
  size_t size = 0, code = 0;
  if (hiprtcGetProgramLogSize(program, &size) != HIPRTC_SUCCESS) return 1;
  std::string log(size + 1, '\\0');
  if (hiprtcGetProgramLog(program, log.data()) != HIPRTC_SUCCESS) return 1;
  if (hiprtcGetCodeSize(program, &code) != HIPRTC_SUCCESS) return 1;
  if (hiprtcAddNameExpression(program, "f") != HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION) return 1;
  std::printf("%s, %s code\\n%s", hiprtcGetErrorString(result), code ? "some" : "no", log.c_str());
  return hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS && !program ? 0 : 1;
}
"""
GOOD = 'extern "C" __global__ void f(int* x) { *x = 1; }'


class RunTimeCompilation(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.folder / "compile.hip"
        source.write_text(SOURCE)
        cls.program = cls.build(source, "compile", "-O1", "-std=c++17")

    def compile(self, *arguments, **env):
        result = run([self.program, *arguments],
                     env={"LD_LIBRARY_PATH": str(BUILD / "lib" / "mneme" / "hostgpu"), **env})
        self.assertEqual(result.status, 0, result.text())
        return result.out.decode()

    def test_right(self):
        self.assertEqual(self.compile(GOOD), "HIPRTC_SUCCESS, some code\n")

    def test_a_mistake(self):
        out = self.compile("__global__ void f() {\n  no_such_thing();\n}")
        self.assertIn("HIPRTC_ERROR_COMPILATION, no code", out)
        self.assertRegex(out, r"given\.hip:2:3: error: use of undeclared identifier 'no_such_thing'")

    def test_an_option_that_there_is_not(self):
        out = self.compile(GOOD, "--no-such-option")
        self.assertIn("HIPRTC_ERROR_COMPILATION, no code", out)
        self.assertIn("unknown argument: '--no-such-option'", out)

    def test_no_compiler(self):
        out = self.compile(GOOD, PATH="/nowhere")
        self.assertIn("HIPRTC_ERROR_COMPILATION, no code", out)
        self.assertIn("the compiler 'clang++-19' is not found", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
