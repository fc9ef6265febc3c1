# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mneme-tune tunes, and in which search space."""

import ctypes
import itertools
import json
import math
import pathlib
import runpy
import sys
import tarfile


class Wrong(Exception):
    """Ends the program with a sentence, and status 2 unless another is given."""

    def __init__(self, sentence, status=2):
        super().__init__(sentence)
        self.status = status


class Expression:
    """An extended regular expression, by the C library's functions, so that it selects what it selects in the other tools
    (lib/cli/expression.h)."""

    EXTENDED, WITHOUT_PLACES = 1, 8
    MATCHED_BYTES = 64 * 1024
    RETURN_TYPE = b"void "

    def __init__(self, text):
        self.library = ctypes.CDLL(None)
        self.compiled = ctypes.create_string_buffer(1024)  # larger than any library's regex_t
        failed = self.library.regcomp(self.compiled, text.encode(errors="surrogateescape"), self.EXTENDED | self.WITHOUT_PLACES)
        if failed:
            reason = ctypes.create_string_buffer(256)
            self.library.regerror(failed, self.compiled, reason, ctypes.c_size_t(len(reason)))
            raise Wrong(f"--kernel '{text}' is not a valid regular expression: {reason.value.decode(errors='replace')}; "
                        "in a kernel's name put \\ before (, ), [, *, +, ? and {")

    def matches(self, name):
        start = name.encode(errors="surrogatepass")[:self.MATCHED_BYTES]
        return self.found(start) or (start.startswith(self.RETURN_TYPE) and self.found(start[len(self.RETURN_TYPE):]))

    def found(self, text):
        return self.library.regexec(self.compiled, text, ctypes.c_size_t(0), None, 0) == 0


MOST_NAMED, WIDEST_NAME, END_OF_NAME = 5, 80, 20


def named(names):
    """Names in a message: the first few, and of a long one its beginning and its end, as the tools cut it."""
    begin = WIDEST_NAME - END_OF_NAME - 1
    texts = [name if len(name) <= WIDEST_NAME else f"{name[:begin]}…{name[-END_OF_NAME:]}" for name in names]
    return "; ".join(texts[:MOST_NAMED]) + ("; …" if len(texts) > MOST_NAMED else "")


