# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA's fat binaries and cubins, for tests: written and read independently of lib/objects, which is what is tested."""

import json
import struct
import subprocess

CUBIN, PTX = 2, 1
ZSTD = 0x8000
PARAMETER = 0x17  # EIATTR_KPARAM_INFO


class Cubin:
    def __init__(self, image):
        self.image = image

    def _headers(self):
        table, = struct.unpack_from("<Q", self.image, 0x28)
        count, names_index = struct.unpack_from("<HH", self.image, 0x3C)
        return [struct.unpack_from("<IIQQQQIIQQ", self.image, table + 64 * i) for i in range(count)], names_index

    def sections(self):
        """Contents by name, of those that have any in the file."""
        headers, names_index = self._headers()
        names = self.image[headers[names_index][4]:][:headers[names_index][5]]
        return {names[h[0]:names.index(b"\0", h[0])].decode(): self.image[h[4]:h[4] + h[5]]
                for h in headers if h[1] not in (0, 8)}

    def words(self, prefix):
        """What variables whose names begin so hold at first, 8 bytes each."""
        (headers, _), sections, found = self._headers(), self.sections(), {}
        names = sections.get(".strtab")
        for name, _, _, section, value, size in struct.iter_unpack("<IBBHQQ", sections.get(".symtab", b"")):
            text = names[name:names.index(b"\0", name)].decode()
            if text.startswith(prefix) and size == 8:
                found[text], = struct.unpack_from("<Q", self.image, headers[section][4] + value)
        return found


def entries(path):
    """(kind, contents) of everything in a file's fat binaries."""
    contents, at = path.read_bytes(), 0
    while (at := contents.find(struct.pack("<IHH", 0xBA55ED50, 1, 16), at)) >= 0:
        end = at + 16 + struct.unpack_from("<Q", contents, at + 8)[0]
        at += 16
        while at < end:
            kind, _, header, size, compressed = struct.unpack_from("<HHIQI", contents, at)
            flags, = struct.unpack_from("<Q", contents, at + 40)
            data = contents[at + header:at + header + (compressed or size)]
            if compressed:
                assert flags & ZSTD
                data = subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout
            yield kind, data
            at += header + size


def cubins(path):
    return [Cubin(data) for kind, data in entries(path) if kind == CUBIN]


def ptx(path):
    return [data for kind, data in entries(path) if kind == PTX]


def records(section):
    """(KernelInfo, bitcode) of each kernel in a section for embedded IR, as objects/embedded.h describes it."""
    at = 0
    while (at := section.find(b"MNEMEIR1", at)) >= 0:
        size, bitcode = struct.unpack_from("<QQ", section, at + 8)
        at += 24
        yield json.loads(section[at:at + size]), section[at + size:at + size + bitcode]
        at += size + bitcode


def parameters(info):
    """(offset, size) of each of a kernel's parameters, from section .nv.info.KERNEL: what ptxas says."""
    found, at = {}, 0
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != 4:
            continue  # its value is the 16 bits
        if attribute == PARAMETER:
            _, ordinal, offset, packed = struct.unpack_from("<IHHI", info, at)
            found[ordinal] = (offset, packed >> 18)
        at += size
    return [found[i] for i in sorted(found)]


def build(sections, variables=()):
    """A cubin with these sections, as far as its readers here go; and with variables of 8 bytes, which hold 0."""
    if variables:
        names, symbols = b"\0", bytes(24)
        for i, name in enumerate(variables):
            symbols += struct.pack("<IBBHQQ", len(names), 0x11, 0, len(sections) + 1, 8 * i, 8)
            names += name.encode() + b"\0"
        sections = {**sections, ".nv.global.init": bytes(8 * len(variables)), ".symtab": symbols, ".strtab": names}
    names, body, headers, at = b"\0", b"", [struct.pack("<IIQQQQIIQQ", *[0] * 10)], 64
    for name, contents in [*sections.items(), (".shstrtab", None)]:
        offset, start = at + len(body), len(names)
        names += name.encode() + b"\0"
        contents = names if contents is None else contents
        kind = 3 if name == ".shstrtab" else 1
        headers.append(struct.pack("<IIQQQQIIQQ", start, kind, 0, 0, offset, len(contents), 0, 0, 1, 0))
        body += contents
    header = struct.pack("<4s12sHHIQQQIHHHHHH", b"\x7fELF", bytes([2, 1, 1]), 1, 190, 1, 0, 0, at + len(body), 0, 64, 56, 0,
                         64, len(headers), len(headers) - 1)
    return header + body + b"".join(headers)


def fatbin(images):
    """A fat binary of (kind, processor, contents)."""
    body = b""
    for kind, processor, contents in images:
        contents += bytes(-len(contents) % 8)
        body += struct.pack("<HHIQIIHHIQQQQ", kind, 0x101, 64, len(contents), 0, 0, 8, 1, processor, 0, 0x11, 0, 0) + contents
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
