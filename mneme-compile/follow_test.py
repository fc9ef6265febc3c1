#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-compile --follow: each line is compiled, run and judged before the next one is written."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from support import ROOT, TestCase, run, tool  # noqa: E402


class Conversation:
    """The three tools, which are told a line at a time."""

    def __init__(self, bundle, *options):
        source, answers = os.pipe()
        self.compile = subprocess.Popen([tool("compile"), "--variants", "-", "--follow", f"/dev/fd/{answers}", *options, bundle],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        pass_fds=[answers])
        os.close(answers)
        self.run = subprocess.Popen([tool("run")], stdin=self.compile.stdout, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
        self.verify = subprocess.Popen([tool("verify")], stdin=self.run.stdout, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
        self.compile.stdout.close()
        self.run.stdout.close()
        self.answers = os.fdopen(source)

    def say(self, text):
        self.compile.stdin.write(text.encode())
        self.compile.stdin.flush()

    def answer(self):
        return json.loads(self.answers.readline())

    def judgement(self):
        return json.loads(self.verify.stdout.readline())

    def end(self):
        self.compile.stdin.close()
        rows = [json.loads(line) for line in self.verify.stdout]
        said = self.compile.stderr.read().decode()
        for stream in (self.answers, self.verify.stdout, self.compile.stderr):
            stream.close()
        return [process.wait(60) for process in (self.compile, self.run, self.verify)], rows, said


class Follow(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))

    def test_a_line_is_judged_before_the_next_is_written(self):
        talk = Conversation(self.recording, "--kernel", "^add")
        talk.say('{"passes":"default<O1>"}\n')
        first = talk.answer()
        self.assertEqual(first["line"], 1)
        self.assertGreater(first["code_bytes"], 0)
        row = talk.judgement()
        self.assertEqual((row["variant"], row["verified"]), (first["variant"], True))

        talk.say('\n{"passes":"default<O1>,verify"}\n')
        same = talk.answer()
        self.assertEqual((same["line"], same["code_bytes"]), (3, first["code_bytes"]))
        self.assertEqual(talk.judgement()["same_as"], first["variant"])

        talk.say('{"passes":"default<O1>","fuse":false}\n')  # there was one like it
        self.assertEqual(talk.answer(), {"line": 4, "variant": first["variant"]})

        for wrong, reason in (('{"pases":"x"}', "no configuration has the key 'pases'"), ("{]", "not valid json"),
                              ('{"specialize_args":"77"}', "77"), ('{"cpu":"z"}', "'cpu' takes a processor")):
            talk.say(wrong + "\n")
            answer = talk.answer()
            self.assertIn(reason, answer["failed"])
            self.assertNotIn("variant", answer)
        talk.say('{"passes":"no-such-pass"}\n')
        self.assertIn("no-such-pass", talk.answer()["failed"])
        self.assertEqual(talk.judgement()["status"], "failed")

        talk.say('{"specialize_args":"all","block":[32,1,1]}\n{"codegen_opt":0}\n')
        ids = [talk.answer()["variant"] for _ in range(2)]
        self.assertEqual([talk.judgement()["variant"] for _ in range(2)], ids)
        statuses, rows, said = talk.end()
        self.assertEqual(statuses, [2, 0, 1], said)
        self.assertIn("4 line(s) of --variants were not compiled", said)
        # The second launch meets them all.
        self.assertEqual(len(rows), 5)
        self.assertEqual(sum(row["verified"] for row in rows), 4)
        self.assertEqual(len({row["instance"] for row in rows}), 1)
        self.assertNotEqual(rows[0]["instance"], row["instance"])

    def test_all_kernels_get_them_in_the_end(self):
        path = self.folder / "lines"
        path.write_text('{}\n{"passes":"default<O1>"}')
        answers = self.folder / "answers"
        out = self.run_well([tool("compile"), "--variants", path, "--follow", answers, self.recording], [tool("run")],
                            [tool("verify")]).out
        wanted = self.run_well([tool("compile"), "--variants", path, self.recording], [tool("run")], [tool("verify")]).out
        pairs = [sorted((row["variant"], row["instance"], row["status"]) for row in map(json.loads, text.splitlines()))
                 for text in (out, wanted)]
        self.assertEqual(len(pairs[0]), 8)
        self.assertEqual(*pairs)
        self.assertEqual([json.loads(line)["line"] for line in answers.read_text().splitlines()], [1, 2])

    def test_what_is_wrong_is_said(self):
        lines = self.folder / "some"
        lines.write_text("{}\n")
        self.assert_refused(run([tool("compile"), "--follow", self.folder / "a", self.recording]), 2, "--variants")
        self.assert_refused(run([tool("compile"), "--variants", lines, "--follow", self.folder / "no" / "a", self.recording]),
                            2, "no/a")
        result = run([tool("compile"), "--variants", lines, "--follow", self.folder / "a", "--instance", "00000000",
                      self.recording])
        self.assertEqual(result.status, 2, result.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
