# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels of PTX: arithmetic of all kinds, predicates, branches and loops, memory, exchanges between lanes. What
they compute is defined to the bit, on a GPU and on the CPU: no approximations, no division by zero, no NaN that is
seen as bits, exchanges where all lanes are there.

A kernel k(out, in, n) of one block of 64 threads reads `n` words of in, a power of two, and writes a word of out for
each of its registers: out[register * 64 + thread].
"""

import random

THREADS = 64
WORDS, WIDES, SINGLES, DOUBLES, PREDICATES = 10, 5, 6, 4, 4
OUTPUTS = WORDS + 2 * WIDES + SINGLES + 2 * DOUBLES  # words a thread

HEAD = """.version 8.0
.target sm_90
.address_size 64
"""


class Kernel:
    def __init__(self, seed, name):
        self.random = random.Random(seed)
        self.name = name
        self.lines = []
        self.labels = 0
        self.depth = 0  # of branches that lanes may take apart
        self.helpers = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def word(self):
        return f"%r{self.random.randrange(WORDS)}"

    def wide(self):
        return f"%d{self.random.randrange(WIDES)}"

    def single(self):
        return f"%f{self.random.randrange(SINGLES)}"

    def double(self):
        return f"%g{self.random.randrange(DOUBLES)}"

    def predicate(self):
        return f"%p{self.random.randrange(PREDICATES)}"

    def word_or_number(self):
        if self.random.random() < 0.3:
            return str(self.pick(0, 1, 2, 31, 255, -1, self.random.randrange(-2**31, 2**31)))
        return self.word()

    def place(self):
        """Of a bit field. ptxas takes a constant beyond 31 modulo 32, against the PTX ISA."""
        return str(self.random.randrange(32)) if self.pick(True, False) else self.word()

    def emit(self, text):
        self.lines.append("  " + text + ";")

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    # Statements

    def integer(self):
        r, w = self.word, self.word_or_number
        kind = self.random.randrange(16)
        if kind == 0:
            self.emit(f"{self.pick('add', 'sub')}.{self.pick('s32', 'u32')} {r()}, {r()}, {w()}")
        elif kind == 1:
            self.emit(f"{self.pick('mul.lo', 'mul.hi')}.{self.pick('s32', 'u32')} {r()}, {r()}, {w()}")
        elif kind == 2:
            self.emit(f"{self.pick('mad.lo', 'mad.hi')}.{self.pick('s32', 'u32')} {r()}, {r()}, {w()}, {r()}")
        elif kind == 3:
            self.emit(f"{self.pick('and', 'or', 'xor')}.b32 {r()}, {r()}, {w()}")
        elif kind == 4:
            self.emit(f"{self.pick('shl.b32', 'shr.u32', 'shr.s32')} {r()}, {r()}, {w()}")
        elif kind == 5:
            self.emit(f"{self.pick('min', 'max')}.{self.pick('s32', 'u32')} {r()}, {r()}, {w()}")
        elif kind == 6:
            self.emit(f"{self.pick('popc', 'clz', 'brev', 'not')}.b32 {r()}, {r()}")
        elif kind == 7:
            self.emit(f"bfe.{self.pick('s32', 'u32')} {r()}, {r()}, {self.place()}, {self.place()}")
        elif kind == 8:
            self.emit(f"bfi.b32 {r()}, {r()}, {r()}, {self.place()}, {self.place()}")
        elif kind == 9:
            self.emit(f"prmt.b32{self.pick('', '.f4e', '.b4e', '.rc8', '.ecl', '.ecr', '.rc16')} {r()}, {r()}, {r()}, {w()}")
        elif kind == 10:
            self.emit(f"lop3.b32 {r()}, {r()}, {r()}, {r()}, {self.random.randrange(256)}")
        elif kind == 11:
            self.emit(f"shf.{self.pick('l', 'r')}.{self.pick('wrap', 'clamp')}.b32 {r()}, {r()}, {r()}, {w()}")
        elif kind == 12:  # a divisor that is not zero
            self.emit(f"or.b32 %rt, {r()}, 1")
            if self.pick(True, False):
                self.emit(f"{self.pick('div', 'rem')}.u32 {r()}, {r()}, %rt")
            else:
                self.emit("and.b32 %rt, %rt, 0x7fffffff")
                self.emit(f"{self.pick('div', 'rem')}.s32 {r()}, {r()}, %rt")
        elif kind == 13:
            self.emit(f"dp4a.{self.pick('u32', 's32')}.{self.pick('u32', 's32')} {r()}, {r()}, {r()}, {r()}")
        elif kind == 14:
            self.emit(f"sad.{self.pick('u32', 's32')} {r()}, {r()}, {r()}, {r()}")
        else:
            self.emit(f"{self.pick('abs', 'neg')}.s32 {r()}, {r()}")

    def carries(self):
        r = self.word
        self.emit(f"add.cc.u32 {r()}, {r()}, {r()}")
        self.emit(f"addc.cc.u32 {r()}, {r()}, {r()}")
        self.emit(f"addc.u32 {r()}, {r()}, 0")
        self.emit(f"sub.cc.u32 {r()}, {r()}, {r()}")
        self.emit(f"subc.cc.u32 {r()}, {r()}, {r()}")
        self.emit(f"{self.pick('subc', 'addc')}.u32 {r()}, {r()}, 0")
        self.emit(f"mad.lo.cc.u32 {r()}, {r()}, {r()}, {r()}")
        self.emit(f"madc.hi.u32 {r()}, {r()}, {r()}, {r()}")

    def wide_integer(self):
        d, r = self.wide, self.word
        kind = self.random.randrange(7)
        if kind == 0:
            self.emit(f"{self.pick('add.s64', 'sub.s64', 'mul.lo.s64', 'mul.hi.u64', 'mul.hi.s64', 'xor.b64')} {d()}, {d()}, {d()}")
        elif kind == 1:
            self.emit(f"{self.pick('mul.wide.s32', 'mul.wide.u32')} {d()}, {r()}, {r()}")
        elif kind == 2:
            self.emit(f"mad.wide.{self.pick('s32', 'u32')} {d()}, {r()}, {r()}, {d()}")
        elif kind == 3:
            self.emit(f"{self.pick('shl.b64', 'shr.u64', 'shr.s64')} {d()}, {d()}, {r()}")
        elif kind == 4:
            self.emit(f"mov.b64 {d()}, {{{r()}, {r()}}}")
        elif kind == 5:
            self.emit(f"mov.b64 {{{r()}, %rt}}, {d()}")
        else:
            self.emit(f"{self.pick('popc', 'clz')}.b64 {r()}, {d()}")

    def floating(self):
        f, g = self.single, self.double
        rounding = self.pick("rn", "rz", "rm", "rp")
        kind = self.random.randrange(9)
        flush = self.pick("", "", "", ".ftz")
        if kind == 0:
            self.emit(f"{self.pick('add', 'sub', 'mul')}.{rounding}{flush}.f32 {f()}, {f()}, {f()}")
        elif kind == 1:
            self.emit(f"fma.{rounding}{flush}.f32 {f()}, {f()}, {f()}, {f()}")
        elif kind == 2:
            self.emit(f"{self.pick('add', 'sub', 'mul')}.{rounding}.f64 {g()}, {g()}, {g()}")
        elif kind == 3:
            self.emit(f"fma.{rounding}.f64 {g()}, {g()}, {g()}, {g()}")
        elif kind == 4:
            self.emit(f"{self.pick('min', 'max')}{flush}.f32 {f()}, {f()}, {f()}")
        elif kind == 5:
            self.emit(f"{self.pick('div.' + rounding, 'div.rn')}.f32 {f()}, {f()}, {f()}")
        elif kind == 6:
            self.emit(f"{self.pick('sqrt', 'rcp')}.{rounding}.f32 {f()}, {f()}")
        elif kind == 7:
            self.emit(f"{self.pick('div', 'div')}.rn.f64 {g()}, {g()}, {g()}")
        else:
            self.emit(f"{self.pick('abs', 'neg')}.f32 {f()}, {f()}")
        if self.random.random() < 0.3:
            self.tame()  # the sign of a NaN is anybody's
            self.emit(f"copysign.f32 {f()}, {f()}, {f()}")

    def tame(self):
        """No NaN is ever moved to where its bits are seen."""
        for i in range(SINGLES):
            self.emit(f"setp.nan.f32 %pt, %f{i}, %f{i}")
            self.emit(f"selp.f32 %f{i}, 0f3F9E0419, %f{i}, %pt")
        for i in range(DOUBLES):
            self.emit(f"setp.nan.f64 %pt, %g{i}, %g{i}")
            self.emit(f"selp.f64 %g{i}, 0d3FF3C083126E978D, %g{i}, %pt")

    def conversion(self):
        r, d, f, g = self.word, self.wide, self.single, self.double
        kind = self.random.randrange(9)
        rounding = self.pick("rn", "rz", "rm", "rp")
        integral = self.pick("rni", "rzi", "rmi", "rpi")
        if kind == 0:
            self.emit(f"cvt.{rounding}.f32.{self.pick('s32', 'u32')} {f()}, {r()}")
        elif kind == 1:
            self.emit(f"cvt.{integral}.{self.pick('s32', 'u32')}.f32 {r()}, {f()}")
        elif kind == 2:
            self.emit(f"cvt.rn.f64.{self.pick('s32', 'u32')} {g()}, {r()}")
        elif kind == 3:
            self.emit(f"cvt.{integral}.{self.pick('s32', 'u32')}.f64 {r()}, {g()}")
        elif kind == 4:
            self.emit(f"cvt.{rounding}.f32.f64 {f()}, {g()}")
        elif kind == 5:
            self.emit(f"cvt.f64.f32 {g()}, {f()}")
        elif kind == 6:
            self.emit(f"cvt.{integral}.f32.f32 {f()}, {f()}")
        elif kind == 7:
            self.emit(f"cvt.{self.pick('s64.s32', 'u64.u32')} {d()}, {r()}")
        else:
            self.emit(f"cvt.u16.u32 %h0, {r()}")
            self.emit(f"cvt.{self.pick('s32.s8', 'u32.u8', 's32.s16', 'u32.u16')} {r()}, %h0")

    def comparison(self):
        p = self.predicate()
        kind = self.random.randrange(4)
        if kind == 0:
            self.emit(f"setp.{self.pick('eq', 'ne', 'lt', 'le', 'gt', 'ge')}.{self.pick('s32', 'u32')} {p}, {self.word()}, {self.word_or_number()}")
        elif kind == 1:
            which = self.pick("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
            self.emit(f"setp.{which}.f32 {p}, {self.single()}, {self.single()}")
        elif kind == 2:
            self.emit(f"setp.lt.{self.pick('and', 'or', 'xor')}.s32 {p}|%pt, {self.word()}, {self.word()}, {self.pick('', '!')}{self.predicate()}")
        else:
            self.emit(f"{self.pick('and', 'or', 'xor')}.pred {p}, {self.predicate()}, {self.predicate()}")
        self.emit(f"selp.b32 {self.word()}, {self.word()}, {self.word_or_number()}, {p}")

    def predicated(self):
        sign = self.pick("", "!")
        p = self.predicate()
        before = len(self.lines)
        self.integer()
        self.lines[before:] = [f"  @{sign}{p}" + line for line in self.lines[before:]]

    def memory(self):
        self.emit("and.b32 %rt, " + self.word() + ", %mask")
        self.emit("mul.wide.u32 %dt, %rt, 4")
        self.emit("add.s64 %dt, %in, %dt")
        self.emit(f"ld.global{self.pick('', '.nc')}.u32 {self.word()}, [%dt]")
        if self.random.random() < 0.3:
            self.emit(f"ld.global.{self.pick('s8', 'u8')} {self.word()}, [%dt+{self.random.randrange(4)}]")

    def local(self):
        """A thread's own array."""
        self.emit(f"and.b32 %rt, {self.word()}, 28")
        self.emit("add.s32 %rt, %slot, %rt")
        self.emit(f"st.local.u32 [%rt], {self.word()}")
        self.emit(f"and.b32 %rt, {self.word()}, 28")
        self.emit("add.s32 %rt, %slot, %rt")
        self.emit(f"ld.local.u32 {self.word()}, [%rt]")

    def exchange(self):
        """Where all lanes are there."""
        if self.depth:
            return self.integer()
        kind = self.random.randrange(6)
        r = self.word
        if kind == 0:
            mode = self.pick("up", "down", "bfly", "idx")
            limit = 0 if mode == "up" else 31
            self.emit(f"shfl.sync.{mode}.b32 {r()}|{self.predicate()}, {r()}, {self.random.randrange(32)}, {limit}, -1")
        elif kind == 1:
            self.emit(f"vote.sync.ballot.b32 {r()}, {self.predicate()}, -1")
        elif kind == 2:
            self.emit(f"vote.sync.{self.pick('any', 'all', 'uni')}.pred {self.predicate()}, {self.predicate()}, -1")
        elif kind == 3:
            self.emit(f"redux.sync.{self.pick('add.s32', 'min.u32', 'max.s32', 'and.b32', 'or.b32', 'xor.b32')} {r()}, {r()}, -1")
        elif kind == 4:
            self.emit(f"match.any.sync.b32 {r()}, {r()}, -1")
        else:
            self.emit("bar.sync 0")
            self.emit(f"st.shared.u32 [%mine], {r()}")
            self.emit("bar.sync 0")
            self.emit(f"and.b32 %rt, {r()}, {4 * (THREADS - 1)}")
            self.emit("mov.u32 %rs, tile")
            self.emit("add.s32 %rt, %rs, %rt")
            self.emit(f"ld.shared.u32 {r()}, [%rt]")

    def branch(self, budget):
        other, end = self.label(), self.label()
        self.depth += 1
        self.emit(f"@{self.pick('', '!')}{self.predicate()} bra {other}")
        self.block(budget // 2)
        if self.pick(True, False):
            self.emit(f"bra.uni {end}")
            self.lines.append(f"{other}:")
            self.block(budget // 2)
            self.lines.append(f"{end}:")
        else:
            self.lines.append(f"{other}:")
        self.depth -= 1

    def loop(self, budget):
        """As many rounds as the lanes say, each its own number, or all the same."""
        again, counter = self.label(), f"%i{self.labels}"
        self.emit(f".reg .b32 {counter}")
        same = self.pick(True, False)
        if same:
            self.emit(f"mov.u32 {counter}, {self.random.randrange(1, 5)}")
        else:
            self.emit(f"and.b32 {counter}, {self.word()}, 3")
            self.depth += 1
        self.lines.append(f"{again}:")
        self.block(budget // 2)
        self.emit(f"sub.s32 {counter}, {counter}, 1")
        self.emit(f"setp.gt.s32 %pt, {counter}, 0")
        self.emit(f"@%pt bra {again}")
        if not same:
            self.depth -= 1

    def call(self):
        """A function of two words."""
        name = f"{self.name}_f{len(self.helpers)}"
        one, two = self.pick("add.s32", "sub.s32", "xor.b32", "mul.lo.s32"), self.pick("add.s32", "xor.b32")
        self.helpers.append(f""".func (.param .b32 back) {name}(.param .b32 a, .param .b32 b)
{{
  .reg .b32 %r<5>;
  ld.param.u32 %r1, [a];
  ld.param.u32 %r2, [b];
  {one} %r3, %r1, %r2;
  {two} %r4, %r3, {self.random.randrange(1000)};
  st.param.b32 [back], %r4;
  ret;
}}
""")
        self.lines.append("  {")
        for parameter in ("first", "second"):
            self.emit(f".param .b32 {parameter}")
            self.emit(f"st.param.b32 [{parameter}], {self.word()}")
        self.emit(".param .b32 given")
        self.emit(f"call.uni (given), {name}, (first, second)")
        self.emit(f"ld.param.b32 {self.word()}, [given]")
        self.lines.append("  }")

    def block(self, budget):
        while budget > 0:
            kind = self.random.random()
            if kind < 0.08 and budget > 4:
                self.branch(budget)
                budget -= budget // 2 + 1
            elif kind < 0.13 and budget > 4:
                self.loop(budget)
                budget -= budget // 2 + 1
            else:
                self.random.choice([self.integer, self.integer, self.wide_integer, self.floating, self.conversion,
                                    self.comparison, self.predicated, self.memory, self.local, self.exchange,
                                    self.exchange, self.carries, self.call])()
                budget -= 1

    def text(self, size):
        self.block(size)
        self.tame()
        body = "\n".join(self.lines)
        stores, place = [], 0

        def store(kind, register):
            nonlocal place
            stores.append(f"  st.global.{kind} [%out+{place * 4 * THREADS}], {register};")
            place += 1

        for i in range(WORDS):
            store("u32", f"%r{i}")
        for i in range(WIDES):
            stores.append(f"  mov.b64 {{%rs, %rt}}, %d{i};")
            store("u32", "%rs")
            store("u32", "%rt")
        for i in range(SINGLES):
            store("f32", f"%f{i}")
        for i in range(DOUBLES):
            stores.append(f"  mov.b64 {{%rs, %rt}}, %g{i};")
            store("u32", "%rs")
            store("u32", "%rt")
        first = "".join(f"  ld.global.u32 %r{i}, [%mine64+{4 * THREADS * i}];\n" for i in range(WORDS))
        first += "".join(f"  mov.b64 %d{i}, {{%r{i}, %r{i + WIDES}}};\n" for i in range(WIDES))
        first += "".join(f"  cvt.rn.f32.s32 %f{i}, %r{i};\n" for i in range(SINGLES))
        first += "".join(f"  cvt.rn.f64.s32 %g{i}, %r{i};\n" for i in range(DOUBLES))
        first += "".join(f"  setp.lt.s32 %p{i}, %r{i}, %r{i + 1};\n" for i in range(PREDICATES))
        return "".join(self.helpers) + f""".visible .entry {self.name}(.param .u64 a, .param .u64 b, .param .u32 n)
{{
  .reg .b32 %r<{WORDS}>, %rt, %rs, %mask, %mine, %tid32, %slot;
  .reg .b64 %d<{WIDES}>, %dt, %out, %in, %mine64;
  .reg .f32 %f<{SINGLES}>;
  .reg .f64 %g<{DOUBLES}>;
  .reg .b16 %h<2>;
  .reg .pred %p<{PREDICATES}>, %pt;
  .shared .align 4 .b8 tile[{4 * THREADS}];
  .local .align 4 .b8 own[32];
  ld.param.u64 %out, [a];
  ld.param.u64 %in, [b];
  ld.param.u32 %mask, [n];
  cvta.to.global.u64 %out, %out;
  cvta.to.global.u64 %in, %in;
  sub.s32 %mask, %mask, 1;
  mov.u32 %tid32, %tid.x;
  mul.wide.u32 %dt, %tid32, 4;
  add.s64 %out, %out, %dt;
  add.s64 %mine64, %in, %dt;
  mov.u32 %rs, tile;
  shl.b32 %rt, %tid32, 2;
  add.s32 %mine, %rs, %rt;
  mov.u32 %slot, own;
{"".join(f"  st.local.u32 [own+{4 * i}], %tid32;{chr(10)}" for i in range(8))}{first}{body}
{chr(10).join(stores)}
  ret;
}}
"""


def program(seed, count, size=15):
    """A file of `count` kernels k0, k1, …"""
    return HEAD + "".join(Kernel(seed * 100003 + i, f"k{i}").text(size) for i in range(count))


if __name__ == "__main__":
    import sys

    print(program(int(sys.argv[1]), int(sys.argv[2])))
