# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random pass sequences: a grammar of LLVM 19's pipelines, each of whose sentences is accepted.

A sequence is a list of passes. `pipeline` puts each into the adaptors that its kind needs, and shares those that
neighbours need:

    inline, sroa, licm, loop-rotate, gvn, globalopt
    cgscc(inline,function(sroa,loop-mssa(licm,loop-rotate),gvn)),globalopt
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .space import Parameter, Space, Value

MODULE = ["globalopt", "ipsccp", "deadargelim", "called-value-propagation", "globaldce"]
CGSCC = ["inline", "function-attrs", "argpromotion"]
# LLVM gives up where instcombine has not reached a fixpoint after an iteration, unless it is said not to.
FUNCTION = [
    "sroa", "mem2reg", "early-cse<memssa>", "instcombine<no-verify-fixpoint>", "instsimplify", "aggressive-instcombine",
    "simplifycfg", "gvn", "sccp", "reassociate", "nary-reassociate", "correlated-propagation", "constraint-elimination",
    "jump-threading", "adce", "bdce", "dse", "memcpyopt", "mldst-motion", "sink",
    "speculative-execution", "tailcallelim", "float2int", "div-rem-pairs", "slsr", "separate-const-offset-from-gep",
    "loop-unroll", "loop-vectorize", "slp-vectorizer", "vector-combine", "load-store-vectorizer", "loop-distribute",
    "loop-load-elim", "infer-alignment", "consthoist"]
# Of loops: those that keep MemorySSA, and those that do not, which LLVM runs apart.
LOOP_MSSA = ["licm", "loop-rotate", "loop-instsimplify", "loop-simplifycfg", "simple-loop-unswitch<nontrivial;trivial>"]
LOOP = ["indvars", "loop-idiom", "loop-deletion", "loop-unroll-full", "loop-reduce"]

# The adaptors around a pass, the outermost first.
ADAPTORS: dict[str, tuple[str, ...]] = {
    **{name: () for name in MODULE},
    **{name: ("cgscc",) for name in CGSCC},
    **{name: ("function",) for name in FUNCTION},
    **{name: ("function", "loop-mssa") for name in LOOP_MSSA},
    **{name: ("function", "loop") for name in LOOP},
}
PASSES = [*FUNCTION, *LOOP_MSSA, *LOOP, *CGSCC, *MODULE]

PRESETS = ["default<O1>", "default<O2>", "default<O3>", "default<Os>", "default<Oz>"]
SEQUENCE = "sequence"
STARTS = ["function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>)", *PRESETS[:3]]
FINISHES = [None, "function(instcombine<no-verify-fixpoint>,simplifycfg)", "default<O2>", "default<O3>"]
LONGEST = 10


def pipeline(passes: Iterable[str]) -> str:
    """The text of a sequence, as `opt -passes=` takes it."""
    text = ""
    open_adaptors: list[str] = []
    for name in passes:
        adaptors = list(ADAPTORS[name])
        if open_adaptors[:1] == ["cgscc"] and adaptors[:1] == ["function"]:
            adaptors.insert(0, "cgscc")  # as LLVM's own pipelines simplify what has been inlined into
        shared = 0
        while shared < min(len(open_adaptors), len(adaptors)) and open_adaptors[shared] == adaptors[shared]:
            shared += 1
        text += ")" * (len(open_adaptors) - shared)
        text += ("," if text else "") + "".join(f"{adaptor}(" for adaptor in adaptors[shared:]) + name
        open_adaptors = adaptors
    return text + ")" * len(open_adaptors)


def sequence_of(parameters: dict[str, Value]) -> str:
    """The pipeline that these parameters of a passes space stand for."""
    if parameters["pipeline"] != SEQUENCE:
        return str(parameters["pipeline"])
    middle = pipeline(parameters[f"pass_{place}"] for place in range(1, parameters["length"] + 1))
    return ",".join(filter(None, [parameters["start"], middle, parameters["finish"]]))


def pass_parameters(presets: Sequence[str] = PRESETS, longest: int = LONGEST) -> list[Parameter]:
    """A preset, or a sequence: what it starts with, so many passes, what it finishes with."""
    of_sequence = {"pipeline": [SEQUENCE]}
    parameters = [
        Parameter.of("pipeline", [*presets, SEQUENCE]),
        Parameter.of("start", STARTS, when=of_sequence),
        Parameter.of("finish", FINISHES, when=of_sequence),
        Parameter.of("length", range(1, longest + 1), when=of_sequence)]
    for place in range(1, longest + 1):
        parameters.append(Parameter.of(f"pass_{place}", PASSES, when={"length": list(range(place, longest + 1))}))
    return parameters


def pipelines_space() -> Space:
    return Space(pass_parameters(), lambda parameters: {"passes": sequence_of(parameters)})
