#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applications that cannot be recorded or fail on the way: what was recorded so far is in the bundle, and replays."""

import json
import subprocess
import unittest

import bundles
from support import PROGRAMS, ROOT, TestCase, run, tool

FAULTS = PROGRAMS / "faults"
TAKE_A_RANGE = """
#include <sys/mman.h>
#include <stdlib.h>
__attribute__((constructor)) static void take(void) {
  if (!getenv("TAKE_A_RANGE")) return;
  unsigned long at = strtoul(getenv("TAKE_A_RANGE"), 0, 16);
  if (mmap((void*)at, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void*)at)
    abort();
}
"""


class BadApplication(TestCase):
    def capture(self, *command, options=(), env=None):
        return run([tool("capture"), "--device", "host", *options, *command], env=env)

    def assert_replays(self, bundle, instances):
        """The bundle is whole, has so many instances, and all of them verify."""
        result = self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=bundle)
        verdicts = [json.loads(line)["status"] for line in result.out.decode().splitlines()]
        self.assertEqual(verdicts, ["verified"] * instances, result.text())

    def assert_no_bundle(self, result):
        later = run([tool("compile"), "-O1"], input=result.out)
        self.assertEqual(later.status, 2, later.text())

    # ---- nothing to record ----

    def test_application_without_ir(self):
        program = self.build(ROOT / "tests" / "small.hip", "plain", inject=False)
        result = self.capture(program)
        self.assert_refused(result, 4, "exited with status 1")  # it sees that its kernels did not run
        self.assertRegex(result.error, "add.*carries no IR.*mneme-inject")
        listed = run([tool("extract-ir"), "--list", program])
        self.assert_refused(listed, 2, "mneme-inject|no kernel|embedded")
        self.assertEqual(listed.out, b"")

    def test_application_without_ir_that_does_not_mind(self):
        source = self.folder / "careless.hip"
        source.write_text("#include <hip/hip_runtime.h>\n__global__ void nothing() {}\n"
                          "int main() { nothing<<<1, 1>>>(); return 0; }\n")
        result = self.capture(self.build(source, inject=False))
        self.assert_refused(result, 2, "nothing.*mneme-inject|record")
        self.assertRegex(result.error, "nothing.*mneme-inject")

    def test_application_that_launches_nothing(self):
        result = self.capture(self.build(FAULTS / "no_launch.hip"))
        self.assertIn(result.status, (0, 2), result.text())
        if result.status:
            self.assert_refused(result, 2, "no kernel|launch")
        compiled = run([tool("compile"), "-O1"], input=result.out)
        self.assert_refused(run([tool("run")], input=compiled.out), 2, "nothing|no kernel")
        self.assert_refused(run([tool("verify")], input=compiled.out), 2, "nothing|no kernel")

    def test_no_gpu_program_at_all(self):
        result = self.capture("/bin/true")
        self.assertIn(result.status, (0, 2), result.text())

    def test_application_that_does_not_exist(self):
        for command in ["/nonexistent/app", "no-such-command-anywhere", str(self.folder)]:
            with self.subTest(command):
                result = self.capture(command)
                self.assertIn(result.status, (2, 4), result.text())
                self.assert_refused(result, result.status, "No such file|not found|Permission|director|cannot")
                self.assert_no_bundle(result)

    def test_no_application_at_all(self):
        self.assert_refused(run([tool("capture")]), 2, "application|command|APP")

    # ---- applications that fail ----

    def test_exits_nonzero(self):
        program = self.build(FAULTS / "exits_nonzero.hip")
        result = self.capture(program)
        self.assert_refused(result, 4, "status 7")
        self.assert_replays(result.out, 1)
        self.assertEqual(self.capture(program, options=["--pass-exit"]).status, 7)

    def test_aborts(self):
        result = self.capture(self.build(FAULTS / "aborts.hip"))
        self.assert_refused(result, 4, "SIGABRT")
        self.assert_replays(result.out, 1)

    def test_killed(self):
        result = self.capture(self.build(FAULTS / "killed.hip"))
        self.assert_refused(result, 4, "SIGKILL")
        self.assert_replays(result.out, 1)

    def test_kernels_that_fault_while_recording(self):
        for name, what in [("trap", "trap"), ("wild_pointer", "wild|address|pointer|memory|SIGSEGV|segment"),
                           ("assertion", "assert")]:
            with self.subTest(name):
                result = self.capture(self.build(FAULTS / f"{name}.hip"))
                self.assertEqual(result.status, 4, result.text())
                self.assertRegex(result.error.lower(), what.lower())
                self.assert_replays(result.out, 1)

    # ---- ranges ----

    def test_address_range_that_is_taken(self):
        taker = self.folder / "taker.so"
        subprocess.run(["clang-19", "-shared", "-fPIC", "-x", "c", "-", "-o", taker], input=TAKE_A_RANGE.encode(),
                       check=True)
        program = self.build(ROOT / "tests" / "small.hip", "small")
        compiled = self.run_well([tool("compile"), "-O1"], input=self.capture(program).out).out
        mapped = self.build(PROGRAMS / "mapped_memory.hip")
        for application, address in [(program, "0x400000000000"), (mapped, "0x600000000000")]:
            with self.subTest("capture", address=address):
                result = self.capture(application, env={"LD_PRELOAD": str(taker), "TAKE_A_RANGE": address})
                self.assertIn(result.status, (2, 3, 4), result.text())
                self.assertRegex(result.error, address)
        taken = {"LD_PRELOAD": str(taker), "TAKE_A_RANGE": "0x400000000000"}
        with self.subTest("run"):
            result = run([tool("run")], input=compiled, env=taken)
            self.assertRegex(result.error, "0x400000000000")
            verified = run([tool("verify")], input=result.out)
            self.assertNotEqual(verified.status, 0)


