# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are compiled wrongly, for the tests of what finds out why: tests/planted."""

import os
import subprocess
import tempfile
import unittest

from support import BUILD, ROOT, has_avx512

FOLDER = ROOT / "tests" / "planted"

# LLVM 19's loop vectoriser compiles `share` wrongly with this, where the processor has masked vectors (needs_masks); the
# standard pipelines of the host device avoid it.
VECTORISED = "function(sroa,simplifycfg,instcombine,loop-mssa(loop-rotate,licm),loop-vectorize)"

needs_masks = unittest.skipUnless(has_avx512(), "this processor has no AVX-512")


def plugin():
    """The path of the pass plugin, which is kept in the build folder."""
    source, made = FOLDER / "planted.cc", BUILD / "tests" / "planted.so"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        flags = subprocess.run(["llvm-config-19", "--cppflags"], capture_output=True, text=True, check=True).stdout.split()
        with tempfile.NamedTemporaryFile(dir=made.parent, suffix=".so", delete=False) as file:
            subprocess.run(["clang++-19", "-std=c++17", "-fPIC", "-shared", "-fno-rtti", "-O1", *flags, source, "-o", file.name],
                           check=True)
        os.replace(file.name, made)
    return made
