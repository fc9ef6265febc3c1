#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mneme-capture records of real applications: memory, variables, annotations, and what it names instead."""

import ctypes
import errno
import os
import pathlib
import tempfile
import time
import unittest

from capturing import HERE, CaptureCase, bundles, run, tool


PROCESS_VM_READV, USERFAULTFD = 310, 323


def forbid(call):
    """From here on the system call is refused, as a seccomp filter."""
    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.POINTER(Instruction))]

    load, equal, give = 0x20, 0x15, 0x06  # the number of the call; compare; return
    code = (Instruction * 4)((load, 0, 0, 0), (equal, 0, 1, call), (give, 0, 0, 0x00050000 | errno.EPERM),
                             (give, 0, 0, 0x7FFF0000))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, filter_mode, ctypes.byref(Program(4, code))):
        raise OSError(ctypes.get_errno(), "prctl")


class Recorded(CaptureCase):
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

    def test_what_programs_seldom_have(self):
        for name, launches in [("alignments", 2), ("own_constants", 1), ("undefined_numbers", 3)]:
            recorded = self.capture(self.program(name))
            self.assertIn(f"{name}: ok", recorded.error)
            self.assertEqual(len(self.instances(recorded)), launches)
            for how in ["-O0", "-O3", "-O1 --form fiber", "-O3 --specialize-args all --specialize-dims"]:
                with self.subTest(f"{name} {how}"):
                    compiled = self.run_well([tool("compile"), *how.split()], input=recorded.out)
                    for where in [[], ["--move-globals"]]:
                        replayed = self.run_well([tool("run"), *where], input=compiled.out)
                        self.assertEqual(self.run_well([tool("verify")], input=replayed.out).out.count(b'"verified":true'),
                                         launches)

    def test_host_memory_is_recorded(self):
        result = self.capture(self.program("mapped_memory"))
        for instance in self.instances(result):
            kinds = [s["kind"] for s in instance["segments"]]
            self.assertEqual(kinds.count("host"), 2, "the pinned and the registered memory")

    def test_memory_from_before_the_first_code_is_recorded(self):
        result = self.capture(self.program("early_memory"))
        self.assertIn("early_memory: ok", result.error)
        instance, = self.instances(result)
        self.assertNotIn("missing", instance)
        kinds = [s["kind"] for s in instance["segments"]]
        self.assertEqual((kinds.count("heap"), kinds.count("host")), (2, 3), instance["segments"])
        self.run_well([tool("compile"), "-O3"], [tool("run")], [tool("verify")], input=result.out)

    def test_kernels_of_libraries_that_are_loaded_later_are_recorded(self):
        source = HERE / "test_programs" / "plugin.hip"
        libraries = [self.build(source, f"plugin{first}.so", "-O2", "-fPIC", "-shared", f"-DFIRST={first}")
                     for first in (1, 2)]
        result = self.capture(self.program("plugins"), *libraries)
        self.assertIn("plugins: ok", result.error)
        # Of the same name, and each its library's.
        self.assertEqual(list(self.kernels(result).values()), ["same(int*)"] * 2)
        instances = self.instances(result)
        self.assertEqual(len(instances), 4, "each with both numbers of threads")
        for instance in instances:
            self.assertNotIn("missing", instance)
            self.assertIn("count", [s.get("symbol") for s in instance["segments"]])
        self.run_well([tool("compile"), "-O0"], [tool("run"), "--move-globals"], [tool("verify")], input=result.out)

    def test_registered_memory_is_read_or_copied(self):
        program = self.program("registered_memory")
        read = self.capture(program)
        self.assertIn("registered_memory: ok", read.error)
        self.assertEqual(len(self.instances(read)), 4)
        # As in containers that take the right away to read other processes.
        copied = run([tool("capture"), "--device", "host", program], preexec_fn=lambda: forbid(PROCESS_VM_READV))
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

    def test_what_nobody_wrote_need_not_be_noted(self):
        # As in containers that forbid it, and under older systems: then all is read each time.
        for name in ["conjugate_gradient", "stream_ordered_memory", "graph_captured", "virtual_memory", "mapped_memory",
                     "registered_memory"]:
            with self.subTest(name):
                program = self.program(name)
                noted = self.capture(program)
                self.assertGreater(len(self.instances(noted)), 1)
                read = run([tool("capture"), "--device", "host", program], preexec_fn=lambda: forbid(USERFAULTFD))
                self.assertEqual(read.status, 0, read.text())
                self.assertEqual(read.out, noted.out)

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
                         ["coded_host", "distant_host", "far_host", "far_memory_host", "list_host", "number_host", "packed_host", "rows_host", "stored_host",
                          "structure_host", "sum_host", "table_host", "views_host"])
        self.assertEqual(len(missing), 23)
        for kernel, sentence in [("structure_host", "argument 0, a structure, points to 0x"),
                                 ("rows_host", "argument 0, a structure, points to 0x"),
                                 ("number_host", "argument 0 points to 0x"),
                                 ("views_host", "the memory at 0x4.* holds the address 0x"),
                                 ("table_host", "the memory at 0x.* holds the address 0x"),
                                 ("list_host", "the memory at 0x4.* holds the address 0x"),
                                 ("stored_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("sum_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("distant_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("far_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("far_memory_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("coded_host", r"block \(0, 0, 0\) uses the address 0x"),
                                 ("packed_host", "the memory at 0x4.* holds the address 0x")]:
            self.assertEqual(len(missing[kernel]), 1, missing)
            self.assertRegex(missing[kernel][0], sentence + ".*, memory that no allocation known to the recorder")
        # The others are whole, whatever else they were given.
        compiled = self.run_well([tool("compile"), "-O3"], input=result.out)
        replayed = run([tool("run")], input=compiled.out)
        self.assert_refused(replayed, 2, "13 recorded launch.*not complete")
        runs = [bundles.parsed(m) for m in bundles.read(replayed.out) if m.name.startswith("runs/")]
        self.assertEqual(len(runs), 10)
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

    def test_copies_of_other_threads_are_not_the_kernels(self):
        result = self.capture(self.program("copies_beside"), options=["--max-instances", "10"])
        self.assertEqual(len(self.instances(result)), 10)
        self.assertIn("copies_beside: ok", result.error)
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_memory_freed_in_the_order_of_a_stream_is_not_anothers_too_early(self):
        result = self.capture(self.program("stream_frees"))
        self.assertIn("stream_frees: ok", result.error)
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_an_applications_arithmetic_is_not_the_kernels(self):
        result = self.capture(self.program("flushing_mode"))
        self.assertIn("flushing_mode: ok", result.error)
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_memory_that_a_graph_frees_is_its_own_and_recorded(self):
        result = self.capture(self.program("graph_frees"))
        self.assertIn("graph_frees: ok", result.error)
        kernels = list(self.kernels(result).values())
        self.assertEqual(len(kernels), 2, kernels)
        self.assertTrue(all(instance.get("complete", True) for instance in self.instances(result)))
        replayed = self.run_well([tool("compile"), "-O2"], [tool("run")], input=result.out)
        self.run_well([tool("verify")], input=replayed.out)
        runs = [bundles.parsed(m) for m in bundles.read(replayed.out) if m.name.startswith("runs/")]
        self.assertTrue(runs and all(each["changed_bytes"] > 0 for each in runs), runs)

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
