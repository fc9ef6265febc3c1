# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AMD's code objects, as far as tests look into them: what kernels' code is, apart from where things lie."""

import bisect
import re
import struct
import subprocess
import tempfile

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
FUNCTION, OBJECT = 2, 1  # symbols' types
RELATIVE, ABSOLUTE = 13, 3  # relocations' types: R_AMDGPU_RELATIVE64, R_AMDGPU_ABS64


def in_program(path):
    """The code objects in an executable."""
    data, found, at = path.read_bytes(), [], -1
    while (at := data.find(BUNDLE, at + 1)) >= 0:
        count, = struct.unpack_from("<Q", data, at + len(BUNDLE))
        entry = at + len(BUNDLE) + 8
        for _ in range(count if count < 100 else 0):
            offset, size, length = struct.unpack_from("<3Q", data, entry)
            triple = data[entry + 24:entry + 24 + length]
            entry += 24 + length
            if b"amdgcn" in triple and size:
                found.append(CodeObject(data[at + offset:at + offset + size]))
    return found


class Symbol:
    def __init__(self, name, kind, is_local, address, size):
        self.name, self.kind, self.is_local, self.address, self.size = name, kind, is_local, address, size


class CodeObject:
    def __init__(self, data):
        self.data = data
        header, = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<3H", data, 58)
        raw = [struct.unpack_from("<2I4Q2I2Q", data, header + i * size) for i in range(count)]
        text = self._bytes(raw[names])
        self.sections = {text[each[0]:text.index(b"\0", each[0])].decode(): each for each in raw}
        self.symbols = self._symbols()
        self.relocations = self._relocations(raw)
        self.code = None

    def _bytes(self, section):
        return self.data[section[4]:section[4] + section[5]]

    def _symbols(self, table=".symtab"):
        table = self.sections[table]
        data, found = self._bytes(table), []
        names = self._bytes([each for each in self.sections.values()][table[6]])
        for at in range(0, len(data), 24):
            name, info, _, _, address, size = struct.unpack_from("<I2BH2Q", data, at)
            found.append(Symbol(names[name:names.index(b"\0", name)].decode(), info & 15, info >> 4 == 0, address, size))
        return found

    def _relocations(self, raw):
        """{address: where it points to}"""
        found, dynamic = {}, None
        for section in raw:
            if section[1] != 4:  # SHT_RELA
                continue
            dynamic = dynamic or self._symbols(".dynsym")
            for at in range(0, section[5], 24):
                place, info, addend = struct.unpack_from("<QQq", self._bytes(section), at)
                if info & 0xffffffff in [RELATIVE, ABSOLUTE]:
                    found[place] = addend + (dynamic[info >> 32].address if info >> 32 else 0)
        return found

    def bytes_at(self, address, size):
        """What is there when it is loaded; None for zeros or nothing at all."""
        for section in self.sections.values():
            if section[2] & 2 and section[3] <= address and address + size <= section[3] + section[5]:
                offset = section[4] + address - section[3]
                return None if section[1] == 8 else self.data[offset:offset + size]
        return None

    def at(self, address):
        """The symbol that an address is of."""
        fitting = [symbol for symbol in self.symbols if symbol.kind in [FUNCTION, OBJECT]
                   and symbol.address <= address < symbol.address + max(symbol.size, 1)]
        return fitting[0] if fitting else None

    def form(self):
        """The version of the code object, and the flags that say which processor it is for and in which settings."""
        return f"version {self.data[8] + 2}, flags {struct.unpack_from('<I', self.data, 48)[0]:#x}"

    def kernels(self):
        return [symbol.name[:-3] for symbol in self.symbols if symbol.name.endswith(".kd")]

    def _disassembled(self):
        """[(address, instruction)] of all code."""
        if self.code is None:
            with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
                file.write(self.data)
                file.flush()
                text = subprocess.run(["llvm-objdump-19", "-d", file.name], check=True, capture_output=True, text=True).stdout
            lines = re.findall(r"^\t(.*?)\s*// ([0-9A-F]{12}):", text, re.MULTILINE)
            self.code = [(int(address, 16), " ".join(instruction.split())) for instruction, address in lines]
        return self.code

    def unknown(self):
        """What the processor it is for knows no instruction for: words, as numbers."""
        return [word for _, word in self._disassembled() if word.startswith(".long")]

    def exported(self):
        """Names that are not the compiler's own."""
        return {symbol.name for symbol in self.symbols if not symbol.is_local}

    def listing(self, kernel, names):
        """A kernel's descriptor and code, and all that these lead to, in the order in which they do; without what only
        says where things lie, and of variables' names only these. None where there is no such kernel."""
        descriptor, = [symbol for symbol in self.symbols if symbol.name == f"{kernel}.kd"] or [None]
        if not descriptor:
            return None
        contents = self.bytes_at(descriptor.address, 64)
        entry = descriptor.address + struct.unpack_from("<q", contents, 16)[0]
        lines = [f"descriptor {(contents[:16] + contents[24:]).hex()}"]
        known, pending = {}, []

        def named(address):
            symbol = self.at(address)
            begin = symbol.address if symbol else address
            if begin not in known:
                known[begin] = len(known)
                pending.append((begin, symbol))
            return f"<{known[begin]}+{address - begin}>"

        named(entry)
        while pending:
            begin, symbol = pending.pop(0)
            lines.append(f"{known[begin]}:")
            if symbol and symbol.kind == FUNCTION:
                lines += self._function(symbol, named)
            else:
                lines.append(self._variable(begin, symbol, named, names))
        return lines

    def _function(self, symbol, named):
        code = [(address, text) for address, text in self._disassembled()
                if symbol.address <= address < symbol.address + symbol.size]
        for i, (address, text) in enumerate(code):
            literal = re.fullmatch(r"s_add_u32 (s\d+|vcc_lo), \1, (0x[0-9a-f]+|-?\d+)", text)
            after = i - 1 if i and code[i - 1][1].startswith("s_waitcnt_depctr") else i  # which gfx11 may want in between
            if literal and after and code[after - 1][1].startswith("s_getpc_b64") and i + 1 < len(code):
                distance = int(literal[2], 0) & 0xffffffff
                distance -= (distance >> 31) << 32
                target = code[after][0] + distance
                pointed = self.relocations.get(target)  # through the table of addresses, or at once
                text = f"s_add_u32 {literal[1]}, " + (named(target) if pointed is None or self.at(target)
                                                       else f"address of {named(pointed)}")
                if pointed is not None and not self.at(target):
                    code[i] = (address, text)
                upper = code[i + 1][1]
                code[i + 1] = (code[i + 1][0], re.sub(r", (0x[0-9a-f]+|-?\d+)$", ", upper", upper))
            code[i] = (code[i][0], text)
        return self._placed(code)

    @staticmethod
    def _placed(code):
        """Branches by how many instructions they go, and loops without what aligns them, which depends on where the
        function lies."""
        branch, goes = re.compile(r"(s_c?branch\w*) (\d+)( <.*)?"), {}
        for address, text in code:
            if found := branch.fullmatch(text):
                distance = int(found[2])
                goes[address] = address + 4 + 4 * (distance - (distance >> 15 << 16))
        loops = {target for address, target in goes.items() if target <= address and target % 32 == 0}
        kept = []
        for address, text in code:
            while address in loops and kept and kept[-1][1] == "s_nop 0":
                kept.pop()
            kept.append((address, text))
        addresses = [address for address, _ in kept]
        for i, (address, text) in enumerate(kept):
            if address in goes:  # one to what aligns a loop goes to the loop
                kept[i] = (address, f"{text.split()[0]} {bisect.bisect_left(addresses, goes[address]) - i}")
        return [text for _, text in kept]

    def _variable(self, begin, symbol, named, names):
        if not symbol:  # a text without a name
            contents = self.bytes_at(begin, 1) and self._text_at(begin)
            return f"text {contents!r}"
        name = symbol.name if symbol.name in names else ""
        words = []
        for at in range(symbol.address, symbol.address + symbol.size, 8):
            pointed = self.relocations.get(at)
            size = min(8, symbol.address + symbol.size - at)
            words.append(named(pointed) if pointed is not None else (self.bytes_at(at, size) or bytes(size)).hex())
        return f"variable {name} {symbol.size} {' '.join(words)}"

    def _text_at(self, address):
        text = b""
        while (byte := self.bytes_at(address + len(text), 1)) and byte != b"\0":
            text += byte
        return text
