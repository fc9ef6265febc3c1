#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On a machine with an NVIDIA GPU: applications whose kernels have no IR are recorded, and replayed as they ran and as
what their PTX becomes with fewer and with more registers. Programs of nvcc's with either runtime, PyTorch, Triton,
cuBLAS and cuFFT; and what recording costs. Tables, as docs/gpu_report.md has them.

    code_only_check.py [--tools BIN] FOLDER results|costs

nvcc builds what FOLDER lacks. `--only REGEX` takes some. Exit status: 0 if all is as it should be.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import sys

from routes_check import AT_ONCE, execute

HERE = pathlib.Path(__file__).resolve().parent
# Of scripts/gpu-bundle, or of the repository.
SOURCES = next(path for path in [HERE / "sources", HERE.parent] if (path / "programs").exists())
PROGRAMS = """
atomics_mix block_scan device_globals double_math dynamic_shared function_pointers graph_built graph_captured grid_3d
grid_sync half_precision histogram int128_arithmetic linked_list managed_memory mapped_memory
multi_thread_streams nbody printf_formats recursion saxpy_template shared_limit spmv_csr stencil_2d stored_texts
stream_ordered_memory texture_rotation tiled_matmul transpose tree_reduction vector_add
virtual_functions wave_shuffles cluster_switch dynamic_arrays linked_units
""".split()
UNITS = {"linked_units": ["linked_units.cu", "linked_units_other.cu"]}
KERNELS = {"linked_units": "change"}  # the other follows pointers to functions in recorded memory
RUNTIMES = ["static", "shared"]
REGISTERS = [32, 128]  # the most that a thread may take
PLAIN = {"LD_LIBRARY_PATH": ""}  # gpu-check's is for our tools, not for a compiler
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


@dataclasses.dataclass
class Application:
    name: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)
    varies: bool = False  # atomics come in any order there
    kernel: str = "."  # those that are recorded


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


# ---- building ----


def source_of(name):
    programs = SOURCES / "programs"
    places = [programs / f"{name}.hip", programs / "cuda" / f"{name}.cu", programs / "nvcc" / f"{name}.cu"]
    return next(path for path in places if path.exists())


def own_libraries(nvcc):
    """Those of the toolkit are found when the program runs."""
    return ["-Xlinker", "-rpath", "-Xlinker", nvcc.resolve().parent.parent / "lib64"]


def build_program(nvcc, folder, name):
    """With either runtime. What nvcc says where it does not."""
    sources = [SOURCES / "programs" / "nvcc" / unit for unit in UNITS.get(name, [])] or [source_of(name)]
    common = [nvcc, "-x", "cu", "-std=c++20", "-O3", "-arch=sm_90", "-I", SOURCES / "cuda", "-I", SOURCES / "programs",
              *(["-rdc=true"] if name in UNITS else [])]
    objects = [folder / f"{name}.{i}.o" for i in range(len(sources))]
    commands = [[*common, "-c", source, "-o", built] for source, built in zip(sources, objects, strict=True)]
    commands += [[nvcc, "-arch=sm_90", *objects, "-cudart", runtime, *own_libraries(nvcc), "-o", folder / runtime / name]
                 for runtime in RUNTIMES]
    for command in commands:
        result = execute(command, folder, PLAIN)
        if result.returncode:
            return f"{name}: not built: {result.stderr[-600:]}"
    for built in objects:
        built.unlink()
    return None


