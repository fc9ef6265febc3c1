#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-capture and MPI: it starts the launcher, and the launcher it. With Debian's Open MPI where that is there, and with
a stand-in for mpirun, which starts processes and tells them their ranks, everywhere."""

import pathlib
import re
import shutil
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import bundles  # noqa: E402
from support import TestCase, run, tool  # noqa: E402

RANKS = 4

STAND_IN = """#!/bin/sh
# mpirun -n N COMMAND…: N processes that know their ranks.
count=$2; shift 2; rank=0; processes=; status=0
while [ "$rank" -lt "$count" ]; do
  PMI_RANK=$rank "$@" & processes="$processes $!"
  rank=$((rank + 1))
done
for process in $processes; do wait "$process" || status=$?; done
exit $status
"""


def instances(bundle):
    return [bundles.parsed(m) for m in bundles.read(bundle) if m.name.startswith("instances/")]


def numbers(bundle):
    """What each recorded launch added: its rank and 1."""
    return sorted(int.from_bytes(bytes.fromhex(i["arguments"])[8:12], "little") for i in instances(bundle))


class Launchers:
    """The tests, for one launcher each: self.mpirun(N) is how to start N processes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build(HERE / "test_programs" / "mpi_sum.hip", "mpi_sum", "-O2")

    def capture(self, *options):
        return [tool("capture"), "--device", "host", *options]

    def succeed(self, *command, env=None):
        result = run(list(command), env={**self.environment, **(env or {})})
        self.assertEqual(result.status, 0, result.text())
        return result

    def assert_replays(self, bundle):
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=bundle)

    def test_capture_starts_the_launcher(self):
        plain = self.succeed(*self.capture("--max-instances", "0"), *self.mpirun(RANKS), self.program)
        for options, ranks in [((), [1]), (("--ranks", "2"), [3]), (("--ranks", "0,2-3"), [1, 3, 4]),
                               (("--ranks", "all"), [1, 2, 3, 4])]:
            with self.subTest(options):
                result = self.succeed(*self.capture(*options), *self.mpirun(RANKS), self.program)
                self.assertEqual(numbers(result.out), ranks)
                # What the job prints is what it prints without Mneme, but for the order of its processes.
                self.assertEqual(set(plain.out.decode().splitlines()) - set(result.error.splitlines()), set())
                self.assert_replays(result.out)

    def test_launcher_starts_capture(self):
        folder = self.folder / f"{type(self).__name__}"
        folder.mkdir()
        result = self.succeed(*self.mpirun(RANKS), *self.capture("-o", folder / "rank-%r.tar"), self.program)
        self.assertIn(self.printed, result.out.decode())
        files = sorted(folder.iterdir())
        self.assertEqual([f.name for f in files], [f"rank-{rank}.tar" for rank in range(RANKS)])
        for rank, file in enumerate(files):
            self.assertEqual(numbers(file.read_bytes()), [rank + 1])
        merged = self.succeed(tool("restore"), *files)
        self.assertEqual(numbers(merged.out), [1, 2, 3, 4])
        summary = bundles.parsed(bundles.read(merged.out)[-1])
        self.assertEqual(summary["totals"]["kernels"], [{"kernel": "add(int*, int)", "launches": 4, "recorded": 4}])
        self.assert_replays(merged.out)

    def test_launcher_starts_capture_for_some_ranks(self):
        folder = self.folder / f"{type(self).__name__}-some"
        folder.mkdir()
        self.succeed(*self.mpirun(RANKS), *self.capture("--ranks", "1-2", "-o", folder / "%r"), self.program)
        self.assertEqual(sorted(f.name for f in folder.iterdir()), ["1", "2"])
        # Without a name for each the first rank is recorded.
        one = folder / "one.tar"
        self.succeed(*self.mpirun(RANKS), *self.capture("-o", one), self.program)
        self.assertEqual(numbers(one.read_bytes()), [1])

    def test_one_bundle_for_several_is_refused(self):
        result = run([*self.mpirun(2), *self.capture("--ranks", "all", "-o", self.folder / "x.tar"), self.program],
                     env=self.environment)
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.error, "needs a bundle of its own.*%r")


class StandIn(Launchers, TestCase):
    environment = {}
    printed = "rank 3: part 4"

    def mpirun(self, count):
        script = self.folder / "mpirun"
        if not script.exists():
            script.write_text(STAND_IN)
            script.chmod(0o755)
        return [script, "-n", str(count)]

    def test_output_stays_out_of_the_bundle(self):
        """The launcher's processes share their standard output, which is where rank 0 writes its bundle."""
        result = self.succeed(*self.mpirun(RANKS), *self.capture(), self.program)
        self.assertEqual(numbers(result.out), [1])
        for rank in range(RANKS):
            self.assertIn(f"rank {rank}: part {rank + 1}", result.error)


def open_mpi():
    """Whether mpirun is Open MPI's; else why not."""
    if not shutil.which("mpirun"):
        return "there is no mpirun"
    said = run(["mpirun", "--version"]).out.decode()
    return "" if re.match(r"mpirun \(Open MPI\)", said) else "mpirun is not Open MPI's"


@unittest.skipIf(open_mpi(), f"Open MPI: {open_mpi()}; scripts/setup installs it")
class OpenMpi(Launchers, TestCase):
    # As root, on as few cores as there are, and on this machine alone.
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader",
                   "OMPI_MCA_plm": "isolated", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    printed = "rank 0: sum 10"

    def mpirun(self, count):
        return ["mpirun", "-n", str(count)]


if __name__ == "__main__":
    unittest.main(verbosity=2)
