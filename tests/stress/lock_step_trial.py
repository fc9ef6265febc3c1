# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds some of lock_step.py's programs as one application, runs and records it, and replays the kernels."""

import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import lock_step_source

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import BUILD, precompiled_headers, run, tool  # noqa: E402

LEVELS = {"O0": 0, "O1": 1, "O2": 2, "O3": 3, "Os": 2, "Oz": 2}  # and what the code generator's is with each
FORMS = ["loop", "fiber"]
RUN = "run"  # in place of a level: the application itself
LIMIT = 300  # seconds for an application, or a pipe

Target = collections.namedtuple("Target", "name wave options")
TARGETS = {
    "hip": [Target("gfx90a", 64, ["-x", "hip", "--offload-arch=gfx90a"]),
            Target("gfx1030", 32, ["-x", "hip", "--offload-arch=gfx1030"])],
    "cuda": [Target("sm_90", 32, ["-x", "cuda", "--offload-arch=sm_90", "-I", str(HERE.parent / "cuda")])],
}
BUILT_AT = ["-O1", "-O0", "-O3"]


def has_toolkit():
    command = [tool("inject"), "clang++-19", *TARGETS["cuda"][0].options, "-fsyntax-only", "-"]
    return run(command, input=b"int main() { return 0; }").status == 0


class Trial:
    """Of programs, each with what it has to leave: pairs."""

    def __init__(self, folder, expected, target, level):
        self.folder, self.target, self.level = pathlib.Path(folder), target, level
        self.programs = [program for program, _ in expected]
        self.expected = {program.name: self.lines(program, *left) for program, left in expected}
        self.folder.mkdir(exist_ok=True)
        self.source = self.folder / "programs.hip"
        self.application = self.folder / "programs"

    def lines(self, program, out, scratch):
        return [[program.name, "out", *(f"{word:x}" for word in out)],
                [program.name, "scratch", *(f"{byte:x}" for byte in scratch)]]

    def build(self):
        text = lock_step_source.text(self.programs)
        self.source.write_text(text)
        headers = precompiled_headers(text, [self.level]) if self.target.name == "gfx90a" else []
        result = run([tool("inject"), "clang++-19", *headers, *self.target.options, "-std=gnu++17", "-w", self.level,
                      f"-DWAVE={self.target.wave}u", "-I", HERE, self.source, "-o", self.application],
                     timeout=2 * LIMIT)
        if result.status:
            raise SystemExit(f"lock_step: cannot build {self.source}:\n{result.text()[-3000:]}")

    def run(self, form, recording=None):
        """What the application says of each program, in this form. A program that ends it has said why, and is left out
        when the others are run again."""
        names, found, left_out = [program.name for program in self.programs], {}, []
        command = [tool("capture"), "--device", "host", "-o", str(recording)] if recording else []
        while True:
            environment = {**os.environ, "MNEME_HOST_FORM": form, "MNEME_KERNEL_CACHE": "off",
                           "LEAVE_OUT": f" {' '.join(left_out)} "}
            if not recording:
                environment["LD_LIBRARY_PATH"] = str(BUILD / "lib" / "mneme" / "hostgpu")
            try:
                result = subprocess.run([*command, str(self.application)], env=environment, timeout=LIMIT,
                                        capture_output=True)
                said, why = result.stdout, result.stderr.decode(errors="replace") if result.returncode else ""
                why = why or (f"ended with {result.returncode}" if result.returncode else "")
            except subprocess.TimeoutExpired as expired:
                said, why = expired.stdout or b"", f"still running after {LIMIT} s"
            lines = [line.split() for line in said.decode(errors="replace").splitlines()]
            for name in names:
                found.setdefault(name, [line for line in lines if line[:1] == [name]] or None)
            if not why:
                return found
            culprit = next((name for name in names if name not in left_out and found[name] is None), None)
            if culprit is None:
                raise SystemExit(f"lock_step: {self.application}: {why[-2000:]}")
            found = {name: lines for name, lines in found.items() if lines is not None}
            found[culprit] = [[culprit, why.strip()[-300:]]]
            left_out.append(culprit)

    def replay(self, recording, modes):
        """{(name, form, level): verified}, for these pairs of form and level."""
        lines = [json.dumps({"passes": f"default<{level}>", "codegen_opt": LEVELS[level], "form": form})
                 for form, level in modes]
        variants = self.folder / "variants.jsonl"
        variants.write_text("\n".join(lines) + "\n")
        result = run([tool("compile"), "--variants", variants, "-j", str(os.cpu_count()), recording],
                     [tool("run"), "--warmup", "0", "--iterations", "1"], [tool("verify")], timeout=4 * LIMIT)
        if any(status not in (0, 1, 4) for status in result.statuses):
            raise SystemExit(f"lock_step: {result.text()[-3000:]}")
        verdicts = {}
        for line in map(json.loads, result.out.decode().splitlines()):
            mode = (line["form"], line["passes"][len("default<"):-1])
            verdicts[(line["name"].split("(")[0], *mode)] = line["status"] == "verified"
        return verdicts

    def verdicts(self, modes=None):
        """{(name, form, level): True, False, or None where nobody can tell}, and what the runs said, by form. RUN is a
        level, too."""
        modes = modes or [(form, level) for form in FORMS for level in [RUN, *LEVELS]]
        forms = sorted({form for form, _ in modes}, key=FORMS.index)
        replays = [mode for mode in modes if mode[1] != RUN]
        verdicts, said = {}, {}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = {form: pool.submit(self.run, form, self.folder / f"{form}.tar" if replays else None)
                    for form in forms}
        for form in forms:
            said[form] = runs[form].result()
            for name, lines in said[form].items():
                verdicts[(name, form, RUN)] = lines == self.expected[name]
        # Replays are compared with a recorded run: what that has to be comes from a form that is right.
        told = [name for name in self.expected if any(verdicts[(name, form, RUN)] for form in forms)]
        for form in forms if replays else []:
            for (name, *mode), verified in self.replay(self.folder / f"{form}.tar", replays).items():
                right = verdicts[(name, form, RUN)]
                if right or (name not in told and verdicts.get((name, *mode)) is not False):
                    verdicts[(name, *mode)] = verified if right else False if verified else None
            if all(verdicts[(name, form, RUN)] for name in self.expected):
                break  # nothing is left to tell
        return verdicts, said
