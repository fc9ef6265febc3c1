#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lib/ is layered, and so are the rooms of its large wings: a folder includes only what stands above it. Tools include
nothing of each other. LLVM is seen by those who need it only. A folder holds what one sitting can survey."""

import collections
import os.path
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

LAYERS = ["base", "bundle", "vendor", "objects", "memory", "ir", "codegen", "device", "verify", "cli", "replay", "hostgpu"]
ALONE = ["annotate"]  # the header that applications include
# Rooms of a wing, lowest first; those in one entry may include each other. Files of the wing that are in no room may
# include all, and be included by all. Tests may include anything of their wing.
ROOMS = {
    "lib/bundle": ["archive blocks json", "pack", "testing"],
    "lib/codegen/host": ["neutral", "analysis", "semantics", "checks", "math", "dialect", "sync", "forms", "vectorize"],
    "lib/device/host": ["heap", "checks fibers grid services"],
    "lib/hostgpu": ["compile", "device graphs kernels memory queue textures", "cuda"],
    "lib/replay": ["worker", "judge", "testing"],
    "mneme-capture/recorder": ["link", "runtime", "memory", "apply", "core", "cuda hip"],
}
# Neither includes the other.
STRANGERS = [("mneme-capture/recorder/cuda", "mneme-capture/recorder/hip"), ("lib/replay/judge", "lib/replay/worker"),
             ("lib/device/cuda", "lib/device/hip"), ("lib/device/gpu", "lib/device/host")]
MOST_FILES = 40  # sources of a folder, beside their tests
LARGER = {}      # folder: why it is one idea all the same
LLVM = re.compile(r"(llvm|llvm-c|lld)/")
WITH_LLVM = re.compile(r"lib/(ir|codegen)/|mneme-(inject|compile|extract-ir)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SOURCES = (".cc", ".h", ".hpp", ".c", ".def")


def sources(root):
    """{path relative to the root: text}"""
    found = {}
    for folder in ["lib", *(p.name for p in root.glob("mneme-*"))]:
        for path in (root / folder).rglob("*"):
            if path.suffix in SOURCES and path.is_file():
                found[str(path.relative_to(root))] = path.read_text()
    return found


def includes(path, text, files):
    """What a file includes: paths of ours where they are ours, else as written. A tool's folder is where other tools
    may find a bare name, too."""
    tools = sorted({file.split("/")[0] for file in files} - {"lib"}, key=lambda tool: tool != path.split("/")[0])
    for name in INCLUDE.findall(text):
        candidates = [os.path.normpath(os.path.join(os.path.dirname(path), name)), f"lib/{name}", name,
                      *(f"{tool}/{name}" for tool in tools)]
        yield next((candidate for candidate in candidates if candidate in files), name)


def folder_of(path):
    """"bundle" for lib/bundle/…, "mneme-run" for mneme-run/…"""
    parts = path.split("/")
    return parts[1] if parts[0] == "lib" else parts[0]


def wrong_directions(files):
    for path, text in files.items():
        own = folder_of(path)
        for name in includes(path, text, files):
            other = folder_of(name)
            if name not in files or other == own:
                continue
            if other.startswith("mneme-"):
                yield f"{path} includes {name}, which belongs to a tool"
            elif own in ALONE:
                yield f"{path} includes {name}, but lib/{own} depends on nothing"
            elif own in LAYERS and other in LAYERS and LAYERS.index(other) > LAYERS.index(own):
                yield f"{path} includes {name}, but lib/{other} stands below lib/{own}"


def room_of(path):
    """(wing, how low its room stands) or None"""
    for wing, levels in ROOMS.items():
        if path.startswith(wing + "/"):
            room = path[len(wing) + 1:].split("/")[0]
            return next(((wing, level) for level, rooms in enumerate(levels) if room in rooms.split()), None)
    return None


def wrong_rooms(files):
    for path, text in files.items():
        if path.endswith("_test.cc"):
            continue
        own = room_of(path)
        for name in includes(path, text, files):
            other = room_of(name) if name in files else None
            if own and other and own[0] == other[0] and other[1] > own[1]:
                yield f"{path} includes {name}, whose room stands below"
            for pair in STRANGERS:
                for one, another in (pair, pair[::-1]):
                    if path.startswith(one + "/") and name.startswith(another + "/"):
                        yield f"{path} includes {name}, but the two rooms are strangers"


def crowded_folders(files):
    count = collections.Counter(os.path.dirname(path) for path in files if not path.endswith("_test.cc"))
    for folder, number in sorted(count.items()):
        if number > MOST_FILES and folder not in LARGER:
            yield f"{folder} holds {number} sources: more than {MOST_FILES}"


def llvm_where_it_does_not_belong(files):
    """Directly or through headers."""
    reaches = {}

    def way_to_llvm(path):
        if path not in reaches:
            reaches[path] = None  # while looking: headers may include each other
            for name in includes(path, files[path], files):
                if LLVM.match(name):
                    reaches[path] = [path, name]
                elif name in files and way_to_llvm(name):
                    reaches[path] = [path, *reaches[name]]
        return reaches[path]

    for path in files:
        if not WITH_LLVM.match(path) and way_to_llvm(path):
            yield f"{path} reaches LLVM: " + " -> ".join(reaches[path])


class Layers(unittest.TestCase):
    def test_every_folder_is_known(self):
        folders = {p.name for p in (ROOT / "lib").iterdir() if p.is_dir()}
        self.assertEqual(folders - set(LAYERS) - set(ALONE), set())

    def test_every_room_is_known(self):
        for wing, levels in ROOMS.items():
            folders = {os.path.relpath(path, wing).split("/")[0] for path in sources(ROOT)
                       if path.startswith(wing + "/") and "/" in os.path.relpath(path, wing)}
            self.assertEqual(folders - {"testdata"}, set(" ".join(levels).split()), wing)
        for folder in [folder for pair in STRANGERS for folder in pair] + list(LARGER):
            self.assertTrue((ROOT / folder).is_dir(), folder)

    def test_directions(self):
        self.assertEqual(list(wrong_directions(sources(ROOT))), [])

    def test_rooms(self):
        self.assertEqual(list(wrong_rooms(sources(ROOT))), [])

    def test_sizes(self):
        self.assertEqual(list(crowded_folders(sources(ROOT))), [])

    def test_llvm(self):
        self.assertEqual(list(llvm_where_it_does_not_belong(sources(ROOT))), [])


class PlantedViolations(unittest.TestCase):
    """The checks find what they are for."""

    def test_directions(self):
        good = {"lib/base/error.h": "", "lib/bundle/format.h": '#include "base/error.h"\n'}
        self.assertEqual(list(wrong_directions(good)), [])
        upwards = {**good, "lib/base/error.h": '#include "bundle/format.h"\n'}
        self.assertEqual(len(list(wrong_directions(upwards))), 1)
        beside = {**good, "lib/bundle/reader.h": '#  include "../cli/stage.h"\n', "lib/cli/stage.h": ""}
        self.assertEqual(len(list(wrong_directions(beside))), 1)
        to_tool = {**good, "lib/bundle/format.h": '#include "mneme-run/worker.h"\n', "mneme-run/worker.h": ""}
        self.assertEqual(len(list(wrong_directions(to_tool))), 1)
        between_tools = {"mneme-run/main.cc": '#include "mneme-verify/table.h"\n', "mneme-verify/table.h": ""}
        self.assertEqual(len(list(wrong_directions(between_tools))), 1)
        alone = {**good, "lib/annotate/mneme/a.hpp": '#include "base/error.h"\n'}
        self.assertEqual(len(list(wrong_directions(alone))), 1)

    def test_bare_names(self):
        own = {"mneme-run/main.cc": '#include "table.h"\n', "mneme-run/table.h": "", "mneme-verify/table.h": ""}
        self.assertEqual(list(wrong_directions(own)), [])
        own["mneme-run/worker/supply.cc"] = '#include "table.h"\n'
        self.assertEqual(list(wrong_directions(own)), [])
        del own["mneme-run/table.h"]
        self.assertEqual(len(list(wrong_directions(own))), 2)
        library = {"lib/cli/stage.cc": '#include "table.h"\n', "mneme-verify/table.h": ""}
        self.assertEqual(len(list(wrong_directions(library))), 1)

    def test_rooms(self):
        wing = "lib/codegen/host"
        good = {f"{wing}/abi.h": "", f"{wing}/neutral/neutral.h": '#include "codegen/host/abi.h"\n',
                f"{wing}/dialect/raise.h": '#include "codegen/host/neutral/neutral.h"\n',
                f"{wing}/dialect/nvptx/ptx/ptx.h": '#include "codegen/host/dialect/raise.h"\n',
                f"{wing}/host.cc": '#include "codegen/host/dialect/raise.h"\n',
                f"{wing}/neutral/neutral_test.cc": '#include "codegen/host/dialect/raise.h"\n'}
        self.assertEqual(list(wrong_rooms(good)), [])
        upwards = {**good, f"{wing}/neutral/neutral.h": '#include "codegen/host/dialect/nvptx/ptx/ptx.h"\n'}
        self.assertEqual(len(list(wrong_rooms(upwards))), 1)
        recorder = "mneme-capture/recorder"
        upwards = {f"{recorder}/core/core.h": '#include "recorder/cuda/runtime.h"\n', f"{recorder}/cuda/runtime.h": ""}
        self.assertEqual(len(list(wrong_rooms(upwards))), 1)
        strangers = {f"{recorder}/hip/runtime.h": '#include "recorder/cuda/runtime.h"\n',
                     f"{recorder}/cuda/runtime.h": ""}
        self.assertEqual(len(list(wrong_rooms(strangers))), 1)

    def test_sizes(self):
        full = {f"lib/base/{number}.h": "" for number in range(MOST_FILES)}
        full |= {f"lib/base/{number}_test.cc": "" for number in range(MOST_FILES)}
        self.assertEqual(list(crowded_folders(full)), [])
        self.assertEqual(len(list(crowded_folders({**full, "lib/base/more.cc": ""}))), 1)

    def test_llvm(self):
        planted = {"lib/codegen/inner.h": "#include <llvm/IR/Module.h>\n", "lib/codegen/host.h": "#include <string>\n",
                   "lib/device/device.cc": '#include "codegen/host.h"\n'}
        self.assertEqual(list(llvm_where_it_does_not_belong(planted)), [])
        planted["lib/codegen/host.h"] = '#include "codegen/inner.h"\n'
        self.assertEqual(len(list(llvm_where_it_does_not_belong(planted))), 1)
        self.assertEqual(len(list(llvm_where_it_does_not_belong({"lib/cli/x.cc": "# include <lld/Common/Driver.h>"}))), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
