# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a replay is judged: mneme-verify's policies (docs/verification.md)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verify:
    """Without arguments memory has to be as recorded, byte for byte, or as annotations say; but NaNs may differ in their
    bits, which passes choose as they like."""

    infer: bool = False  # the type that the kernel stores, and a usual tolerance for it
    tolerance: float | None = None  # of all memory of `dtype`, or of `segment`
    kind: str | None = None  # absolute, relative, scaled, ulp
    norm: str | None = None  # none, l1, l2, linf
    dtype: str | None = None  # f32, f64, …
    segment: str | None = None  # a symbol, a tag, an address
    nan: str = "equal"  # or bits
    lenient: bool = False  # a result passes that varies as much as the recorded code's

    def words(self) -> list[str]:
        """As options of mneme-verify."""
        made = ["--nan", self.nan, *(["--infer"] if self.infer else []), *(["--lenient"] if self.lenient else [])]
        threshold = None if self.tolerance is None else repr(self.tolerance)
        for option, value in (("segment", self.segment), ("dtype", self.dtype), ("kind", self.kind), ("norm", self.norm),
                              ("threshold", threshold)):
            if value is not None:
                made += [f"--{option}", value]
        return made
