#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lib/codegen/host/README.md says what the compiler does: its table of passes is that of pipeline.cc, and the IR of its
worked kernel is what the compiler prints.

    python3 tests/compiler_readme_test.py             # compares
    python3 tests/compiler_readme_test.py --update    # writes both into the page
"""

import difflib
import re
import sys
import unittest

from support import ROOT, TestCase, tool

HOST = ROOT / "lib" / "codegen" / "host"
README = HOST / "README.md"
UPDATE = "--update" in sys.argv
TARGET = "host:x86-64-v3"
PARAMETERS = r" (?:noundef|nonnull|noalias|readonly|writeonly|nocapture|align \d+|dereferenceable\(\d+\))(?= |,|\))"

HOST_MAIN = """
int main() {
  int *in, *out;
  if (hipMalloc(&in, 256) || hipMalloc(&out, 256) || hipMemset(in, 1, 256)) return 1;
  reverse<<<1, 64>>>(in, out, 3);
  return hipDeviceSynchronize();
}
"""


def passes():
    """(name, functions, what holds after it) by the table in pipeline.cc."""
    table = re.search(r"constexpr Pass kPasses\[\] = \{\n(.*?)\n\};", (HOST / "pipeline.cc").read_text(), re.DOTALL).group(1)
    text = r'"((?:[^"]|"\s*")*)"'
    return [tuple(re.sub(r'"\s*"', "", part) for part in row) for row in re.findall(rf"\{{{text},\s*{text},\s*{text},", table)]


def table_of_passes():
    rows = []
    for name, functions, holds in passes():
        code = ", ".join(f"`{function}`" for function in functions.replace(" with ", ", ").split(", "))
        rows.append(f"| `{name}` | {code} | {holds} |")
    return "\n".join(["| pass | functions | afterwards |", "|---|---|---|", *rows])


def readable(ir):
    """Without what says nothing about the pass: metadata, groups of attributes, and what is known of parameters."""
    lines = []
    for line in ir.splitlines():
        line = re.sub(r"\s+; preds = .*", "", line)
        line = re.sub(r"(, ![\w.]+ !\d+)+|( #\d+)+(?= |$)", "", line)
        while re.search(PARAMETERS, line):
            line = re.sub(PARAMETERS, "", line)
        lines.append(line)
    return "\n".join(line for line in lines if line.strip())


def functions(ir, names):
    """The definitions of these functions, by patterns."""
    found = re.findall(r"^define [^\n]*@([\w.]+)\([^\n]*\{\n.*?^\}", ir, re.MULTILINE | re.DOTALL)
    parts = [re.search(rf"^define [^\n]*@{re.escape(name)}\([^\n]*\{{\n.*?^\}}", ir, re.MULTILINE | re.DOTALL).group(0)
             for name in found if re.fullmatch(names, name)]
    return "\n".join(map(readable, parts))


def calls(function):
    """Only what is called."""
    head, *body = function.splitlines()
    return "\n".join([head, *(line for line in body if " call " in line), "}"])


def difference(before, after):
    return "\n".join(line for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
                     if not re.match(r"---|\+\+\+|@@", line))


def vector_loop(ir):
    """The shortest of the loops that were vectorised."""
    blocks = re.findall(r"^vector\.body\d*:.*?(?=^$|^\})", ir, re.MULTILINE | re.DOTALL)
    return min(map(readable, blocks), key=len)


class CompilerReadme(TestCase):
    def printed(self):
        """{pass: the worked kernel's IR after it}"""
        source = re.search(r"```hip\n(.*?)```", README.read_text(), re.DOTALL).group(1)
        program = self.folder / "reverse.hip"
        program.write_text('#include <hip/hip_runtime.h>\n' + source + HOST_MAIN)
        recording, ir = self.record(self.build(program)), self.folder / "reverse.ll"
        ir.write_bytes(self.run_well([tool("extract-ir"), "-S", recording], ["opt-19", "-O1", "-S"]).out)
        said = self.run_well([tool("compile"), "--ir", ir, "--target", TARGET, "--print-after", "all", recording]).error
        parts = re.split(r"(?m)^; IR of '.*' after (\w+): .*$", said)
        return dict(zip(parts[1::2], parts[2::2]))

    def parts(self):
        """{marker in the page: the text behind it}"""
        ir = self.printed()
        kernel = {name: functions(ir[name], "reverse") for name in ["configure", "raise", "indices", "lanes"]}
        shown = {
            "configure": kernel["configure"],
            "raise": difference(kernel["configure"], kernel["raise"]),
            "indices": kernel["indices"],
            "lanes": difference(kernel["indices"], kernel["lanes"]),
            "item": functions(ir["item"], "mneme.item"),
            "block": "\n".join([functions(ir["block"], r"mneme.region.\d+"),
                                calls(functions(ir["block"], "mneme.run_block"))]),
            "optimise": vector_loop(ir["optimise"]),
        }
        languages = {"raise": "diff", "lanes": "diff"}
        return {"passes": table_of_passes(),
                **{f"after {name}": f"```{languages.get(name, 'llvm')}\n{text}\n```" for name, text in shown.items()}}

    def test_page(self):
        page = README.read_text()
        self.assertEqual([name for name, _, _ in passes()],
                         re.findall(r"(?m)^(\w+) ", self.run_well([tool("compile"), "--print-after", "list"]).out.decode()))
        wanted = page
        for marker, text in self.parts().items():
            self.assertIn(f"<!-- {marker} -->\n", wanted)
            wanted = re.sub(rf"(?s)(<!-- {marker} -->\n).*?(\n<!-- end -->)", lambda match: match.group(1) + text + match.group(2),
                            wanted)
        self.assertEqual(len(re.findall("<!-- end -->", page)), len(self.parts()))
        if UPDATE:
            README.write_text(wanted)
            return
        self.maxDiff = None
        self.assertEqual(page, wanted, "python3 tests/compiler_readme_test.py --update writes it")


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--update"])
