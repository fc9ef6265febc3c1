#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-capture on real applications: what it records, and what the application notices of it, which is nothing."""

import ctypes
import errno
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import bundles  # noqa: E402
from support import PROGRAMS, ROOT, TestCase, run, tool  # noqa: E402

INCLUDE = ROOT / "lib" / "annotate"


def forbid_reading_processes():
    """From here on process_vm_readv(2) is refused, as a seccomp filter."""
    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.POINTER(Instruction))]

    load, equal, give = 0x20, 0x15, 0x06  # the number of the call; compare; return
    code = (Instruction * 4)((load, 0, 0, 0), (equal, 0, 1, 310), (give, 0, 0, 0x00050000 | errno.EPERM),
                             (give, 0, 0, 0x7FFF0000))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, filter_mode, ctypes.byref(Program(4, code))):
        raise OSError(ctypes.get_errno(), "prctl")


class Capture(TestCase):
    built = {}

    @classmethod
    def program(cls, name):
        """One of the test programs, built once."""
        if name not in cls.built:
            source = HERE / "test_programs" / f"{name}.hip"
            source = source if source.exists() else PROGRAMS / f"{name}.hip"
            cls.built[name] = cls.build(source, name, "-O2", f"-I{INCLUDE}")
        return cls.built[name]

    def capture(self, *command, options=(), status=0, env=None):
        """What running mneme-capture gave; it ends with `status`."""
        result = run([tool("capture"), "--device", "host", *options, *command], env=env)
        self.assertEqual(result.status, status, result.text())
        return result

    def instances(self, result):
        return [bundles.parsed(m) for m in bundles.read(result.out) if m.name.startswith("instances/")]

    def summary(self, result):
        return bundles.parsed(next(m for m in bundles.read(result.out) if m.name == "summary.json"))

    def kernels(self, result):
        return {m.name.split("/")[1]: bundles.parsed(m)["demangled"] for m in bundles.read(result.out)
                if m.name.endswith("/kernel.json")}

    # ---- what is recorded ----

    def test_members_come_in_order(self):
        names = [m.name for m in bundles.read(self.capture(self.program("conjugate_gradient")).out)]
        self.assertEqual((names[0], names[-1]), ("bundle.json", "summary.json"))
        seen = set()
        for name in names:
            folder, _, rest = name.partition("/")
            if folder == "instances":
                self.assertIn(rest.split("/")[0], seen, "an instance comes after its kernel")
            if name.endswith("kernel.bc"):
                seen.add(rest.split("/")[0])

    def test_cooperative_launches_say_so(self):
        instances = self.instances(self.capture(self.program("grid_sync")))
        self.assertTrue(instances)
        self.assertTrue(all(i.get("cooperative") for i in instances), instances)
        self.assertFalse(any("cooperative" in i for i in self.instances(self.capture(self.program("stencil_2d")))))

    def test_same_application_same_bytes(self):
        program = self.program("stencil_2d")
        self.assertEqual(self.capture(program).out, self.capture(program).out)

    def test_host_addresses_are_the_same_each_time(self):
        program = self.program("host_addresses")
        first = self.capture(program)
        self.assertIn("host_addresses: ok", first.error)
        self.assertEqual(len(self.instances(first)), 2)
        for _ in range(3):
            self.assertEqual(self.capture(program).out, first.out)
        # In a child of the process that is started, too.
        script = ["sh", "-c", f"true; {program}; true"]
        self.assertEqual([i["id"] for i in self.instances(self.capture(*script))],
                         [i["id"] for i in self.instances(self.capture(*script))])
        if pathlib.Path("/proc/sys/kernel/randomize_va_space").read_text().strip() != "0":
            random = {tuple(i["id"] for i in self.instances(self.capture(program, options=["--keep-aslr"])))
                      for _ in range(3)}
            self.assertGreater(len(random), 1)

    def test_memory_of_malloc_lies_where_it_did(self):
        """Whatever threads do when, and whether kernels are compiled already."""
        program = self.program("registered_places")
        with tempfile.TemporaryDirectory() as cache:
            env = {**os.environ, "XDG_CACHE_HOME": cache}
            first = self.capture(program, options=["--max-instances", "100"], env=env)
            self.assertIn("registered_places: ok", first.error)
            self.assertEqual(len(self.instances(first)), 49)
            for _ in range(3):
                self.assertEqual(self.capture(program, options=["--max-instances", "100"], env=env).out, first.out)

    def test_provenance_names_the_command(self):
        result = self.capture(self.program("vector_add"), options=["--occurrences", "2"])
        line = bundles.parsed(bundles.read(result.out)[0])["provenance"]
        self.assertEqual([entry["tool"] for entry in line], ["mneme-capture"])
        self.assertEqual(line[0]["arguments"][:4], ["--device", "host", "--occurrences", "2"])
        self.assertEqual(line[0]["input_format"], 0)

    def test_variables_are_named(self):
        result = self.capture(self.program("device_globals"))
        symbols = {s["symbol"]: s for i in self.instances(result) for s in i["segments"] if s["kind"] == "global"}
        self.assertLessEqual({"table", "table_pointer", "coefficients", "launches"}, set(symbols))
        self.assertEqual(symbols["table"]["size"], 32)

    def test_host_memory_is_recorded(self):
        result = self.capture(self.program("mapped_memory"))
        for instance in self.instances(result):
            kinds = [s["kind"] for s in instance["segments"]]
            self.assertEqual(kinds.count("host"), 2, "the pinned and the registered memory")

    def test_registered_memory_is_read_or_copied(self):
        program = self.program("registered_memory")
        read = self.capture(program)
        self.assertIn("registered_memory: ok", read.error)
        self.assertEqual(len(self.instances(read)), 4)
        # As in containers that take the right away to read other processes.
        copied = run([tool("capture"), "--device", "host", program], preexec_fn=forbid_reading_processes)
        self.assertEqual(copied.status, 0, copied.text())
        self.assertEqual(copied.out, read.out)
        compiled = self.run_well([tool("compile"), "-O3"], input=read.out)
        replayed = self.run_well([tool("run")], input=compiled.out)
        self.run_well([tool("verify")], input=replayed.out)
        runs = [bundles.parsed(m) for m in bundles.read(replayed.out) if m.name.startswith("runs/")]
        # 1000 integers, of which a small number added changes one byte or two; what the application did is not theirs.
        for each in runs:
            self.assertTrue(1000 <= each["changed_bytes"] <= 4000, each)
        self.assertEqual(len(runs), 4)

    def test_memory_at_the_top_of_the_address_space(self):
        """User space ends within its last block, where no process can have a whole one."""
        result = self.capture(self.program("registered_stack"))
        self.assertIn("registered_stack: ok", result.error)
        instance, = self.instances(result)
        last, = [s for s in instance["segments"] if s["kind"] == "host"]
        if int(last["address"], 16) + last["size"] > 0x7fffffff0000:
            self.assertRegex(instance["missing"][0], "last 64 KiB that a process can have")
        else:  # where address-space layout randomisation cannot be turned off
            self.assertNotIn("missing", instance)
        aslr = self.capture(self.program("registered_stack"), options=["--keep-aslr"])
        instance, = self.instances(aslr)
        if "missing" not in instance:
            self.run_well([tool("compile")], [tool("run")], [tool("verify")], input=aslr.out)

    def test_what_is_not_recorded_is_named(self):
        result = self.capture(self.program("unrecorded_memory"))
        self.assertIn("unrecorded_memory: ok", result.error)
        names = self.kernels(result)
        missing = {names[i["kernel"]].split("(")[0]: i.get("missing") for i in self.instances(result)}
        self.assertEqual(len(missing), 3)
        self.assertIsNone(missing["use_recorded"])
        self.assertRegex(missing["use_pointer"][0], "argument 0 points to 0x")
        self.assertRegex(missing["follow_pointer"][0], "memory at 0x4.* holds the address 0x3.*mapped at two addresses")
        for kernel in ["use_pointer", "follow_pointer"]:
            self.assertEqual(len(missing[kernel]), 1)
            self.assertEqual(result.error.count(f"warning: the recording of '{kernel}("), 1)
        self.assertEqual(sum(i.get("complete", True) for i in self.instances(result)), 1)

        compiled = run([tool("compile"), "-O1"], input=result.out)
        self.assertEqual(compiled.status, 0, compiled.text())
        refused = run([tool("run")], input=compiled.out)
        self.assert_refused(refused, 2, "2 recorded launch.*not complete")
        self.assertIn(missing["use_pointer"][0], refused.error)
        runs = [bundles.parsed(m) for m in bundles.read(refused.out) if m.name.startswith("runs/")]
        self.assertEqual([names[r["kernel"]].split("(")[0] for r in runs], ["use_recorded"])
        verdicts = run([tool("verify")], input=refused.out)
        self.assertEqual((verdicts.status, verdicts.error.count("it was not run")), (1, 2), verdicts.text())
        forced = self.run_well([tool("run"), "--force"], input=compiled.out)
        runs = [bundles.parsed(m) for m in bundles.read(forced.out) if m.name.startswith("runs/")]
        self.assertEqual(sorted(r["status"] for r in runs), ["completed", "failed", "failed"])

    def test_ordinary_memory_is_named_where_a_kernel_follows_a_pointer_to_it(self):
        result = self.capture(self.program("followed_pointers"))
        self.assertIn("followed_pointers: ok", result.error)
        names = self.kernels(result)
        missing = {names[i["kernel"]].split("(")[0]: i.get("missing") for i in self.instances(result)}
        self.assertEqual(sorted(kernel for kernel in missing if missing[kernel]),
                         ["coded_host", "distant_host", "list_host", "number_host", "packed_host", "rows_host", "stored_host",
                          "structure_host", "sum_host", "table_host", "views_host"])
        self.assertEqual(len(missing), 20)
        for kernel, sentence in [("structure_host", "argument 0, a structure, points to 0x"),
                                 ("rows_host", "argument 0, a structure, points to 0x"),
                                 ("number_host", "argument 0 points to 0x"),
                                 ("views_host", "the memory at 0x4.* holds the address 0x"),
                                 ("table_host", "the memory at 0x.* holds the address 0x"),
                                 ("list_host", "the memory at 0x4.* holds the address 0x"),
                                 ("stored_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("sum_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("distant_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("coded_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("packed_host", "the memory at 0x4.* holds the address 0x")]:
            self.assertEqual(len(missing[kernel]), 1, missing)
            self.assertRegex(missing[kernel][0], sentence + ".*, memory that no allocation known to the recorder")
        # The others are whole, whatever else they were given.
        compiled = self.run_well([tool("compile"), "-O3"], input=result.out)
        replayed = run([tool("run")], input=compiled.out)
        self.assert_refused(replayed, 2, "11 recorded launch.*not complete")
        runs = [bundles.parsed(m) for m in bundles.read(replayed.out) if m.name.startswith("runs/")]
        self.assertEqual(len(runs), 9)
        for each in runs:
            self.assertEqual((each["status"], each["differences"]), ("completed", []), each)
            self.assertGreater(each["changed_bytes"], 0)

    def test_virtual_memory_is_recorded(self):
        program = self.program("virtual_memory")
        result = self.capture(program)
        self.assertEqual(len(self.instances(result)), 3)
        for instance in self.instances(result):
            self.assertEqual([s["address"][:4] for s in instance["segments"]], ["0x30"] * 4 + ["0x40"])
            self.assertNotIn("missing", instance)
        self.assertEqual(self.capture(program).out, result.out)

    def test_functions_that_dlsym_finds_are_recorded(self):
        result = self.capture(self.program("looked_up"))
        instance, = self.instances(result)
        self.assertNotIn("missing", instance)
        self.assertEqual([s["size"] for s in instance["segments"]], [256])

    def test_a_launch_does_not_wait_for_what_waits_for_the_application(self):
        program = self.program("pending_stream")
        begin = time.monotonic()
        result = self.capture(program)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("pending_stream: ok", result.error)
        self.assertEqual([i["index"] for i in self.instances(result)], [1], "the one that could go on")
        self.assertRegex(self.summary(result)["skipped"][0]["reason"], "waits for the application")

    def test_a_kernel_that_polls_host_memory_soon_runs_on(self):
        program = self.program("polling")
        begin = time.monotonic()
        result = self.capture(program)
        self.assertLess(time.monotonic() - begin, 30)  # a minute is what other kernels get
        self.assertIn("polling: ok", result.error)
        names = self.kernels(result)
        self.assertEqual([names[i["kernel"]].split("(")[0] for i in self.instances(result)], ["finds"])
        skipped = self.summary(result)["skipped"]
        self.assertEqual(sum(each["launches"] for each in skipped), 4, skipped)
        self.assertRegex(skipped[0]["reason"], "waits for the application")

    def test_annotations(self):
        result = self.capture(self.program("annotated"))
        first, second, third, fourth, _ = sorted(self.instances(result), key=lambda i: i["index"])
        pool, inside, out = [s for s in first["segments"] if s["size"] >= 8000]
        self.assertNotIn("annotation", pool)
        self.assertEqual(int(inside["address"], 16), int(pool["address"], 16) + 8000)
        self.assertEqual(inside["annotation"], {"offset": 0, "dtype": "f64", "threshold": 0.125, "kind": "absolute",
                                                "norm": "l2", "tag": "in"})
        self.assertEqual(out["annotation"], {"offset": 0, "dtype": "f64", "threshold": 0.01, "kind": "relative",
                                             "norm": "linf", "tag": "loose"})
        self.assertEqual([s["annotation"]["tag"] for s in second["segments"] if "annotation" in s], ["in", "tight"])
        self.assertNotEqual(first["id"], second["id"])
        begin, middle, end = [s for s in third["segments"]
                              if 0 <= int(s["address"], 16) - int(out["address"], 16) < out["size"]]
        self.assertEqual([s["size"] for s in (begin, middle, end)], [64, 800, 8000 - 864])
        self.assertEqual(["annotation" in s for s in (begin, middle, end)], [False, True, False])
        self.assertEqual(middle["annotation"]["ignore"], [{"first": 1, "count": 2}])
        table, = [s for s in fourth["segments"] if s.get("symbol") == "table"]
        self.assertEqual((table["size"], "annotation" in table), (512, False))
        warnings = [line for line in result.error.splitlines() if "annotation" in line]
        self.assertEqual(len(warnings), 3, result.error)
        self.assertIn("annotations of parts of the variable 'table' ignored", warnings[0])
        self.assertRegex(warnings[1], "annotation 'host' of 0x[0-9a-f]+ ignored: it is no pointer to device memory")
        self.assertRegex(warnings[2], "annotation 'host' of 0x[0-9a-f]+ ignored: its threshold is not a number")

    def test_annotations_do_nothing_when_nobody_records(self):
        self.capture(self.program("annotated"), options=["--max-instances", "0"])

    # ---- which launches ----

    def test_limits(self):
        program = self.program("two_templates")
        everything = self.kernels(self.capture(program))
        counts = {}
        for options in [("--max-instances", "1"), ("--max-instances", "2"), ("--skip", "1")]:
            result = self.capture(program, options=options)
            counts[options] = {}
            for instance in self.instances(result):
                name = everything[instance["kernel"]]
                counts[options][name] = counts[options].get(name, 0) + 1
        self.assertEqual(set(counts["--max-instances", "1"].values()), {1})
        self.assertEqual(max(counts["--max-instances", "2"].values()), 2)
        self.assertLess(sum(counts["--skip", "1"].values()), len(self.instances(self.capture(program))))

    def test_every_nth(self):
        program = self.program("conjugate_gradient")
        def indices(*options):
            result = self.capture(program, options=["--max-instances", "99", "--occurrences", "99", *options])
            by_kernel = {}
            for instance in self.instances(result):
                by_kernel.setdefault(instance["kernel"], []).append(instance["index"])
            return by_kernel, {s["reason"] for s in self.summary(result)["skipped"]}
        everything, no_reasons = indices()
        some, reasons = indices("--skip", "1", "--every", "3")
        self.assertEqual(no_reasons, set())
        self.assertEqual(reasons, {"among the first ones, which --skip leaves out", "between those that --every chooses"})
        self.assertEqual(some, {kernel: list(all)[1::3] for kernel, all in everything.items() if len(all) > 1})

    def test_only_config(self):
        program = self.program("configurations")
        def launches(*options):
            return [(i["grid"], i["block"], i["shared_bytes"])
                    for i in self.instances(self.capture(program, options=["--max-instances", "99", *options]))]
        self.assertEqual(len(launches()), 6)
        alike = launches("--only-config")
        self.assertEqual(alike, [([1, 1, 1], [64, 1, 1], 0), ([2, 1, 1], [64, 1, 1], 0), ([2, 1, 1], [32, 1, 1], 0),
                                 ([2, 1, 1], [32, 1, 1], 64)])

    def test_environment_mirrors_the_options(self):
        program = self.program("conjugate_gradient")
        names = sorted(set(self.kernels(self.capture(program)).values()))
        chosen = "^" + names[0].split("(")[0] + r"\("
        environment = {"MNEME_KERNEL": chosen, "MNEME_MAX_INSTANCES": "1", "MNEME_DEVICE": "cuda"}
        result = self.capture(program, env=environment)  # the command line's --device wins
        self.assertEqual((set(self.kernels(result).values()), len(self.instances(result))), ({names[0]}, 1))
        told = bundles.parsed(bundles.read(result.out)[0])["provenance"][0]["arguments"]
        self.assertEqual(told[:4], [f"--kernel={chosen}", "--max-instances=1", "--device", "host"])
        wrong = run([tool("capture"), "--device", "host", program], env={"MNEME_SKIP": "few"})
        self.assert_refused(wrong, 2, "MNEME_SKIP.*'few' is not a whole number")

    def test_summary(self):
        program = self.program("conjugate_gradient")
        options = ["--max-instances", "1", "--every", "2"]
        quiet = self.capture(program, options=options)
        self.assertNotIn("recorded", quiet.error)
        result = self.capture(program, options=[*options, "--summary"])
        summary, instances = self.summary(result), self.instances(result)
        totals = summary["totals"]
        self.assertEqual([k["kernel"] for k in totals["kernels"] if k["recorded"]],
                         [self.kernels(result)[i["kernel"]] for i in instances])
        seen = 0
        for kernel in totals["kernels"]:
            skipped = [s["launches"] for s in summary["skipped"] if s["kernel"] == kernel["kernel"]]
            alike = sum(o["count"] for o, i in zip(summary["occurrences"], instances)
                        if self.kernels(result)[i["kernel"]] == kernel["kernel"])
            self.assertEqual(kernel["launches"], alike + sum(skipped))
            self.assertIn(f"mneme-capture: {kernel['kernel']}: {kernel['launches']} launch", result.error)
            seen += kernel["launches"]
        self.assertIn(f"{len(totals['kernels'])} kernels, {seen} launches, {len(instances)} recorded", result.error)
        self.assertIn("not: between those that --every chooses", result.error)
        self.assertEqual(totals["seen_bytes"], 2 * sum(s["size"] for i in instances for s in i["segments"]))
        self.assertEqual(totals["stored_bytes"], sum(len(m.data) for m in bundles.read(result.out)
                                                     if m.name.startswith(("memory/", "states/"))))

    def test_occurrences_are_counted(self):
        program = self.program("conjugate_gradient")
        result = self.capture(program)
        summary = self.summary(result)
        ids = [i["id"] for i in self.instances(result)]
        self.assertEqual([o["instance"] for o in summary["occurrences"]], ids)
        self.assertGreater(max(o["count"] for o in summary["occurrences"]), 5)
        self.assertEqual(summary["application"], "exited with status 0")
        more = self.capture(program, options=["--occurrences", "2"])
        self.assertGreater(len(self.instances(more)), len(ids))

    def test_kernels_are_selected(self):
        program = self.program("conjugate_gradient")
        names = set(self.kernels(self.capture(program)).values())
        chosen = sorted(names)[0]
        expression = "^" + chosen.split("(")[0] + r"\("
        result = self.capture(program, options=["--kernel", expression])
        self.assertEqual(set(self.kernels(result).values()), {chosen})
        skipped = {s["kernel"]: s["reason"] for s in self.summary(result)["skipped"]}
        self.assertEqual(set(skipped), names - {chosen})
        self.assertEqual(set(skipped.values()), {"not selected by --kernel"})
        none = self.capture(program, options=["--kernel", "no_such_kernel"], status=2)
        self.assert_refused(none, 2, "no launch .* was recorded")

    def test_bad_usage(self):
        program = self.program("vector_add")
        for options, message in [(["--kernel", "("], "regular expression"), (["--occurrences", "0"], "at least 1"),
                                 (["--va-size", "1M"], "--va-size"), (["--va-size", "40T"], "--va-size"),
                                 (["--ranks", "99999999999"], "no rank"), (["--ranks", "2-1"], "before it begins"),
                                 (["--ranks", ""], "no rank"), (["--every", "0"], "at least 1"),
                                 (["-o", "x-%r.tar"], "%r is the rank"), (["--max-instances", "-1"], "")]:
            with self.subTest(options):
                result = run([tool("capture"), *options, program])
                self.assert_refused(result, 2, message)
                self.assertEqual(result.out, b"")

    def test_devices(self):
        program = self.program("vector_add")
        refusals = {}
        if not os.path.exists("/dev/kfd"):
            refusals["hip"] = "no AMD GPU"
        if not os.path.exists("/dev/nvidiactl"):
            refusals["cuda"] = "no NVIDIA GPU"
        for device, reason in refusals.items():
            result = run([tool("capture"), "--device", device, program])
            self.assert_refused(result, 3, reason)
            self.assertEqual(result.out, b"")
        automatic = run([tool("capture"), program])
        self.assertEqual(automatic.status, 0, automatic.text())
        self.assertRegex(automatic.error, "GPU.*using the host device")

    # ---- what the application notices ----

    def test_memory_calls_behave(self):
        program = self.program("memory_calls")
        for options in [["--max-instances", "0"], [], ["--va-size", "1G"]]:
            with self.subTest(options):
                result = self.capture(program, options=options)
                said = result.out.decode() if "0" in options else result.error
                self.assertIn("memory_calls: ok", said)

    def test_processes_keep_what_is_theirs(self):
        result = self.capture(self.program("processes"))
        self.assertEqual(len(self.instances(result)), 2)

    def test_threads(self):
        for _ in range(3):
            result = self.capture(self.program("threads"), options=["--max-instances", "20"])
            self.assertEqual(len(self.instances(result)), 20)
            self.assertIn("threads: ok", result.error)
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_copies_of_other_threads_are_not_the_kernels(self):
        result = self.capture(self.program("copies_beside"), options=["--max-instances", "10"])
        self.assertEqual(len(self.instances(result)), 10)
        self.assertIn("copies_beside: ok", result.error)
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_memory_freed_in_the_order_of_a_stream_is_not_anothers_too_early(self):
        result = self.capture(self.program("stream_frees"))
        self.assertIn("stream_frees: ok", result.error)
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_a_process_that_dies_takes_no_others_recording_with_it(self):
        for _ in range(3):  # when exactly a child dies is up to chance
            result = self.capture(self.program("killed_children"), options=["--max-instances", "100000"])
            self.assertIn("killed_children: ok", result.error)
            arguments = [instance["arguments"] for instance in self.instances(result)]
            own = [bytes.fromhex(a)[8:12] for a in arguments]
            for value in range(1, 21):
                self.assertIn(value.to_bytes(4, "little"), own)

    def test_standard_output(self):
        program = self.program("vector_add")
        piped = self.capture(program)
        self.assertIn("vector_add: ok", piped.error)
        self.assertNotIn(b"vector_add: ok", piped.out)
        bundle = self.folder / "kept.tar"
        kept = self.capture(program, options=["-o", bundle])
        self.assertEqual(kept.out, b"vector_add: ok\n")
        self.assertEqual(kept.error, "")
        self.assertEqual([m.name for m in bundles.read(bundle.read_bytes())],
                         [m.name for m in bundles.read(piped.out)])

    def test_running_only(self):
        result = self.capture(self.program("vector_add"), options=["--max-instances", "0"])
        self.assertEqual(result.out, b"vector_add: ok\n")

    def test_output_that_cannot_be_written(self):
        program = self.program("vector_add")
        with open("/dev/full", "wb") as full:
            result = run([tool("capture"), "--device", "host", program], stdout=full)
        self.assert_refused(result, 2, "No space left")
        self.assertIn("vector_add: ok", result.error)  # the application is not the one to suffer
        closed = run([tool("capture"), "--device", "host", program], ["head", "-c", "100"])
        self.assert_refused(closed, 2, "pipe", stage=0)
        self.assertEqual(len(closed.out), 100)

    # ---- applications in narrow circumstances ----

    def limited(self, how, options=(), status=0):
        result = self.capture(self.program("limited"), how, options=options, status=status)
        self.assertIn("limited: ok", result.error)
        return result

    def test_limits_that_recording_gets_along_with(self):
        for how in ["plain", "addresses", "larger-files", "no-files-in-memory", "forks"]:
            with self.subTest(how):
                result = self.limited(how)
                self.assertEqual(result.error, "limited: ok\n")
                self.assertEqual(len(self.instances(result)), 4)
        # The last: files in memory were forbidden to the recorder, not to these.
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_where_nothing_can_be_recorded_the_application_runs_on(self):
        for how, reason in [("files", "ulimit -f"), ("closes-first", "closed its connection")]:
            with self.subTest(how):
                result = self.limited(how, status=2)
                self.assertRegex(result.error, f"4 launches not recorded: recording had ended: .*{reason}")
                self.assertRegex(result.error, "error: no launch .* was recorded")
                skipped = [(s["launches"], s["reason"]) for s in self.summary(result)["skipped"]]
                self.assertEqual([launches for launches, _ in skipped], [4])
                self.assertIn(reason, skipped[0][1])

    def test_recording_that_ends_in_the_middle_says_so(self):
        result = self.limited("closes")
        self.assertEqual(len(self.instances(result)), 1)
        self.assertRegex(result.error, "3 launches not recorded: recording had ended: .* closed its connection")

    def test_a_program_that_becomes_another_is_recorded_still(self):
        result = self.limited("goes-on-as-another", options=["--occurrences", "2", "--max-instances", "9"])
        # The first launch of both programs is the same in everything.
        self.assertEqual([i["index"] for i in self.instances(result)], [0, 2, 3, 4])
        self.assertEqual(self.summary(result)["occurrences"][0]["count"], 2)

    def test_network_namespaces(self):
        apart = ["unshare", "--user", "--map-root-user", "--net"]
        if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
            self.skipTest("namespaces are not permitted here")
        folder = tempfile.mkdtemp(dir=self.folder)
        result = self.capture(*apart, self.program("limited"), "plain", env={"TMPDIR": folder})
        self.assertEqual(len(self.instances(result)), 4)
        elsewhere = f"MNEME_CAPTURE_SOCKET=nobody {self.program('limited')} plain"
        missed = self.capture(*apart, "sh", "-c", elsewhere, status=2)
        self.assertIn("limited: ok", missed.error)
        self.assertIn("this process is not recorded: mneme-capture cannot be reached", missed.error)
        self.assertIn("out of mneme-capture's reach", missed.error)
        self.assertEqual(os.listdir(folder), [])

    def test_several_devices(self):
        program = self.program("two_devices")
        run_only = self.capture(program, options=["--host-devices", "2", "--max-instances", "0"])
        self.assertIn("two_devices: ok", run_only.error)
        result = self.capture(program, options=["--host-devices", "2"])
        self.assertIn("two_devices: ok", result.error)
        info = bundles.parsed(bundles.read(result.out)[0])
        self.assertEqual([(r["name"], r["base"]) for r in info["ranges"]],
                         [("device", "0x400000000000"), ("device 1", "0x410000000000"), ("host", "0x600000000000")])
        names = self.kernels(result)
        seen = []
        for instance in self.instances(result):
            self.assertNotEqual(instance.get("device"), 0)
            seen.append((names[instance["kernel"]].split("(")[0], instance.get("device", 0)))
            for segment in instance["segments"]:
                device = 1 if segment["address"].startswith("0x41") else 0
                self.assertEqual(segment.get("device"), device or None, "said of others than the first only")
                # Variables are those of the device that the kernel ran on.
                if "symbol" in segment:
                    self.assertEqual(device, seen[-1][1])
            if seen[-1][0] == "fill":
                self.assertEqual(sorted(s["symbol"] for s in instance["segments"] if "symbol" in s),
                                 ["last", "launches"])
        self.assertEqual(seen, [("fill", 0), ("fill", 1), ("fill", 1), ("gather", 0), ("fill", 1)])
        self.assertEqual(self.capture(program, options=["--host-devices", "2"]).out, result.out)
        self.assertEqual(self.capture(program, env={"MNEME_HOST_DEVICES": "2"}).out[-5000:], result.out[-5000:])
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)
        refused = run([tool("capture"), "--host-devices", "9", program])
        self.assert_refused(refused, 2, "1 to 8")

    # ---- several processes ----

    def test_processes_of_a_script(self):
        first, second = self.program("vector_add"), self.program("transpose")
        script = ["sh", "-c", f"true; {first} && {second}"]
        alone = [set(self.kernels(self.capture(program)).values()) for program in (first, second)]
        every = self.capture(*script)
        self.assertEqual(set(self.kernels(every).values()), alone[0] | alone[1])
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=every.out)
        left = self.capture(*script, options=["-v", "--children", "leave"])
        self.assertEqual(set(self.kernels(left).values()), alone[0])
        self.assertIn("transpose: ok", left.error)
        self.assertIn("not recording another process", left.error)

    def children(self, how, options=(), status=0):
        result = self.capture(self.program("children"), how, options=options, status=status)
        self.assertIn("children: ok", result.error)
        return result

    def test_children_have_memory_of_their_own(self):
        # The same checks hold without the recorder, with it, and whether or not children are recorded.
        run_only = self.capture(self.program("children"), "writes", options=["--max-instances", "0"])
        self.assertIn("children: ok", run_only.error)
        left = self.children("writes", options=["--children", "leave", "--max-instances", "99"])
        launches = {k["kernel"].split("(")[0]: k["launches"] for k in self.summary(left)["totals"]["kernels"]}
        self.assertEqual(launches, {"add": 4, "sum": 1})
        self.assertEqual([(s["launches"], s["reason"]) for s in self.summary(left)["skipped"]],
                         [(11, "by processes that were forked, which --children leave leaves alone")])
        result = self.children("writes", options=["--max-instances", "99"])
        launches = {k["kernel"].split("(")[0]: k["launches"] for k in self.summary(result)["totals"]["kernels"]}
        self.assertEqual(launches, {"add": 4, "of_child": 8, "sum": 4})
        self.assertEqual(self.summary(result)["skipped"], [])
        # The memory that a child has from its parent is in its instances.
        self.assertEqual({len(i["segments"]) for i in self.instances(result)}, {6})
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_children_alone_use_the_device(self):
        for how, instances in [("only", 1), ("several", 8), ("parent-too", 2)]:
            with self.subTest(how):
                result = self.children(how, options=["--max-instances", "9"])
                self.assertEqual(len(self.instances(result)), instances)
        self.assertEqual(len(self.instances(self.children("parent-too", options=["--children", "leave"]))), 1)
        nothing = self.children("only", options=["--children", "leave"], status=2)
        self.assert_refused(nothing, 2, "by processes that were forked, which --children leave leaves alone")

    def test_an_application_may_close_all_descriptors(self):
        for how in ["close", "close_range", "closefrom", "dup2"]:
            with self.subTest(how):
                result = self.children(f"closes-{how}")
                self.assertEqual(result.error, "children: ok\n")
                self.assertEqual(len(self.instances(result)), 2)

    def test_daemons(self):
        for how in ["close", "closefrom"]:
            with self.subTest(how):
                self.assertEqual(len(self.instances(self.children(f"daemon-{how}"))), 2)

    def test_ranks(self):
        first, second = self.program("vector_add"), self.program("transpose")
        launcher = f"PMI_RANK=0 {first} && PMI_RANK=1 {second}"
        by_default = set(self.kernels(self.capture("sh", "-c", launcher)).values())
        chosen = set(self.kernels(self.capture("sh", "-c", launcher, options=["--ranks", "1"])).values())
        self.assertTrue(all("vector_add" in name for name in by_default), by_default)
        self.assertTrue(all("transpose" in name for name in chosen), chosen)
        # Started by the launcher itself, once a rank.
        other = self.capture(first, env={"PMI_RANK": "1"})
        self.assertEqual((other.out, other.error), (b"", "vector_add: ok\n"))  # others may write a bundle there
        kept = self.folder / "of-a-rank.tar"
        other = self.capture(first, env={"FLUX_TASK_RANK": "1"}, options=["-o", kept])
        self.assertEqual((other.out, kept.exists()), (b"vector_add: ok\n", False))
        listed = self.capture(first, env={"FLUX_TASK_RANK": "5"}, options=["--ranks", "0,4-6", "-o", f"{kept}-%r"])
        self.assertEqual((listed.out, pathlib.Path(f"{kept}-5").exists()), (b"vector_add: ok\n", True))
        both = self.capture("sh", "-c", launcher, options=["--ranks", "all"])
        self.assertEqual(len(self.kernels(both)), 2)
        own = self.capture(first, env={"PMI_RANK": "1"}, options=["--ranks", "1"])
        self.assertEqual(len(self.instances(own)), 1)

    # ---- signals ----

    def signalled(self, number, group=False):
        bundle = self.folder / f"signal{number}{group}.tar"
        process = subprocess.Popen([tool("capture"), "--device", "host", "-o", bundle, self.program("waits")],
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        said = ""
        while "ready" not in said:
            line = process.stderr.readline()
            self.assertTrue(line, said)
            said += line
        if group:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        said += process.communicate(timeout=60)[1]
        names = [m.name for m in bundles.read(bundle.read_bytes())]
        self.assertEqual(names[-1], "summary.json")
        self.assertEqual(sum(name.startswith("instances/") for name in names), 1)
        return process.returncode, said

    def test_signals_reach_the_application(self):
        status, said = self.signalled(signal.SIGTERM)
        self.assertEqual(status, 4, said)
        self.assertIn("SIGTERM", said)
        self.assertEqual(self.signalled(signal.SIGINT)[0], 0)
        self.assertEqual(self.signalled(signal.SIGINT, group=True)[0], 0)

    def test_exit_statuses_of_signals(self):
        result = run([tool("capture"), "--device", "host", "--pass-exit", "sh", "-c", "kill -USR1 $$"])
        self.assertEqual(result.status, 128 + signal.SIGUSR1, result.text())

    def test_a_killed_recording_is_truncated_and_the_application_goes_on(self):
        bundle = self.folder / "cut.tar"
        process = subprocess.Popen([tool("capture"), "--device", "host", "-o", bundle, self.program("waits")],
                                   stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env={**os.environ, "TMPDIR": str(self.folder)})
        while "ready" not in process.stderr.readline():
            pass
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
        child = int(children.stdout)
        try:
            process.kill()
            process.wait(timeout=60)
            os.kill(child, 0)  # still there
            result = run([tool("compile"), "-O1", bundle])
            self.assertEqual(result.status, 2, result.text())
            self.assertIn("cut short", result.error)
        finally:
            os.kill(child, signal.SIGKILL)
            process.stderr.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
