# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least IR: by LLVM's own passes where the fault outlives them, then by llvm-reduce."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from ..errors import MnemeError
from ..tools import run_tool
from . import interesting
from .case import Case

LLVM = 19
# Signatures stay, by which kernels are launched.
LEFT_OUT = "arguments", "operands-to-args"
# Tried in this order, until one leaves the fault.
CLEANED = ("default<O2>", "default<O1>", "function(sroa,instcombine<no-verify-fixpoint>,simplifycfg),globaldce",
           "function(sroa,simplifycfg),globaldce", "globaldce")


def llvm_tool(name: str) -> str:
    found = shutil.which(f"{name}-{LLVM}") or shutil.which(name, path=f"/usr/lib/llvm-{LLVM}/bin")
    if not found:
        raise MnemeError(f"{name}-{LLVM} is not found: install Debian's llvm-{LLVM}", 3)
    return found


def lines_of(path: pathlib.Path) -> int:
    return sum(bool(line.strip()) and not line.startswith((";", "source_filename")) for line in path.read_text().splitlines())


def assemble(text: pathlib.Path, bitcode: pathlib.Path) -> None:
    subprocess.run([llvm_tool("llvm-as"), "-o", bitcode, text], check=True, capture_output=True)


def cleaned(folder: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    """The IR that llvm-reduce begins with."""
    best, recorded = folder / interesting.BEST, folder / interesting.RECORDED
    if best.exists():  # an earlier run's
        return best
    for number, passes in enumerate(CLEANED):
        made = work / f"cleaned{number}.ll"
        ended = subprocess.run([llvm_tool("opt"), "-S", f"-passes={passes}", recorded, "-o", made], capture_output=True,
                               check=False)
        if ended.returncode == 0 and interesting.is_interesting(folder, made):
            return made
    interesting.keep_if_smaller(folder, recorded)
    return recorded


def reduce_ir(case: Case, folder: pathlib.Path, jobs: int, seconds: float | None) -> None:
    """Leaves the least IR found in the folder. Stops after so many seconds with what there is then."""
    case.save(folder / interesting.CASE)
    selection = case.settings(case.bundle).selection(case.instance)
    run_tool("extract-ir", ["-S", *selection, "-o", folder / interesting.RECORDED, case.bundle])
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mneme-reduce-") as name:
        work = pathlib.Path(name)
        command: list[str | os.PathLike[str]] = [
                   llvm_tool("llvm-reduce"), f"--test={sys.executable}", "--test-arg=-B",
                   f"--test-arg={os.path.abspath(interesting.__file__)}", f"--test-arg={folder.absolute()}",
                   f"--skip-delta-passes={','.join(LEFT_OUT)}", "-j", str(jobs), "-o", work / "reduced.ll",
                   cleaned(folder, work).absolute()]
        left = None if seconds is None else max(0.0, seconds - (time.monotonic() - begin))
        process = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                                   env={**os.environ, "TMPDIR": name})
        try:
            _, said = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            return
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode:
        reason = said.decode(errors="replace").strip()[-300:]
        raise MnemeError(f"llvm-reduce has ended with status {process.returncode}: {reason}", 3)
