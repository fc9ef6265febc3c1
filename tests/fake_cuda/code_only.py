# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A toolkit of scripts (toolkit.py) whose programs carry no IR, as nvcc's do: cubins with the sections and symbols that
ptxas gives them, and PTX. What they are executed by, only the library beside this looks for: IR in the section .faked.ir
of a cubin, and in the first line of PTX the cubin that it becomes."""

import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "mneme-inject")]

import cuda_binaries  # noqa: E402
import toolkit  # noqa: E402

MARK = "// fake-cubin "
VERSION = "Cuda compilation tools, release 13.0, V13.0.88"
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}
REGISTERS, PARAMETER, PARAMETER_BYTES = 0x2F, 0x17, 0x19
TEXTURE_INSTRUCTION = 0xF60  # TEX, of sm_90


def make(folder, libraries):
    toolkit.make(folder, libraries)
    for name in ["ptxas", "fatbinary"]:
        (folder / "bin" / name).write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(HERE)!r})\n"
                                           f"import code_only\nsys.exit(code_only.{name}(sys.argv[1:]))\n")


def attribute(name, value):
    return struct.pack("<BBH", 4, name, len(value)) + value


def parameters(text):
    """(offset, size) of each."""
    found, end = [], 0
    for align, bits, count in re.findall(r"\.param (?:\.align (\d+) )?\.[bufs]+(\d+) (?:\.ptr [^\n]*?)?\w+(?:\[(\d+)\])?",
                                         text):
        size = SIZES[bits] * int(count or 1)
        align = int(align or SIZES[bits])
        end = (end + align - 1) // align * align
        found.append((end, size))
        end += size
    return found


def cubin(ptx, processor, registers=24):
    """Of what the PTX declares."""
    kernels = {name: parameters(text) for name, text in re.findall(r"\.entry (\w+)\(([^)]*)\)", ptx)}
    bodies = dict(re.findall(r"\.entry (\w+)\([^)]*\)[^{]*\{(.*?)\n\}", ptx, re.DOTALL))
    variables = {".nv.constant3": [], ".nv.global": []}
    for space, align, bits, name, count in re.findall(
            r"^(?:\.\w+ )*\.(global|const) \.align (\d+) \.[bufs]+(\d+) ([\w$]+)(?:\[(\d+)\])?", ptx, re.MULTILINE):
        variables[".nv.constant3" if space == "const" else ".nv.global"].append((name, SIZES[bits] * int(count or 1)))
    sections = {".nv.info": b""}
    for name, layout in kernels.items():
        info = b"".join(attribute(PARAMETER, struct.pack("<IHHI", 0, i, offset, size << 18))
                        for i, (offset, size) in enumerate(layout))
        end = max((offset + size for offset, size in layout), default=0)
        sections[f".nv.info.{name}"] = info + struct.pack("<BBH", 3, PARAMETER_BYTES, end)
        used = re.search(r"\s(?:tex|tld4|txq|suld|sust|suq)\.", bodies.get(name, ""))
        sections[f".text.{name}"] = (struct.pack("<H", TEXTURE_INSTRUCTION if used else 0) + bytes(14)) * 2
    names, symbols = b"\0", bytes(24)

    def add(name, kind, section, value, size):
        nonlocal names, symbols
        symbols += struct.pack("<IBBHQQ", len(names), 0x10 | kind, 0x10 if kind == 2 else 0, section, value, size)
        names += name.encode() + b"\0"

    for name in kernels:
        sections[".nv.info"] += attribute(REGISTERS, struct.pack("<II", len(symbols) // 24, registers))
        add(name, 2, list(sections).index(f".text.{name}") + 1, 0, 8)
    for section, of_section in variables.items():
        sections[section] = bytes(sum(-(-size // 8) * 8 for _, size in of_section))
        at = 0
        for name, size in of_section:
            add(name, 1, list(sections).index(section) + 1, at, size)
            at += -(-size // 8) * 8
    return for_processor(cuda_binaries.build({**sections, ".symtab": symbols, ".strtab": names}), processor)


def for_processor(image, processor):
    number = int(re.search(r"\d+", processor).group())
    return image[:8] + b"\x08" + image[9:48] + struct.pack("<I", 0x06000004 | number << 8) + image[52:]


def hidden(image):
    """From all but the library beside this."""
    return image.replace(b".mneme.ir\0", b".faked.ir\0")


def ptxas(arguments):
    if "--version" in arguments:
        print(VERSION)
        return 0
    output = next(arguments[i + 1] for i, word in enumerate(arguments) if word in ("-o", "--output-file"))
    source = next(word for word in arguments if word.endswith((".s", ".ptx", "/stdin")))
    joined = " ".join(arguments)
    processor = re.search(r"(?:-arch=|--gpu-name[ =])(sm_\d+)", joined).group(1)
    limit = re.search(r"-maxrregcount=(\d+)", joined)
    text = pathlib.Path(source).read_text()
    target = re.search(r"^\.target (sm_\d+)", text, re.MULTILINE)
    if not target:
        sys.stderr.write("ptxas fatal   : Missing .target directive\n")
        return 255
    if int(target.group(1)[3:]) > int(processor[3:]):
        sys.stderr.write(f"ptxas fatal   : SM version specified by .target is higher than {processor}\n")
        return 255
    registers = int(limit.group(1)) if limit else 24
    if text.startswith(MARK):
        image = bytes.fromhex(text[len(MARK):text.index("\n")])
        # Of all its kernels.
        image = image.replace(struct.pack("<BBH", 4, REGISTERS, 8), b"\x04\x2f\x08\x00")
        for match in reversed(list(re.finditer(rb"\x04\x2f\x08\x00", image))):
            at = match.end() + 4
            image = image[:at] + struct.pack("<I", registers) + image[at + 4:]
        image = for_processor(image, processor)
    else:
        image = cubin(text, processor, registers)
    pathlib.Path(output).write_bytes(image)
    return 0


def fatbinary(arguments):
    if "--help" in arguments:
        print("--image2 <image spec>,...\n--image3 <image spec>,...")
        return 0
    images = [word[len("--image3="):].split(",", 2) for word in arguments if word.startswith("--image3=")]
    images = [dict(field.split("=", 1) for field in image) for image in images]
    written, last = [], b""
    for image in sorted(images, key=lambda one: one["kind"]):  # cubins first
        contents = pathlib.Path(image["file"]).read_bytes()
        if image["kind"] == "elf":
            contents = last = hidden(contents)
        else:
            contents = MARK.encode() + last.hex().encode() + b"\n" + contents
        written.append((cuda_binaries.CUBIN if image["kind"] == "elf" else cuda_binaries.PTX, int(image["sm"]), contents))
    output = arguments[arguments.index("--create") + 1]
    pathlib.Path(output).write_bytes(cuda_binaries.fatbin(written))
    return 0