def build(folder, nvcc):
    for runtime in RUNTIMES:
        (folder / runtime).mkdir(parents=True)
    for path in (HERE / "frameworks").glob("*.py"):
        shutil.copy(path, folder)
    common = [nvcc, "-std=c++17", "-O3", "-arch=sm_90", *own_libraries(nvcc)]
    singles = [[*common, HERE / "frameworks" / f"{name}.cu", f"-lcu{name}", "-o", folder / name] for name in ["blas", "fft"]]
    singles += [[*common, "-cudart", runtime, HERE / f"{name}.cu", "-o", folder / f"{name}_{runtime}"]
                for name in ["vector_add", "launches"] for runtime in RUNTIMES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [*pool.map(lambda name: build_program(nvcc, folder, name), PROGRAMS),
                *(f"{command[-1].name}: not built: {result.stderr[-600:]}" if result.returncode else None
                  for command, result in zip(singles, pool.map(lambda one: execute(one, folder, PLAIN), singles), strict=True))]
    for text in filter(None, said):
        print(text, file=sys.stderr)
    return not any(said)


# ---- recording and replaying ----


class Check:
    """One application: what became of it."""

    def __init__(self, application, folder, tools):
        self.application, self.folder, self.tools = application, folder, tools
        self.troubles = []
        folder.mkdir(parents=True, exist_ok=True)
        self.bundle = folder / "recorded.tar"
        environment = application.environment
        alone = execute(application.command, folder, environment)
        seen = execute([tools / "mneme-capture", "--device", "cuda", "--summary", "--kernel", application.kernel, "-o",
                        self.bundle, *application.command], folder, environment)
        self.expect(alone.returncode == 0, f"by itself it ends with {alone.returncode}: {alone.stderr[-300:]}")
        self.expect(seen.returncode == 0, f"recorded, it ends with {seen.returncode}: {seen.stderr[-600:]}")
        self.expect(alone.stdout == seen.stdout, f"it says {seen.stdout[-200:]!r} in place of {alone.stdout[-200:]!r}")
        found = re.search(r"(\d+) kernels?, (\d+) launch(?:es)?, (\d+) recorded", seen.stderr)
        self.kernels, self.launches, self.recorded = map(int, found.groups()) if found else (0, 0, 0)
        self.expect(self.recorded > 0, f"nothing was recorded: {seen.stderr[-600:]}")
        self.unrecorded = [line.strip() for line in seen.stderr.splitlines() if re.search(r"\d not: ", line)]
        self.lines = self.replay_all() if self.recorded else []

    def expect(self, condition, text):
        if not condition:
            self.troubles.append(text)

    def pipe(self, *compiling, running=()):
        """What mneme-verify says of each run."""
        stages = [[self.tools / "mneme-compile", *compiling, self.bundle],
                  [self.tools / "mneme-run", "--device", "cuda", *running], [self.tools / "mneme-verify"]]
        command = " | ".join(" ".join(f"'{word}'" for word in stage) for stage in stages)
        result = execute(["bash", "-c", command], self.folder)
        return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")], result.stderr

    def replay_all(self):
        """As recorded, and by PTX at each limit of registers."""
        wanted = self.folder / "variants.jsonl"
        wanted.write_text("{}\n" + "".join(json.dumps({"max_registers": limit}) + "\n" for limit in REGISTERS))
        lines, said = self.pipe("--variants", wanted, running=["--baseline", "4"] if self.application.varies else [])
        as_recorded = [line for line in lines if line["passes"] == "as recorded"]
        self.expect(as_recorded, f"nothing was replayed: {said[-600:]}")
        self.incomplete = self.recorded - len({line["instance"] for line in as_recorded})
        self.expect(not self.incomplete, f"{counted(self.incomplete, 'instance')} not replayed: {said[-600:]}")
        for line in lines:
            if not self.is_right(line) and not self.lacks_ptx(line):
                self.troubles.append(f"{line['name'][:80]} ({line['passes']}, {self.limit_of(line) or 'no'} limit): "
                                     f"{line['status']}: {'; '.join(line['reasons'])[:300]}")
        return lines

    def is_right(self, line):
        return line["status"] == "verified" or (self.application.varies and line["status"] == "varies")

    @staticmethod
    def lacks_ptx(line):
        """None, or that of several units, which is assembled by way of IR only."""
        return line["status"] == "failed" and bool(re.search("no PTX|by way of IR", " ".join(line["reasons"])))

    @staticmethod
    def limit_of(line):
        return line.get("configuration", line).get("max_registers")

    def of_limit(self, limit):
        """The runs; of those recorded as they were without one."""
        return [line for line in self.lines if self.limit_of(line) == limit]

    def row(self):
        """How many runs of each variant are byte for byte, or vary as the recorded code does."""
        cells = []
        for limit in [None, *REGISTERS]:
            runs = [line for line in self.of_limit(limit) if not self.lacks_ptx(line)]
            exact, varying = (sum(line["status"] == status for line in runs) for status in ["verified", "varies"])
            cells.append((exact, varying, len(runs)))
        return cells


def cell(exact, varying, of):
    if not of:
        return "no PTX"
    return f"{exact} of {of}" + (f", {varying} vary" if varying else "")


def applications(folder):
    for runtime in RUNTIMES:
        for path in sorted((folder / runtime).glob("*")):
            yield Application(f"nvcc {runtime}: {path.name}", [path], kernel=KERNELS.get(path.name, "."))
    yield from scripts(folder)
    for name in ["blas", "fft"]:
        if (folder / name).exists():
            yield Application(f"cu{name.upper()}", [folder / name], varies=True)


def scripts(folder):
    for module, environments in [("torch", [{}, EXPANDABLE]), ("triton", [{}])]:
        script = folder / f"by_{module}.py"
        if not script.exists() or execute([sys.executable, "-c", f"import {module}"], folder).returncode:
            print(f"there is no {module}", file=sys.stderr)
            continue
        for environment in environments:
            name = f"{module}{', expandable segments' if environment else ''}"
            yield Application(name, [sys.executable, script], environment, varies=True)


def check_triton(check):
    """Other grids, and code from outside. What leaves memory otherwise has to be found out."""
    def statuses(*options):
        lines, said = check.pipe("--kernel", "^scaled", *options)
        return {line["status"] for line in lines} or said[-300:]
    results = {}
    tries = [(["--grid", "8"], {"verified"}), (["--grid", "3"], {"not verified"})]
    for kind in ["cubin", "ptx"]:
        tries += [(["--code", check.folder / f"{code}.{kind}"], {status})
                  for code, status in [("right", "verified"), ("wrong", "not verified")]]
    for options, expected in tries:
        name = " ".join(option if isinstance(option, str) else option.name for option in options)
        results[name] = statuses(*options)
        check.expect(results[name] == expected, f"{name}: {results[name]} in place of {expected}")
    return results


def results(folder, tools, only):
    wanted = [one for one in applications(folder) if re.search(only, one.name)]
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        checks = list(pool.map(lambda one: Check(one, work / re.sub(r"\W+", "_", one.name), tools), wanted))
    limits = " | ".join(f"PTX at {limit} registers" for limit in REGISTERS)
    print(f"| application | kernels | launches | recorded | incomplete | as recorded | {limits} |")
    print("|---|---|---|---|---|---|" + "---|" * len(REGISTERS))

    def write(name, of):
        counts = [sum(getattr(check, key) for check in of) for key in ["kernels", "launches", "recorded"]]
        incomplete = sum(getattr(check, "incomplete", check.recorded) for check in of)
        sums = [[sum(column) for column in zip(*cells, strict=True)]
                for cells in zip(*(check.row() for check in of), strict=True)]
        print(f"| {name} | {' | '.join(map(str, [*counts, incomplete]))} | {' | '.join(cell(*one) for one in sums)} |")

    for runtime in RUNTIMES:
        group = [check for check in checks if check.application.name.startswith(f"nvcc {runtime}")]
        if group:
            write(f"{counted(len(group), 'program')} of nvcc's, {runtime} runtime", group)
    for check in checks:
        if not check.application.name.startswith("nvcc"):
            write(check.application.name, [check])
    for check in checks:
        if check.application.name == "triton" and check.recorded:
            print("\n| Triton's kernel | |\n|---|---|")
            for name, found in check_triton(check).items():
                print(f"| `{name}` | {', '.join(found) if isinstance(found, set) else found} |")
    print()
    for check in checks:
        for line in check.unrecorded:
            print(f"{check.application.name}: {line[:300]}")
        for trouble in check.troubles:
            print(f"NOT right: {check.application.name}: {trouble}")
    right = sum(not check.troubles for check in checks)
    print(f"{right} of {counted(len(checks), 'application')} as they should be")
    shutil.rmtree(work)
    return bool(checks) and right == len(checks)


# ---- costs ----


def copy_time(path, folder):
    """Seconds that it takes to write as much."""
    return execute(["dd", f"if={path}", f"of={folder / 'copied'}", "bs=1M", "status=none"], folder).seconds


def cost(application, folder, tools, rounds):
    """Medians, of runs in turn."""
    bundle, alone, recorded, copied = folder / "cost.tar", [], [], []
    execute(application.command, folder, application.environment)  # and once unmeasured
    for _ in range(rounds):
        for command, times in [(application.command, alone), ([tools / "mneme-capture", "--device", "cuda", "-o", bundle,
                                                               *application.command], recorded)]:
            result = execute(command, folder, application.environment)
            if result.returncode:
                print(f"NOT right: {application.name}: ends with {result.returncode}: {result.stderr[-300:]}")
                return False
            times.append(result.seconds)
        copied.append(copy_time(bundle, folder))
    own, with_recorder, copy = (statistics.median(times) for times in [alone, recorded, copied])
    print(f"| {application.name} | {bundle.stat().st_size / 1e6:.1f} MB | {own:.2f} s | {with_recorder:.2f} s | "
          f"{copy:.2f} s | {with_recorder / (own + copy):.2f} |", flush=True)
    return True


def launch_cost(program, folder, tools, rounds):
    """The least of some, in turn: it differs from process to process by a fifth and more."""
    times = {False: [], True: []}
    for _ in range(rounds):
        for recorded in times:
            recorder = [tools / "mneme-capture", "--device", "cuda", "--max-instances", "1", "-o", folder / "cost.tar"]
            result = execute([*(recorder if recorded else []), program], folder)
            if result.returncode:
                print(f"NOT right: {program.name}: ends with {result.returncode}: {result.stderr[-300:]}")
                return False
            times[recorded].append(float(result.stdout))
    print(f"{program.name}: a launch takes {min(times[False]):.3f} us, one that is not recorded any more "
          f"{min(times[True]):.3f} us")
    return min(times[True]) - min(times[False]) <= 1


def costs(folder, tools, only, megabytes):
    print("| | bundle | alone | recorded | dd of the bundle | recorded / (alone + dd) |\n|---|---|---|---|---|---|")
    measured = [(Application(f"vector add of {megabytes} MB, {runtime} runtime",
                             [folder / f"vector_add_{runtime}", megabytes]), 5) for runtime in RUNTIMES]
    measured += [(one, 3) for one in scripts(folder) if one.name.startswith("torch")]
    fine = [cost(one, folder, tools, rounds) for one, rounds in measured if re.search(only, one.name)]
    print()
    fine += [launch_cost(folder / f"launches_{runtime}", folder, tools, 5) for runtime in RUNTIMES
             if re.search(only, f"launches_{runtime}")]
    for name in ["cost.tar", "copied"]:
        (folder / name).unlink(missing_ok=True)
    return bool(fine) and all(fine)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("what", choices=["results", "costs"])
    parser.add_argument("--tools", type=pathlib.Path, default=HERE.parent.parent / "build" / "bin")
    parser.add_argument("--only", default="")
    parser.add_argument("--megabytes", type=int, default=1000, help="memory of the vector add")
    options = parser.parse_args()
    folder, tools = options.folder.resolve(), options.tools.resolve()
    fine = True
    if not (folder / "static").exists():
        nvcc = shutil.which("nvcc") or pathlib.Path(os.environ.get("CUDA_PATH", "/usr/local/cuda")) / "bin" / "nvcc"
        if not pathlib.Path(nvcc).exists():
            print("no nvcc was found: there are no programs to record")
            return 1
        fine = build(folder, pathlib.Path(nvcc))
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    if options.what == "results":
        return 0 if results(folder, tools, options.only) and fine else 1
    return 0 if costs(folder, tools, options.only, options.megabytes) and fine else 1


if __name__ == "__main__":
    sys.exit(main())