class Recording:
    """The selected launches of one kernel."""

    def __init__(self, options):
        try:
            self.read(options)
        except OSError as error:
            raise Wrong(f"'{options.bundle}' cannot be read: {error.strerror or error}") from None
        except (tarfile.TarError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise Wrong(f"'{options.bundle}' is no bundle, or not a whole one: name what mneme-capture wrote") from None

    def read(self, options):
        self.name, self.instances, kernels = None, [], {}
        names, recorded = {}, {}  # of all kernels; the instances of each that has some
        self.code_bytes = {}  # of variants that are there already
        codes, sizes = {}, {}  # whether each kernel has IR, and PTX; bytes of code, by digest
        expression = Expression(options.kernel) if options.kernel else None
        with tarfile.open(options.bundle) as archive:
            for member in archive:
                parts = member.name.split("/")
                if member.name == "bundle.json":
                    self.device = json.load(archive.extractfile(member))["device"]
                elif parts[0] == "kernels" and parts[-1] == "kernel.json":
                    kernel = json.load(archive.extractfile(member))
                    names[parts[1]] = name = kernel.get("demangled") or kernel["name"]
                    codes[parts[1]] = "code" not in kernel, "ptx" in kernel or kernel.get("code") == "kernel.ptx"
                    if not expression or expression.matches(name):
                        kernels[parts[1]] = name
                elif parts[0] == "code":
                    sizes[parts[1]] = member.size
                elif parts[0] == "variants" and parts[-1] == "variant.json":
                    self.code_bytes[parts[2]] = sizes.get(json.load(archive.extractfile(member)).get("code_digest"))
                elif parts[0] == "variants" and parts[-1].startswith("code."):
                    self.code_bytes[parts[2]] = member.size
                elif parts[0] == "instances":
                    instance = pathlib.Path(parts[2]).stem
                    recorded.setdefault(parts[1], []).append(instance)
                    if parts[1] in kernels and instance.startswith(options.instance or ""):
                        self.instances.append((parts[1], json.load(archive.extractfile(member))))
        met = dict.fromkeys(kernel for kernel, _ in self.instances)
        if not met:
            raise Wrong("no recorded launch is selected: " + self.missing(options, names, kernels, recorded))
        if len(met) > 1:
            raise Wrong("one kernel is tuned at a time; choose with --kernel among " + named(kernels[k] for k in met))
        self.name = kernels[next(iter(met))]
        self.has_ir, self.has_ptx = codes[next(iter(met))]
        self.instances = [instance for _, instance in self.instances]
        target = options.target or ("sm_" if self.device == "cuda" else "host")
        self.is_nvidia = target.startswith(("sm_", "cuda:"))
        self.grid, self.block = (dimensions(self.instances[0][key]) for key in ("grid", "block"))
        self.shared_bytes = max(instance["shared_bytes"] for instance in self.instances)

    @staticmethod
    def missing(options, names, kernels, recorded):
        """Which option selects nothing, and what there is to select."""
        if not recorded:
            return "the bundle has none"
        of_kernels = [instance[:12] for kernel in kernels for instance in recorded.get(kernel, [])]
        if of_kernels:
            return f"no instance starts with --instance '{options.instance}'; there are: {named(of_kernels)}"
        there = named(names.get(kernel, kernel) for kernel in recorded)
        if kernels:
            return f"{named(kernels.values())} has none; kernels with launches are: {there}"
        return f"no kernel matches --kernel '{options.kernel}'; there are: {there}"

    def ids(self):
        return [instance["id"] for instance in self.instances]


def dimensions(value):
    return [value[axis] for axis in "xyz"] if isinstance(value, dict) else list(value)


class Space:
    """Lists of values by the name of their parameter; what is allowed of them, and the configuration that they make."""

    def __init__(self, parameters, configuration=None, allowed=None):
        self.parameters = {name: list(values) for name, values in parameters.items()}
        self.make, self.allow = configuration or dict, allowed or (lambda parameters: True)
        for name, values in self.parameters.items():
            if not values:
                raise Wrong(f"the search space has no value for {name}")

    def size(self):
        return math.prod(map(len, self.parameters.values()))

    def allowed_size(self):
        """How many combinations are allowed, or how many there are if those are too many to look at."""
        if self.size() > 100_000:
            return self.size()
        return sum(not self.refusal(dict(zip(self.parameters, values)))
                   for values in itertools.product(*self.parameters.values()))

    def refusal(self, parameters):
        """Why these are not tried; nothing where they are."""
        try:
            answer = self.allow(dict(parameters))
        except (Exception, SystemExit) as error:  # the user's own function
            raise self.failure(parameters, error) from None
        return answer if isinstance(answer, str) else None if answer else "the search space does not allow it"

    def configuration(self, parameters):
        try:
            made = {key: value for key, value in self.make(dict(parameters)).items() if value is not None}
            json.dumps(made)
            return made
        except (Exception, SystemExit) as error:  # likewise
            raise self.failure(parameters, error) from None

    @staticmethod
    def failure(parameters, error):
        if isinstance(error, Wrong):
            return error
        return Wrong(f"the search space fails with {parameters}: {type(error).__name__}: {error}")

    def joined(self, other):
        def allowed(parameters):
            return self.refusal(parameters) or other.refusal(parameters) or True
        return Space({**self.parameters, **other.parameters},
                     lambda p: {**self.configuration(pick(p, self)), **other.configuration(pick(p, other))}, allowed)


def pick(parameters, space):
    return {name: value for name, value in parameters.items() if name in space.parameters}


REGISTERS = [None, 32, 48, 64, 96, 128]


def assembler_space(recording):
    """Of a kernel without IR, whose PTX is assembled. Where nothing is set, it is the code that ran."""
    if not recording.has_ptx:
        raise Wrong(f"kernel '{named([recording.name])}' has neither IR nor PTX, so its code cannot vary: --space launch varies its "
                    "block and its dynamic shared memory")
    return Space({"max_registers": REGISTERS, "ptxas_level": [None, 1, 2, 3]})


def compiler_space(recording):
    if not recording.has_ir:
        return assembler_space(recording)
    parameters = {"passes": [f"default<O{level}>" for level in "123s"], "codegen_opt": [1, 2, 3],
                  "unroll_threshold": [None, 0, 75, 300, 1200], "specialize_args": [None, "all"],
                  "specialize_dims": [None, True]}
    if recording.is_nvidia:
        parameters.update(max_registers=REGISTERS, inline_threshold=[None, 0, 1000])
        return Space(parameters)
    parameters["vector_width"] = [None, 128, 256, 512]

    def configuration(p):
        width = p.pop("vector_width")
        return {**p, "attributes": width and f"prefer-vector-width={width}"}
    return Space(parameters, configuration)


SHARED_BYTES = [16 << 10, 32 << 10, 48 << 10]


def launch_space(recording):
    parameters = {}
    for axis, block, grid in zip("xyz", recording.block, recording.grid):
        if axis == "x" or block > 1 or grid > 1:
            most = 64 if axis == "z" else 1024
            parameters[f"block_{axis}"] = sorted({block, *(1 << i for i in range(11) if 1 << i <= most)})
    if not recording.has_ir:
        # More than the kernel asks for, so that a multiprocessor holds fewer blocks.
        parameters["shared_mem"] = [None, *(size for size in SHARED_BYTES if size > recording.shared_bytes)]
    else:
        parameters["bounds"] = [False, True]
        if recording.is_nvidia:
            parameters["min_blocks"] = [None, 1, 2, 4]
    least = min(32, math.prod(recording.block))

    def block(p):
        return [p.get(f"block_{axis}", 1) for axis in "xyz"]

    def allowed(p):
        threads = math.prod(block(p))
        return True if least <= threads <= 1024 else f"a block of {threads} threads is not within {least} to 1024"

    def configuration(p):
        made = {"block": block(p), "shared_mem": p.get("shared_mem"),
                "min_blocks": p.get("min_blocks") if p.get("bounds") else None,
                "max_threads": math.prod(block(p)) if p.get("bounds") else None}
        if made["block"] == recording.block:
            del made["block"]
        return made
    return Space(parameters, configuration, allowed)


def space_named(name, recording):
    if name == "compiler":
        return compiler_space(recording)
    if name == "launch":
        return launch_space(recording)
    if name == "full":
        launch = launch_space(recording)
        return launch.joined(compiler_space(recording)) if recording.has_ir or recording.has_ptx else launch
    if not name.endswith(".py"):
        raise Wrong(f"--space takes launch, compiler, full or a file of Python, not '{name}'")
    if not pathlib.Path(name).exists():
        raise Wrong(f"'{name}' cannot be read: No such file or directory")
    try:
        found = runpy.run_path(name)
        parameters = found["PARAMETERS"]
        return Space(parameters(recording) if callable(parameters) else parameters, found.get("configuration"),
                     found.get("allowed"))
    except KeyError as error:
        raise Wrong(f"'{name}' defines no {error}") from None
    except Wrong:
        raise
    except (Exception, SystemExit) as error:  # it is a program of the user's, with mistakes of any kind
        raise Wrong(f"'{name}' is no search space: {type(error).__name__}: {error}") from None


def say_what_cannot_vary(recording):
    if recording.has_ir:
        return
    rest = "a limit of registers, the assembler's level and the launch vary" if recording.has_ptx else "only the launch varies"
    print(f"mneme-tune: kernel '{named([recording.name])}' has no IR, which passes, code generation, unrolling, inlining, "
          f"constants and launch bounds need: {rest}", file=sys.stderr, flush=True)


def choice(value):
    """As Optuna keeps it."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else json.dumps(value)
