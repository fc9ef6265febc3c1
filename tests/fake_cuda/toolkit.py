# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where there is no CUDA toolkit: one whose programs are played by scripts, enough to build what is beside this."""

import pathlib
import stat
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "mneme-inject"))

import cuda_wrappers_test as wrappers  # noqa: E402

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
PROCESSOR = "sm_90"  # that those are built for
COMPILE = [*wrappers.COMPILE, "-std=c++20", "-Xclang", "-target-sdk-version=12.3"]


def make(folder, libraries):
    """In this folder; the runtime library is that of `libraries`."""
    for part in ["bin", "include", "nvvm/libdevice"]:
        (folder / part).mkdir(parents=True)
    (folder / "lib64").symlink_to(libraries)
    (folder / "include" / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
    (folder / "nvvm" / "libdevice" / "libdevice.10.bc").write_bytes(b"")
    for name, text in [("ptxas", wrappers.PTXAS), ("nvlink", wrappers.NVLINK), ("fatbinary", wrappers.FATBINARY)]:
        path = folder / "bin" / name
        path.write_text(f"#!{sys.executable}\n" + text.format(here=str(ROOT / "mneme-inject"), folder=str(folder),
                                                              result=wrappers.CUBIN, status=0))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
