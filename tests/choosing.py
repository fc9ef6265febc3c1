# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles that choose variants (lib/bundle/FORMAT.md), written by hand, of code that need be neither right nor fast;
and what tests of applying them share."""

import json

import bundles
from support import BUILD, TestCase, run, tool

RECORDER = BUILD / "lib" / "mneme" / "libmneme-record.so"
COPIED = "it is in a graph, and the variant has device variables to be copied before each launch"
UPDATED = "its graph was updated after it was made ready"
REFUSED = "its variant is not applied, for the reason that stands with it"


def tuned(recorded, code, device, target, keys, suffix="cubin", kernels=None, **also):
    """Chooses this code for the recorded kernels (of names that begin with one of `kernels`), for launches with each of
    the keys: dicts of a choice's keys. `also` is what variants' configurations have besides."""
    members = bundles.read(recorded)
    info = bundles.parsed(members[0])
    info["memory"] = "none"
    out = [("bundle.json", bundles.compact(info))]
    choices = []
    for member in members:
        if member.name.startswith("code/"):
            out.append(member)
        if not member.name.startswith("kernels/"):
            continue
        kernel = member.name.split("/")[1]
        about = bundles.parsed(next(m for m in members if m.name == f"kernels/{kernel}/kernel.json"))
        if kernels and not about["demangled"].startswith(tuple(kernels)):
            continue
        out.append(member)
        if member.name.endswith("kernel.json") and "code" not in about:
            continue  # its IR follows
        configuration = {"target": f"{device}:{target}", "passes": "default<O3>", "codegen_opt": 3, "form": "auto",
                         "fuse": False, "ir": "", **also}
        text = json.dumps(configuration, separators=(",", ":"))
        variant = bundles.digest(kernel.encode() + text.encode())
        name = f"variants/{kernel}/{variant}"
        out.append((f"{name}/variant.json", bundles.compact(
            {"id": variant, "kernel": kernel, "configuration": configuration, "code": f"code.{suffix}",
             "code_digest": bundles.digest(code), "form": ""})))
        if f"code/{bundles.digest(code)}" not in {member.name for member in members}:
            out.append((f"{name}/code.{suffix}", code))
        for key in keys:
            key = dict(key)
            launch = {"launch": key.pop("launch")} if "launch" in key else {}
            key = {"kernel": kernel, "device": device, "target": f"{device}:{target}", **key}
            name = bundles.digest(json.dumps(key, separators=(",", ":")).encode())
            choices.append((f"choices/{kernel}/{name}.json", bundles.compact(
                {"id": name, **key, "variant": variant, **launch, "baseline_ns": 2000, "median_ns": 1000, "ratio": 2,
                 "instances": 1})))
    return bundles.write(out + choices)


def key(grid, block, shared=0, **more):
    return {"grid": [grid, 1, 1], "block": [block, 1, 1], "shared_bytes": shared, **more}


WAYS = [key(2, 32), key(2, 32, cooperative=True), key(2, 32, cluster=[2, 1, 1])]  # of tests/fake_cuda/programs/applied.cu


class Applied(TestCase):
    """An application, on a device whose libraries are played. `more` is a bundle that chooses code of which it prints
    something else, and `same` one of the application's own code."""
    device, target, keys = None, None, None
    environment = {}
    app = code = same_code = None

    @classmethod
    def make_bundles(cls):
        path = cls.folder / "recorded.tar"
        cls.well([tool("capture"), "--device", cls.device, "-o", path, cls.app, "all"])
        cls.recorded = path.read_bytes()
        cls.more = cls.bundle("more", cls.code)
        cls.same = cls.bundle("same", cls.same_code)

    @classmethod
    def well(cls, *stages):
        result = run(*stages, env=cls.environment)
        if any(result.statuses):
            raise AssertionError(result.text())
        return result

    @classmethod
    def bundle(cls, name, code, keys=None, target=None, **options):
        path = cls.folder / f"{name}.tar"
        path.write_bytes(tuned(cls.recorded, code, cls.device, target or cls.target, keys or cls.keys, **options))
        return path

    def apply(self, bundle, *arguments, options=(), status=0, app=None, env={}):
        """The lines that the application writes, and the report, whose numbers make up all launches."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        result = run([tool("capture"), "--device", self.device, "--apply", bundle, "--report", report, *options,
                      app or self.app, *arguments], env={**self.environment, **env})
        self.assertEqual(result.status, status, result.text())
        self.messages = result.error
        report = json.loads(report.read_text())
        told = sum(miss["launches"] for miss in report["misses"]) + sum(
            one["applied"] + one["checked"] + one["faulted"] + one.get("own", 0) for one in report["choices"])
        self.assertEqual(report["launches"], told, report)
        return result.out.decode().splitlines(), report

    def by_hand(self, bundle, *arguments):
        """Without mneme-capture: the lines, and what is said."""
        applied = {"LD_PRELOAD": str(RECORDER), "MNEME_APPLY": str(bundle)}
        result = run([self.app, *arguments], env={**self.environment, **applied})
        self.assertEqual(result.status, 0, result.text())
        return result.out.decode().splitlines(), result.error

    def own(self, *arguments):
        return self.well([self.app, *arguments]).out.decode().splitlines()

    def reasons(self, report):
        return {(miss["kernel"].split("(")[0], miss["reason"]): miss["launches"] for miss in report["misses"]}


class Trust:
    """Tests of both vendors' applications."""

    def test_check(self):
        out, report = self.apply(self.same, "repeated", "5", options=["--check", "2"])
        self.assertEqual((out, report["applied"], report["differing"]), (["repeated 50"], 3, 0), self.messages)
        out, report = self.apply(self.more, "repeated", "5", options=["--check", "2"], status=1)
        self.assertEqual((out, report["applied"], report["differing"]), (["repeated 50"], 0, 1), self.messages)

    def test_times(self):
        out, report = self.apply(self.more, "repeated", "40", options=["--measure"])
        self.assertEqual(out, ["repeated 420"])
        choice, = [one for one in report["choices"] if one["applied"]]
        self.assertEqual((choice["applied"], choice["own"], choice["rounds"]), (20, 20, 20))

    def test_recording(self):
        for which, status in (("own", 0), ("variant", 1)):
            bundle = self.folder / "both.tar"
            self.apply(self.more, "repeated", "3", options=["-o", bundle, "--record-applied", which])
            result = run([tool("compile"), "--target", "host", bundle], [tool("run")], [tool("verify")])
            self.assertEqual(result.status, status, result.text())
