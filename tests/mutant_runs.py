# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replays the kernels of a recording from edited IR, many edits at once."""

import bundles
from bundles import Member
from support import run, tool

PASSES = "function(sroa,simplifycfg)"  # no variables in memory: what is left to store is a result


class Kernels:
    """The kernels of a recording, `most` at most, as IR whose lines can be changed one by one."""

    def __init__(self, recording, folder, most):
        self.members, self.folder = bundles.read(recording.read_bytes()), folder
        self.launched = {m.name.split("/")[1] for m in self.members if m.name.startswith("instances/")}
        self.info = {m.name.split("/")[1]: bundles.parsed(m) for m in self.members if m.name.endswith("/kernel.json")}
        (folder / "ir").mkdir()
        self._well([tool("extract-ir"), "-S", "-o", f"{folder}/ir/", recording])
        self.lines = {}
        for file in sorted((folder / "ir").iterdir()):
            kernel = next(k for k in self.info if k.startswith(file.stem.rsplit("-", 1)[1]))
            if kernel in self.launched and len(self.lines) < most:
                self.lines[kernel] = self._well(["opt-19", "-S", f"-passes={PASSES}", file]).out.decode().splitlines()

    def compile(self, kernel, text, options):
        """The variant compiled from this IR: (its hash, its members)."""
        file = self.folder / "edited.ll"
        file.write_text(text)
        alone = [m for m in self.members if m.name == "bundle.json" or m.name.startswith(f"kernels/{kernel}/")]
        result = self._well([tool("compile"), *options, "--ir", file], input=bundles.write(alone))
        variant = [m for m in bundles.read(result.out) if m.name.startswith("variants/")]
        return variant[0].name.split("/")[2], variant

    def replay(self, variants, timeout, judges=([],)):
        """Runs {(kernel, hash): members} and judges the runs with each of these options of mneme-verify: for each,
        {(kernel, hash): the reports of its runs}."""
        if not variants:
            return [{} for _ in judges]
        members = []
        for m in self.members:
            members.append(m)
            if m.name.endswith("/kernel.bc"):
                members += [v for (kernel, _), some in variants.items() if kernel in m.name for v in some]
        (self.folder / "variants.tar").write_bytes(bundles.write(members))
        self._well([tool("run"), "--poison", "--warmup", "0", "--iterations", "1", "--timeout", f"{timeout:.2f}",
                    "-o", self.folder / "runs.tar", self.folder / "variants.tar"])
        return [self._reports(options) for options in judges]

    def _reports(self, options):
        result = run([tool("verify"), *options, self.folder / "runs.tar"])
        if result.status not in (0, 1):
            raise AssertionError(result.text())
        reports = {}
        for line in result.out.decode().splitlines():
            report = bundles.parsed(Member("", line))
            reports.setdefault((report["kernel"], report["variant"]), []).append(report)
        return reports

    def _well(self, stage, **how):
        result = run(stage, **how)
        if result.status:
            raise AssertionError(result.text())
        return result
