# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of a kernel: its IR as text, wrong in one place.

The text must be as `opt -passes=sroa,simplifycfg` prints it. A mutation knows three texts: the mutant itself; one that
traps where the mutation would be executed; and one that traps where it would make a difference, that is, where what the
changed instruction gives is not what the instruction gave. A mutant whose probe does not trap cannot be told from the
original by anybody, in that launch.
"""

import collections
import dataclasses
import random
import re
import struct

NAME = r'%(?:[-\w.$]+|"[^"]*")'
OPERAND = rf"(?:{NAME}|-?\d[\d.e+-]*|true|false|0x\w+)"
TYPE = r"(?:<\d+ x \w+>|[a-z]\w*(?: addrspace\(\d+\))?)"
FLAGS = r"(?P<flags>(?: (?:nuw|nsw|exact|disjoint|contract|reassoc|fast|nnan|ninf|nsz|arcp|afn))*)"
BINARY = re.compile(rf"  (?P<r>{NAME}) = (?P<op>[a-z]+){FLAGS} (?P<ty>{TYPE}) (?P<a>{OPERAND}), (?P<b>{OPERAND})$")
COMPARE = re.compile(rf"  (?P<r>{NAME}) = (?P<op>[if]cmp){FLAGS} (?P<pred>\w+) (?P<ty>{TYPE}) "
                     rf"(?P<a>{OPERAND}), (?P<b>{OPERAND})$")
SELECT = re.compile(rf"  (?P<r>{NAME}) = select{FLAGS} i1 (?P<c>{NAME}), (?P<ty>{TYPE}) (?P<a>{OPERAND}), "
                    rf"{TYPE} (?P<b>{OPERAND})$")
PHI = re.compile(rf"  {NAME} = phi (?P<ty>i\d+) .*\[ (?P<a>-?\d+), {NAME} \]")
POINTER = rf"(?P<pty>ptr(?: addrspace\(\d+\))?) (?P<p>{NAME})(?P<rest>, .*)"
LOAD = re.compile(rf"  (?P<r>{NAME}) = load (?:volatile )?(?P<ty>{TYPE}), {POINTER}$")
STORE = re.compile(rf"  store (?:volatile )?(?P<ty>{TYPE}) (?P<v>{OPERAND}), {POINTER}$")
ATOMIC = re.compile(r"(?P<before>  .* = atomicrmw (?:volatile )?)(?P<op>\w+)(?P<after> .*)$")
BARRIER = re.compile(r"  (?:tail )?call void @(?:_Z13__syncthreadsv|llvm\.amdgcn\.s\.barrier)\(\)")
POINTER_ARGUMENT = re.compile(rf"  {NAME} = ptrtoint ptr addrspace\(1\) (?P<a>{NAME}) to i64$")

NOT_COMMUTATIVE = {"sub", "sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr", "fsub", "fdiv", "frem"}
FLOAT = {"fadd", "fsub", "fmul", "fdiv"}
WITH_INTEGERS = {"add", "sub", "mul", "and", "or", "xor", "sdiv", "udiv", "srem", "urem"}
BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
NEIGHBOURS = {"slt": "sle", "sle": "slt", "sgt": "sge", "sge": "sgt", "ult": "ule", "ule": "ult", "ugt": "uge",
              "uge": "ugt", "eq": "ne", "ne": "eq", "oeq": "une", "une": "oeq", "olt": "ogt", "ogt": "olt",
              "ole": "oge", "oge": "ole", "ord": "uno", "uno": "ord", "ueq": "one", "one": "ueq"}
UNORDERED = {"ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule"}  # where the operands are floating point
SYMMETRIC = {"eq", "ne", "oeq", "une", "ord", "uno", "ueq", "one"}
OTHER_ATOMIC = {"add": "sub", "sub": "add", "fadd": "fsub", "fsub": "fadd", "and": "or", "or": "xor", "xor": "or",
                "xchg": "add", "max": "min", "min": "max", "umax": "umin", "umin": "umax", "fmax": "fmin",
                "fmin": "fmax"}

PROBE = """
define internal void @mneme.probe(i1 %differs) alwaysinline {
  br i1 %differs, label %trap, label %same
trap:
  call void @llvm.trap()
  unreachable
same:
  ret void
}
"""

# Kinds after which results may only differ by rounding. A person would call them right.
SLIGHT = {"reassociated", "fused", "reassoc flags", "fast flags", "last bit"}


@dataclasses.dataclass(eq=False)
class Mutation:
    """The line `at`, which `was` this, becomes the lines `now`; or, to find out if that makes a difference, the lines
    `probe` (None where it cannot be told so). `nth` tells lines of a function apart that read the same.
    A mutation of the whole kernel has a dictionary of lines for `now`."""

    kind: str
    function: str
    nth: int
    at: int
    was: str
    now: list
    probe: list

    def text(self, lines):
        return edited(lines, self.now if isinstance(self.now, dict) else {self.at: self.now})

    def where_reached(self, lines):
        at = next(i for i in range(self.at, len(lines)) if " = phi " not in lines[i])
        return edited(lines, {at: ["  call void @mneme.probe(i1 true)", lines[at]]}, PROBE)

    def where_different(self, lines):
        return edited(lines, {self.at: self.probe}, PROBE)

    def __str__(self):
        if isinstance(self.now, dict):
            return f"{self.kind} on {len(self.now)} lines"
        now = "; ".join(line.strip() for line in self.now) or "nothing"
        nth = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.kind} in {self.function}: {self.was.strip()}{nth} -> {now}"


DECLARATIONS = ["declare void @llvm.trap()", "declare float @llvm.fma.f32(float, float, float)",
                "declare double @llvm.fma.f64(double, double, double)"]


def edited(lines, changes, more=""):
    """The text with other lines in the place of some, {number: lines}, and more at the end."""
    text = "\n".join(line for i, old in enumerate(lines) for line in changes.get(i, [old])) + "\n" + more
    for declaration in DECLARATIONS:
        name = re.search(r"@[\w.]+\(", declaration)[0]
        if name in text and not re.search(rf"(?m)^declare .*{re.escape(name)}", text):
            text += declaration + "\n"
    return text


def bits_of(ty):
    """An integer type as wide, or None."""
    vector = re.fullmatch(r"<(\d+) x (\w+)>", ty)
    count, element = (int(vector[1]), vector[2]) if vector else (1, ty)
    bits = BITS.get(element) or (int(element[1:]) if re.fullmatch(r"i\d+", element) else None)
    return bits and f"i{count * bits}"


def traps_if_different(ty, a, b):
    if ty.startswith("ptr"):
        return [f"  %mneme.differs = icmp ne {ty} {a}, {b}", "  call void @mneme.probe(i1 %mneme.differs)"]
    bits = bits_of(ty)
    if not bits:
        return None
    return [f"  %mneme.a = bitcast {ty} {a} to {bits}", f"  %mneme.b = bitcast {ty} {b} to {bits}",
            f"  %mneme.differs = icmp ne {bits} %mneme.a, %mneme.b", "  call void @mneme.probe(i1 %mneme.differs)"]


def value(match, new, before=()):
    """The instruction that gives `r` gives `new` (the instruction's text) in its place, after the lines `before`."""
    check = traps_if_different("i1" if match.re is COMPARE else match["ty"], match["r"], "%mneme.now")
    probe = check and [*before, match.string, f"  %mneme.now = {new}", *check]
    return [*before, f"  {match['r']} = {new}"], probe


def literal(number, ty):
    """A floating-point number as IR writes it."""
    if ty == "float":
        number = struct.unpack("f", struct.pack("f", number))[0]
    return f"0x{struct.unpack('Q', struct.pack('d', number))[0]:016X}"


def number_of(operand, ty):
    """What a literal stands for, or None."""
    if ty not in ("float", "double") or operand.startswith("%"):
        return None
    if not operand.startswith("0x"):
        return float(operand)
    return struct.unpack("d", struct.pack("Q", int(operand, 16)))[0]


# Each kind: what an instruction becomes, as (lines, lines of the probe), or None. `function` is the Function.

def swapped(line, function):
    if (m := BINARY.fullmatch(line)) and m["op"] in NOT_COMMUTATIVE and m["a"] != m["b"]:
        return value(m, f"{m['op']} {m['ty']} {m['b']}, {m['a']}")
    if (m := COMPARE.fullmatch(line)) and m["pred"] not in SYMMETRIC and m["a"] != m["b"]:
        return value(m, f"{m['op']} {m['pred']} {m['ty']} {m['b']}, {m['a']}")
    if (m := SELECT.fullmatch(line)) and m["a"] != m["b"]:
        return value(m, f"select i1 {m['c']}, {m['ty']} {m['b']}, {m['ty']} {m['a']}")
    return None


def comparison(line, function):
    if not (m := COMPARE.fullmatch(line)):
        return None
    flipped = {**NEIGHBOURS, **UNORDERED} if m["op"] == "fcmp" else NEIGHBOURS
    return m["pred"] in flipped and value(m, f"{m['op']} {flipped[m['pred']]} {m['ty']} {m['a']}, {m['b']}")


def constant(line, function):
    m = BINARY.fullmatch(line)
    if m and m["op"] in WITH_INTEGERS and re.fullmatch(r"-?\d+", m["b"]) and m["ty"] != "i1":
        return value(m, f"{m['op']} {m['ty']} {m['a']}, {int(m['b']) + 1}")
    if m := PHI.match(line):
        return [line[:m.start("a")] + str(int(m["a"]) + 1) + line[m.end("a"):]], None
    if (m := STORE.fullmatch(line)) and re.fullmatch(r"-?\d+", m["v"]) and m["ty"] != "i1":
        return [line[:m.start("v")] + str(int(m["v"]) + 1) + line[m.end("v"):]], None
    return None


def index(line, function):
    """Element i + 1 for element i."""
    m = LOAD.fullmatch(line) or STORE.fullmatch(line)
    if not m or m["p"] not in function.indexed:
        return None
    next_one = f"  %mneme.next = getelementptr {m['ty']}, {m['pty']} {m['p']}, i64 1"
    rest = re.sub(r", align \d+", "", m["rest"])
    if m.re is LOAD:
        return value(m, f"load {m['ty']}, {m['pty']} %mneme.next{rest}", [next_one])
    return [next_one, f"  store {m['ty']} {m['v']}, {m['pty']} %mneme.next{rest}"], None


def dropped_store(line, function):
    if not (m := STORE.fullmatch(line)):
        return None
    check = traps_if_different(m["ty"], m["v"], "%mneme.old")
    return [], check and [f"  %mneme.old = load {m['ty']}, {m['pty']} {m['p']}{m['rest']}", *check, line]


def dropped_barrier(line, function):
    return ([], None) if BARRIER.match(line) else None


def negated(line, function):
    if not (m := BINARY.fullmatch(line)) or m["op"] not in FLOAT:
        return None
    return value(m, f"{m['op']}{m['flags']} {m['ty']} {m['a']}, %mneme.negative",
                 [f"  %mneme.negative = fneg {m['ty']} {m['b']}"])


def atomic(line, function):
    m = ATOMIC.fullmatch(line)
    return m and m["op"] in OTHER_ATOMIC and ([m["before"] + OTHER_ATOMIC[m["op"]] + m["after"]], None)


def argument(line, function):
    m = POINTER_ARGUMENT.fullmatch(line)
    if not m or m["a"] not in function.pointers or len(function.pointers) < 2:
        return None
    other = function.pointers[(function.pointers.index(m["a"]) + 1) % len(function.pointers)]
    return [line.replace(f"addrspace(1) {m['a']} to", f"addrspace(1) {other} to")], None


def changed_number(change):
    def kind(line, function):
        m = BINARY.fullmatch(line)
        number = m and m["op"] in FLOAT and number_of(m["b"], m["ty"])
        if not number or abs(number) == float("inf"):
            return None
        return value(m, f"{m['op']}{m['flags']} {m['ty']} {m['a']}, {literal(change(number, m['ty']), m['ty'])}")
    return kind


def next_number(number, ty):
    form, bits = ("f", "I") if ty == "float" else ("d", "Q")
    return struct.unpack(form, struct.pack(bits, struct.unpack(bits, struct.pack(form, number))[0] + 1))[0]


def reassociated(line, function):
    """(a + b) + c becomes a + (b + c)."""
    m = BINARY.fullmatch(line)
    if not m or m["op"] not in ("fadd", "fmul"):
        return None
    for inner, other in ((m["a"], m["b"]), (m["b"], m["a"])):
        first = BINARY.fullmatch(function.definitions.get(inner, ""))
        if first and first["op"] == m["op"]:
            return value(m, f"{m['op']} {m['ty']} {first['a']}, %mneme.inner",
                         [f"  %mneme.inner = {m['op']} {m['ty']} {first['b']}, {other}"])
    return None


def fused(line, function):
    """a * b + c, rounded once."""
    m = BINARY.fullmatch(line)
    if not m or m["op"] != "fadd" or m["ty"] not in ("float", "double"):
        return None
    for product, other in ((m["a"], m["b"]), (m["b"], m["a"])):
        first = BINARY.fullmatch(function.definitions.get(product, ""))
        if first and first["op"] == "fmul":
            ty = m["ty"]
            return value(m, f"call {ty} @llvm.fma.f{BITS[ty]}({ty} {first['a']}, {ty} {first['b']}, {ty} {other})")
    return None


KINDS = {"swapped": swapped, "comparison": comparison, "constant": constant, "index": index,
         "dropped store": dropped_store, "dropped barrier": dropped_barrier, "negated": negated, "atomic": atomic,
         "argument": argument,
         "percent": changed_number(lambda number, ty: number * 1.01), "last bit": changed_number(next_number),
         "reassociated": reassociated, "fused": fused}


class Function:
    def __init__(self, lines, begin, end):
        self.name = re.search(r"@([-\w.$]+|\"[^\"]*\")\(", lines[begin])[1]
        self.is_kernel = "amdgpu_kernel" in lines[begin]
        self.pointers = re.findall(rf"ptr addrspace\(1\)[^,%]* ({NAME})", lines[begin]) if self.is_kernel else []
        self.range = range(begin + 1, end)
        self.calls = set(re.findall(r"@([-\w.$]+)", "\n".join(lines[begin + 1:end])))
        body = [lines[i] for i in self.range]
        self.definitions = {m[1]: line for line in body if (m := re.match(rf"  ({NAME}) = ", line))}
        self.indexed = {r for r, line in self.definitions.items() if " = getelementptr " in line}
        uses = collections.Counter(re.findall(NAME, "\n".join(body)))
        self.used = {r for r in self.definitions if uses[r] > 1}


# Device libraries, which the host device has its own versions of, and what HIP's headers have around them.
LIBRARY = re.compile(r'"?(?:\d+$|__|_ZL?\d*__|_ZNK?\d+__HIP_|_ZmlN17__HIP_|llvm\.|printf|_ZN\d*printf)')


def functions_of(lines):
    """The kernel, and those functions of the program that it may call, in the order in which they come."""
    begins = [i for i, line in enumerate(lines) if line.startswith("define ")]
    everything = [Function(lines, i, lines.index("}", i)) for i in begins]
    return sorted((f for f in everything if f.is_kernel or not LIBRARY.match(f.name)), key=lambda f: not f.is_kernel)


def with_flags(kind, flags, lines, functions):
    """Flags that allow rounding to change, on all floating-point arithmetic."""
    found = [(i, m) for f in functions for i in f.range if (m := BINARY.fullmatch(lines[i])) and m["op"] in FLOAT]
    if len(found) < 2:
        return []
    now = {i: [m.string.replace(f"{m['op']}{m['flags']} ", f"{m['op']} {flags} ", 1)] for i, m in found}
    return [Mutation(kind, functions[0].name, 1, None, "", now, None)]


def mutations(lines, seed, each=2):
    """{kind: mutations}: of each kind up to `each`, chosen among all places, the same every time."""
    functions, found = functions_of(lines), collections.defaultdict(list)
    for kind, change in KINDS.items():
        places = []
        for function in functions:
            for i in function.range:
                result = re.match(rf"  ({NAME}) = ", lines[i])
                if result and result[1] not in function.used and " = atomicrmw " not in lines[i]:
                    continue
                if changed := change(lines[i], function):
                    nth = lines[function.range.start:i + 1].count(lines[i])
                    places.append(Mutation(kind, function.name, nth, i, lines[i], *changed))
        chosen = random.Random(f"{seed} {kind}").sample(places, min(each, len(places)))
        found[kind] = sorted(chosen, key=lambda m: m.at)
    found["reassoc flags"] = with_flags("reassoc flags", "reassoc nsz contract", lines, functions)
    found["fast flags"] = with_flags("fast flags", "fast", lines, functions)
    return {kind: some for kind, some in found.items() if some}
