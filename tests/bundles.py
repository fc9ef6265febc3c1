# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading and making bundles, whole and broken, for the tests: an independent reading of lib/bundle/FORMAT.md."""

import ctypes
import io
import json
import struct
import tarfile

BLOCK = 64 * 1024


class Member:
    def __init__(self, name, data, begin=0, contents=0, end=0):
        self.name, self.data = name, data
        self.begin, self.contents, self.end = begin, contents, end  # offsets in the archive


def read(archive):
    """The members of a bundle, given as bytes."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return [Member(info.name, tar.extractfile(info).read(), info.offset, info.offset_data,
                       info.offset_data + (info.size + 511) // 512 * 512) for info in tar]


def write(members):
    """A bundle of these members, each a Member or a (name, contents) pair or a tarfile.TarInfo without contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            name, data = (member.name, member.data) if isinstance(member, Member) else member
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def parsed(member):
    return json.loads(member.data)


def segments(instance):
    """An instance's segments one by one: an entry with a count stands for several."""
    for entry in instance["segments"]:
        for i in range(entry.get("count", 1)):
            yield {**entry, "address": hex(int(entry["address"], 16) + i * entry.get("stride", 0))}


def compact(value):
    """An object as the bundle writes it: on one line, ending with the digest of what comes before."""
    value = {key: entry for key, entry in value.items() if key != "digest"}
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    return text + b',"digest":"' + digest(text).encode() + b'"}'


class _Xxh128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_xxhash = ctypes.CDLL("libxxhash.so.0")
_xxhash.XXH3_128bits.restype = _Xxh128
_xxhash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def digest(data):
    value = _xxhash.XXH3_128bits(bytes(data), len(data))
    return f"{value.high:016x}{value.low:016x}"


def instance_id(instance):
    """The dynamic hash of an instance without annotations."""
    numbers = [*instance["grid"], *instance["block"], instance["shared_bytes"], len(instance["arguments"]) // 2]
    cluster = instance.get("cluster", [])
    return digest(instance["kernel"].encode() + struct.pack("<8Q", *numbers) + bytes.fromhex(instance["arguments"])
                  + instance["prologue"].encode() + (struct.pack("<Q", instance["device"]) if "device" in instance else b"")
                  + (b"cooperative" if instance.get("cooperative") else b"")
                  + struct.pack(f"<{len(cluster)}Q", *cluster))


def read_state(data):
    """[(address, digest)] of a states/… member."""
    magic, version, count = struct.unpack_from("<4sIQ", data)
    assert (magic, version, len(data)) == (b"MNST", 1, 16 + 24 * count)
    entries = [struct.unpack_from("<Q16s", data, 16 + 24 * i) for i in range(count)]
    return [(address, name.hex()) for address, name in entries]


def write_state(blocks, count=None):
    out = struct.pack("<4sIQ", b"MNST", 1, len(blocks) if count is None else count)
    return out + b"".join(struct.pack("<Q16s", address, bytes.fromhex(name)) for address, name in blocks)


PACK_HEADER, PACK_ENTRY = 16, 40


def pack_header(count, version=1, magic=b"MNPK"):
    return struct.pack("<4sIII", magic, version, count, 0)


def zstd_bomb(blocks, content_size=None):
    """A zstd frame of `blocks` runs of 128 KiB of zeros, which takes 4 bytes each. It claims `content_size` bytes."""
    if content_size is None:
        header = struct.pack("<IBB", 0xFD2FB528, 0x00, (17 - 10) << 3)
    else:
        header = struct.pack("<IBBQ", 0xFD2FB528, 0xC0, (17 - 10) << 3, content_size)
    run_of_zeros = ((1 << 17) << 3 | 1 << 1)
    body = struct.pack("<I", run_of_zeros)[:3] + b"\0"
    last = struct.pack("<I", run_of_zeros | 1)[:3] + b"\0"
    return header + body * (blocks - 1) + last


def pack_of(block):
    """A pack of one block, stored as it is."""
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, BLOCK) + struct.pack("<I", BLOCK << 3 | 1)[:3] + block
    return pack_header(1) + bytes.fromhex(digest(block)) + bytes(24) + frame
