#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lib/ is layered: a folder includes only what stands above it, and LLVM is seen by those who need it only."""

import os.path
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

LAYERS = ["base", "bundle", "vendor", "objects", "memory", "ir", "codegen", "device", "verify", "cli", "replay", "hostgpu"]
ALONE = ["annotate"]  # the header that applications include
LLVM = re.compile(r"(llvm|llvm-c|lld)/")
WITH_LLVM = re.compile(r"lib/(ir|codegen)/|mneme-(inject|compile|extract-ir)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def sources(root):
    """{path relative to the root: text}"""
    found = {}
    for folder in ["lib", *(p.name for p in root.glob("mneme-*"))]:
        for path in (root / folder).rglob("*"):
            if path.suffix in (".cc", ".h", ".hpp") and path.is_file():
                found[str(path.relative_to(root))] = path.read_text()
    return found


def includes(path, text, files):
    """What a file includes: paths of ours where they are ours, else as written."""
    for name in INCLUDE.findall(text):
        candidates = [os.path.normpath(os.path.join(os.path.dirname(path), name)), f"lib/{name}", name]
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

    def test_directions(self):
        self.assertEqual(list(wrong_directions(sources(ROOT))), [])

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

    def test_llvm(self):
        planted = {"lib/codegen/inner.h": "#include <llvm/IR/Module.h>\n", "lib/codegen/host.h": "#include <string>\n",
                   "lib/device/device.cc": '#include "codegen/host.h"\n'}
        self.assertEqual(list(llvm_where_it_does_not_belong(planted)), [])
        planted["lib/codegen/host.h"] = '#include "codegen/inner.h"\n'
        self.assertEqual(len(list(llvm_where_it_does_not_belong(planted))), 1)
        self.assertEqual(len(list(llvm_where_it_does_not_belong({"lib/cli/x.cc": "# include <lld/Common/Driver.h>"}))), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