class BadReplay(TestCase):
    """Replays that fault or never end: that run is failed, the others go on."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))
        cls.compiled, cls.ran = cls.folder / "compiled.tar", cls.folder / "ran.tar"
        for stage in [["compile", "-O1", "-o", cls.compiled, cls.recording], ["run", "-o", cls.ran, cls.compiled]]:
            result = run([tool(stage[0]), *stage[1:]])
            assert result.status == 0, result.text()

    def replay_with(self, into, *options):
        """Replays both kernels, add() with a statement planted at its start; report lines by kernel's name."""
        text = self.run_well([tool("extract-ir"), "-S", "--kernel", r"\badd\b", self.recording]).out.decode()
        lines = text.splitlines()
        body = next(i for i, line in enumerate(lines) if line.startswith("define") and "amdgpu_kernel" in line)
        lines[body + 1:body + 1] = into
        changed = self.folder / "changed.ll"
        changed.write_text("\n".join(lines) + "\n")
        compiled = self.run_well([tool("compile"), "-O0", "--kernel", r"\badd\b", "--ir", changed, self.recording],
                                 [tool("compile"), "-O0", "--kernel", r"\bscale\b"]).out
        ran = run([tool("run"), *options], input=compiled)
        self.assertGreaterEqual(ran.status, 0, ran.text())
        self.assertLess(ran.status, 3, ran.text())
        verified = run([tool("verify")], input=ran.out)
        self.assertEqual(verified.status, 1, verified.text() + verified.out.decode())
        names = {m.name.split("/")[1]: bundles.parsed(m)["demangled"] for m in bundles.read(ran.out)
                 if m.name.endswith("/kernel.json")}
        runs = [bundles.parsed(m) for m in bundles.read(ran.out) if m.name.startswith("runs/")]
        self.assertEqual(len(runs), 4)
        for line in runs:
            if "scale" in names[line["kernel"]]:
                self.assertEqual((line["status"], line["differences"]), ("completed", []), line)
        return [line for line in runs if "add" in names[line["kernel"]]]

    def test_trap(self):
        for line in self.replay_with(["  call void @llvm.trap()"]):
            self.assertEqual(line["status"], "failed")
            self.assertRegex(line["reason"], "trap|SIGILL")

    def test_wild_pointer(self):
        for line in self.replay_with(["  store volatile i32 1, ptr inttoptr (i64 1311768467463790320 to ptr)"]):
            self.assertEqual(line["status"], "failed")
            self.assertRegex(line["reason"], "(?i)SIGSEGV|SIGBUS|address|memory")

    def test_null_pointer(self):
        for line in self.replay_with(["  store volatile i32 1, ptr null"]):
            self.assertEqual(line["status"], "failed")

    def test_endless(self):
        recording = self.record(self.build(FAULTS / "endless.hip"), "released", name="endless.tar")
        ran = self.run_well([tool("compile"), "-O1", recording], [tool("run"), "--timeout", "2"], timeout=60)
        runs = [bundles.parsed(m) for m in bundles.read(ran.out) if m.name.startswith("runs/")]
        self.assertEqual([line["status"] for line in runs], ["failed"])
        self.assertRegex(runs[0]["reason"], "2 s|time")
        self.assertEqual(run([tool("verify")], input=ran.out).status, 1)

    # ---- pipelines that LLVM rejects ----

    def test_bad_pipeline(self):
        for passes, message in [("default<O9>", "invalid optimization level 'O9'|O9"),
                                ("no-such-pass", "unknown (function )?pass( name)? 'no-such-pass'"),
                                ("function(", "invalid pipeline"), ("", "empty|pass|pipeline")]:
            with self.subTest(passes):
                result = run([tool("compile"), "--passes", passes, self.recording])
                self.assert_refused(result, 2, message)

    def test_bad_usage(self):
        for stage in [["compile", "--codegen-opt", "7"], ["compile", "--form", "spiral"], ["compile", "--frobnicate"],
                      ["compile", "--kernel", "("], ["compile", "--kernel", "nothing_like_it"],
                      ["compile", "--instance", "zz"], ["compile", "--instance", "00000000000000000000000000000000"],
                      ["compile", "-O1", "--passes", "default<O2>"], ["compile", "--ir", "/nonexistent.ll"],
                      ["run", "--iterations", "-1"], ["run", "--iterations", "many"], ["run", "--device", "abacus"],
                      ["verify", "--format", "poem"], ["restore", "--dump", "/dev/null"]]:
            with self.subTest(stage):
                result = run([tool(stage[0]), *stage[1:], self.recording])
                self.assert_refused(result, 2, ".")

    def test_missing_device(self):
        for name in ["cuda", "hip"]:
            with self.subTest(name):
                self.assert_refused(run([tool("run"), "--device", name, self.compiled]), 3, name)

    # ---- output that cannot be written ----

    def test_full_disk(self):
        program = self.build(ROOT / "tests" / "small.hip")
        for stage in [["capture", "--device", "host", program], ["compile", "-O1", self.recording],
                      ["restore", self.recording], ["extract-ir", "--list", self.recording],
                      ["extract-ir", "--kernel", r"\badd\b", self.recording], ["run", self.compiled],
                      ["verify", self.ran], ["verify", "--format", "table", self.ran]]:
            with self.subTest(stage), open("/dev/full", "wb") as full:
                self.assert_refused(run([tool(stage[0]), *stage[1:]], stdout=full), 2, "No space left")
            with self.subTest([*stage, "-o"]):
                result = run([tool(stage[0]), "-o", "/dev/full", *stage[1:]])
                self.assert_refused(result, 2, "No space left" if stage[0] != "extract-ir" else ".")

    def test_closed_pipe(self):
        """Who reads a bundle knows why it stops; of a report's reader that is not known."""
        program = self.build(ROOT / "tests" / "small.hip")
        for stage in [["capture", "--device", "host", program], ["restore", self.recording],
                      ["compile", "-O1", self.recording], ["extract-ir", "--list", self.recording],
                      ["run", self.compiled], ["verify", self.ran]]:
            with self.subTest(stage[0]):
                result = self.run_unread([tool(stage[0]), *stage[1:]])
                if stage[0] in ("verify", "extract-ir"):
                    self.assert_refused(result, 2, "Broken pipe|closed")
                else:
                    self.assertEqual((result.status, "error" in result.error), (2, False), result.text())
        result = run([tool("restore"), self.recording], ["head", "-c", "100"])
        self.assertEqual((result.statuses[0], result.errors[0]), (2, ""))

    def test_output_is_a_folder(self):
        result = run([tool("compile"), "-O1", "-o", self.folder, self.recording])
        self.assert_refused(result, 2, "director")


if __name__ == "__main__":
    unittest.main(verbosity=2)
