# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorded launches that --kernel and --instance choose, kernel by kernel."""

import ctypes
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .bundle import Bundle, Instance, Kernel
from .errors import MnemeError


class Expression:
    """An extended regular expression, by the C library's functions, so that it selects what it selects in the other tools
    (lib/cli/expression.h)."""

    EXTENDED, WITHOUT_PLACES = 1, 8
    MATCHED_BYTES = 64 * 1024
    RETURN_TYPE = b"void "

    def __init__(self, text: str) -> None:
        self.library = ctypes.CDLL(None)
        self.compiled = ctypes.create_string_buffer(1024)  # larger than any library's regex_t
        failed = self.library.regcomp(self.compiled, text.encode(errors="surrogateescape"), self.EXTENDED | self.WITHOUT_PLACES)
        if failed:
            reason = ctypes.create_string_buffer(256)
            self.library.regerror(failed, self.compiled, reason, ctypes.c_size_t(len(reason)))
            raise MnemeError(f"--kernel '{text}' is not a valid regular expression: {reason.value.decode(errors='replace')}; "
                             "in a kernel's name put \\ before (, ), [, *, +, ? and {")

    def matches(self, name: str) -> bool:
        start = name.encode(errors="surrogatepass")[:self.MATCHED_BYTES]
        return self.found(start) or (start.startswith(self.RETURN_TYPE) and self.found(start[len(self.RETURN_TYPE):]))

    def found(self, text: bytes) -> bool:
        return bool(self.library.regexec(self.compiled, text, ctypes.c_size_t(0), None, 0) == 0)

    @staticmethod
    def of_name(name: str) -> str:
        """One that matches this name only, as a whole."""
        return "^" + re.sub(r"([\\^$.\[\]|()*+?{}])", r"\\\1", name) + "$"


MOST_NAMED, WIDEST_NAME, END_OF_NAME = 5, 80, 20


def named(names: Iterable[str]) -> str:
    """Names in a message: the first few, and of a long one its beginning and its end, as the tools cut it."""
    begin = WIDEST_NAME - END_OF_NAME - 1
    texts = [name if len(name) <= WIDEST_NAME else f"{name[:begin]}…{name[-END_OF_NAME:]}" for name in names]
    return "; ".join(texts[:MOST_NAMED]) + ("; …" if len(texts) > MOST_NAMED else "")


@dataclass(frozen=True)
class Selection:
    """The selected launches of one kernel, and what search spaces know of it."""

    kernel: Kernel
    instances: tuple[Instance, ...]
    expression: str  # for the tools' --kernel
    target: str  # what it is compiled for; empty: for what it was recorded on

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def has_ir(self) -> bool:
        return self.kernel.has_ir

    @property
    def has_ptx(self) -> bool:
        return self.kernel.has_ptx

    @property
    def is_nvidia(self) -> bool:
        return (self.target or ("sm_" if self.device == "cuda" else "host")).startswith(("sm_", "cuda:"))

    @property
    def device(self) -> str:
        return self.kernel.bundle.device

    @property
    def grid(self) -> list[int]:
        return list(self.instances[0].grid)

    @property
    def block(self) -> list[int]:
        return list(self.instances[0].block)

    @property
    def shared_bytes(self) -> int:
        return max(instance.shared_bytes for instance in self.instances)

    @property
    def code_bytes(self) -> Mapping[str, int | None]:
        """Of variants that the bundle has already."""
        return {variant.id: variant.code_bytes for variant in self.kernel.variants}

    def ids(self) -> list[str]:
        return [instance.id for instance in self.instances]


def select(bundle: Bundle, *, kernel: str = "", instance: str = "", target: str = "") -> list[Selection]:
    """One for each kernel with launches that are selected: whose name matches the expression, and whose hash begins so. At
    least one."""
    expression = Expression(kernel) if kernel else None
    matching = [one for one in bundle.kernels if not expression or expression.matches(one.name)]
    with_launches = {one.kernel_id for one in bundle.instances}
    found = []
    for one in matching:
        instances = tuple(launch for launch in one.instances if launch.id.startswith(instance))
        if instances:
            found.append((one, instances))
    if not found:
        raise MnemeError("no recorded launch is selected: " + _missing(bundle, matching, with_launches, kernel, instance))
    # Where several are selected, each goes to the tools by its name.
    return [Selection(one, instances, kernel if len(found) == 1 else Expression.of_name(one.name), target)
            for one, instances in found]


def select_one(bundle: Bundle, **options: Any) -> Selection:
    found = select(bundle, **options)
    if len(found) > 1:
        raise MnemeError("the bundle has several kernels; choose with --kernel among " + named(one.name for one in found))
    return found[0]


def _missing(bundle: Bundle, matching: list[Kernel], with_launches: set[str], kernel: str, instance: str) -> str:
    """Which option selects nothing, and what there is to select."""
    if not with_launches:
        return "the bundle has none"
    of_kernels = [launch.id[:12] for one in matching for launch in one.instances]
    if of_kernels:
        return f"no instance starts with --instance '{instance}'; there are: {named(of_kernels)}"
    there = named(one.name for one in bundle.kernels if one.id in with_launches)
    if matching:
        return f"{named(one.name for one in matching)} has none; kernels with launches are: {there}"
    return f"no kernel matches --kernel '{kernel}'; there are: {there}"
