#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-capture on applications of several processes, and on processes that are killed."""

import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

from capturing import HOST_LIBRARIES, CaptureCase, bundles, run, tool


class Processes(CaptureCase):
    def test_processes_keep_what_is_theirs(self):
        result = self.capture(self.program("processes"))
        self.assertEqual(len(self.instances(result)), 2)

    def test_a_process_that_dies_takes_no_others_recording_with_it(self):
        for _ in range(3):  # when exactly a child dies is up to chance
            result = self.capture(self.program("killed_children"), options=["--max-instances", "100000"])
            self.assertIn("killed_children: ok", result.error)
            arguments = [instance["arguments"] for instance in self.instances(result)]
            own = [bytes.fromhex(a)[8:12] for a in arguments]
            for value in range(1, 21):
                self.assertIn(value.to_bytes(4, "little"), own)

    def test_killed_at_random_moments(self):
        """No launch is lost of which the application has seen the end. $MNEME_KILLS is how often."""
        program, random_moment = self.program("announces"), random.Random(1)
        ended = []
        for turn in range(int(os.environ.get("MNEME_KILLS", "40"))):
            bundle = self.folder / "killed.tar"
            capture = subprocess.Popen([tool("capture"), "--device", "host", "--max-instances", "1000000", "-o", bundle,
                                        program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
            process = int(capture.stdout.readline())
            first = b"".join(capture.stdout.readline() for _ in range(random_moment.randrange(8)))
            time.sleep(random_moment.random() * 0.01)
            os.kill(process, signal.SIGKILL)
            out, error = capture.communicate(timeout=60)
            self.assertEqual(capture.returncode, 4, error)
            announced = (first + out).decode().split("\n")[:-1]  # the last line may be cut
            arguments = [bundles.parsed(m)["arguments"] for m in bundles.read(bundle.read_bytes())
                         if m.name.startswith("instances/")]
            values = sorted(int.from_bytes(bytes.fromhex(text)[8:12], "little") for text in arguments)
            self.assertEqual(values, list(range(1, len(values) + 1)), f"kill {turn}")
            self.assertIn(len(values) - len(announced), (0, 1), f"kill {turn}")
            ended.append(len(announced))
        self.assertGreater(len({*ended}), 1, "always at the same moment")

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

    def test_each_way_to_end(self):
        """With the output and the status that it has alone, and the launch recorded."""
        program = self.program("ends")
        seen = {}
        for way in ["return", "exit", "_exit", "quick_exit", "abort", "throw", "pthread_exit", "exit-in-thread",
                    "quick_exit-in-callback", "signal", "handled-signal"]:
            with self.subTest(way):
                alone = run([program, way], env={"LD_LIBRARY_PATH": str(HOST_LIBRARIES)})
                bundle = self.folder / f"{way}.tar"
                result = run([tool("capture"), "--device", "host", "--pass-exit", "--max-instances", "9", "-o", bundle,
                              program, way])
                self.assertEqual(result.out, alone.out)
                status = alone.status if alone.status >= 0 else 128 - alone.status
                self.assertEqual(result.status, status, result.text())
                instances = [m for m in bundles.read(bundle.read_bytes()) if m.name.startswith("instances/")]
                self.assertEqual(len(instances), 2 if way == "pthread_exit" else 1)
                seen[way] = (alone.out.decode().split("\n")[:-1], alone.status)
        end = ["handler", "destructor"]
        self.assertEqual(seen, {
            "return": (end, 0), "exit": (end, 3), "_exit": ([], 5), "quick_exit": (["quick handler"], 6),
            "abort": ([], -signal.SIGABRT), "throw": ([], -signal.SIGABRT), "pthread_exit": (["other thread", *end], 0),
            "exit-in-thread": (end, 4), "quick_exit-in-callback": (["quick handler"], 11),
            "signal": ([], -signal.SIGKILL), "handled-signal": (["signal"], 9)})

    def test_threads_at_work_when_it_ends(self):
        program = self.program("last_moments")
        for limit in ["0", "2"]:
            options = ["--device", "host", "--pass-exit", "--max-instances", limit, "-o", self.folder / "last.tar"]
            result = run([tool("capture"), *options, program, "destructor"])
            self.assertEqual(result.status, 12, result.text())
            self.assertEqual(sorted((result.out.decode() + result.error).split("\n")).count("the copy: right"), 1, result.text())
            self.assertNotIn("WRONG", result.text())
            for _ in range(10):
                result = run([tool("capture"), *options, program, "detached"], timeout=60)
                self.assertEqual(result.status, 12, result.text())
                self.assertNotIn("the process ends while work on a stream has not", result.text())

    def test_small_stacks(self):
        program = self.program("small_stack")
        with tempfile.TemporaryDirectory() as cache:  # the kernel is compiled on such a stack
            env = {**os.environ, "XDG_CACHE_HOME": cache}
            for limit in ["0", "9"]:
                result = run([tool("capture"), "--device", "host", "--max-instances", limit, "-o", self.folder / "small.tar",
                              program], env=env)
                self.assertEqual(result.status, 0, result.text())

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
