# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the pipeline tests share: the tools, pipes of them, HIP programs, and reading what they print.

$MNEME_BUILD is the build folder (default: ./build). With $MNEME_KEEP set, a test leaves its temporary folder behind.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("MNEME_BUILD", ROOT / "build")).resolve()
PROGRAMS = ROOT / "tests" / "programs"
TIMEOUT = 300  # seconds that a pipe may take on a busy machine

KEEP = os.environ.pop("MNEME_KEEP", None) is not None  # to mneme-run it would be --keep
os.environ.setdefault("XDG_CACHE_HOME", str(BUILD / "tests" / "cache"))  # compiled kernels, shared by the tests


def tool(name):
    return str(BUILD / "bin" / f"mneme-{name}")


class Result:
    """How a pipe ended: the stages' statuses and standard errors, and what the last one wrote."""

    def __init__(self, stages, statuses, errors, out, usage):
        self.stages, self.statuses, self.errors, self.out, self.usage = stages, statuses, errors, out, usage

    @property
    def status(self):
        return self.statuses[-1]

    @property
    def error(self):
        return self.errors[-1]

    def text(self):
        """For a failed assertion: the pipe as one would type it, and what came of it."""
        pipe = " | ".join(shlex.join(map(str, stage)) for stage in self.stages)
        said = "".join(f"\n  stage {i} ended with {status}: {error.strip() or '(silent)'}"
                       for i, (status, error) in enumerate(zip(self.statuses, self.errors)))
        return f"{pipe}{said}"


def run(*stages, input=None, stdout=None, timeout=TIMEOUT, env=None, cwd=None, preexec_fn=None):
    """Runs a pipe of stages, each a list of words. `input` is bytes, a path, or nothing at all; `stdout` an open file
    that gets what the last stage writes, instead of the result; `preexec_fn` is called in each stage before it begins."""
    with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as last:
        if isinstance(input, bytes):
            first.write(input)
            first.seek(0)
        source = open(input, "rb") if isinstance(input, (str, os.PathLike)) else None
        errors = [tempfile.TemporaryFile() for _ in stages]
        processes = []
        try:
            upstream = source or first
            for i, stage in enumerate(stages):
                is_last = i + 1 == len(stages)
                process = subprocess.Popen(
                    list(map(str, stage)), stdin=upstream, stderr=errors[i], cwd=cwd, start_new_session=True,
                    preexec_fn=preexec_fn,
                    stdout=(stdout if stdout is not None else last) if is_last else subprocess.PIPE,
                    env=None if env is None else {**os.environ, **env})
                if i:
                    upstream.close()
                upstream = process.stdout
                processes.append(process)
            statuses, usage = [], []
            for process in processes:
                status, used = _wait(process, timeout)
                statuses.append(status)
                usage.append(used)
        except subprocess.TimeoutExpired:
            for process in processes:
                if process.returncode is None:
                    os.killpg(process.pid, 9)
                    process.wait()
            said = "\n".join(_contents(error) for error in errors)
            raise AssertionError(f"still running after {timeout} s: "
                                 + " | ".join(shlex.join(map(str, s)) for s in stages) + "\n" + said) from None
        finally:
            if source:
                source.close()
        last.seek(0)
        return Result(stages, statuses, [_contents(error) for error in errors], last.read(), usage)


def _wait(process, timeout):
    """Like process.wait(timeout), and what the process used. The status is negative for a signal."""
    import time
    end, pause = time.monotonic() + timeout, 0.0005
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(process.args, timeout)
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _contents(file):
    file.seek(0)
    text = file.read().decode(errors="replace")
    file.close()
    return text


def has_avx512():
    """Whether the host device's default target is x86-64-v4."""
    flags = re.search(r"(?m)^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text())
    return bool(flags) and {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= set(flags[1].split())


def precompiled_headers(source, flags):
    """What makes clang take HIP's headers for this text, and check.h if that is what it includes, as the build
    precompiled them; nothing where a flag may change what they are. One serves all levels that define the same macros."""
    level, *others = sorted(flags, key=lambda flag: not flag.startswith("-O"))
    folder = BUILD / "tests" / "headers" / {"-O0": "O0", "-O1": "O3", "-O2": "O3", "-O3": "O3"}.get(level, "none")
    if not folder.exists() or not all(re.match(r"-[DI].", flag) for flag in others):
        return []
    header = "check.h" if 'check.h"' in source else "hip.h"
    return [word for side in ["host", "device"] for word in [f"-Xarch_{side}", f"-include{folder / side / header}"]]


class TestCase(unittest.TestCase):
    """A test with a temporary folder, self.folder, that its whole class shares."""

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(tool("run")):
            raise FileNotFoundError(f"{BUILD} has no tools: run make, or set MNEME_BUILD to the build folder")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="mneme-test-"))
        if KEEP:
            print(f"{cls.__name__}: {cls.folder}")
        else:
            cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    @classmethod
    def build(cls, source, name=None, *flags, inject=True):
        """Compiles a HIP program, recordable unless told otherwise; the path of the executable."""
        program = cls.folder / (name or pathlib.Path(source).stem)
        flags = flags or ["-O2"]
        headers = precompiled_headers(pathlib.Path(source).read_text(), list(map(str, flags)))
        compiler = ["clang++-19", *headers, "-x", "hip", "--offload-arch=gfx90a", *flags, source, "-o", program]
        if not inject:
            compiler.insert(1, "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
        result = run([tool("inject"), *compiler] if inject else compiler)
        if result.status:
            raise AssertionError(result.text())
        return program

    @classmethod
    def record(cls, *command, name="recording.tar", options=()):
        """Records an application on the host device; the path of the bundle."""
        bundle = cls.folder / name
        result = run([tool("capture"), "--device", "host", *options, "-o", bundle, *command])
        if result.status:
            raise AssertionError(result.text())
        return bundle

    def run_unread(self, stage):
        """Runs a stage whose output nobody reads any more."""
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as closed:
            return run(stage, stdout=closed)

    def run_well(self, *stages, **how):
        result = run(*stages, **how)
        self.assertEqual(result.statuses, [0] * len(stages), result.text())
        return result

    def assert_refused(self, result, status, pattern, stage=-1, kind="error"):
        """The stage ended with `status` after one clear sentence on standard error, which `pattern` matches."""
        error = result.errors[stage]
        self.assertEqual(result.statuses[stage], status, result.text())
        name = pathlib.Path(result.stages[stage][0]).name
        lines = [line for line in error.splitlines() if re.match(rf"{name}: ({kind}): ", line)]
        self.assertEqual(len(lines), 1, f"not one sentence: {result.text()}")
        self.assertRegex(lines[0], re.compile(pattern, re.IGNORECASE), result.text())
        return lines[0]
