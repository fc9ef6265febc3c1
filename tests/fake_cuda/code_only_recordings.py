# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without IR: what their tests record and replay."""

import json

import bundles
import code_only
import cuda_binaries
import toolkit
from support import BUILD, TestCase, run, tool

LIBRARIES = BUILD / "tests" / "fake_cuda"


class Recordings(TestCase):
    built = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        code_only.make(cls.folder / "toolkit", LIBRARIES)
        cls.environment = {"CUDA_PATH": str(cls.folder / "toolkit"), "LD_LIBRARY_PATH": str(LIBRARIES)}
        toolkit.make(cls.folder / "plain", LIBRARIES)
        cls.with_ir = {**cls.environment, "CUDA_PATH": str(cls.folder / "plain")}

    @classmethod
    def inject(cls, *arguments):
        result = run([tool("inject"), *toolkit.COMPILE, *arguments], env=cls.environment)
        if result.status:
            raise AssertionError(result.text())

    @classmethod
    def program(cls, name, *arguments, source=None):
        if name not in cls.built:
            cls.built[name] = cls.folder / name
            cls.inject(toolkit.PROGRAMS / f"{source or name}.cu", *arguments, "-o", cls.built[name])
        return cls.built[name]

    @classmethod
    def code(cls, name, text):
        """The cubin of a source, and its PTX."""
        source, built = cls.folder / f"{name}.cu", cls.folder / f"{name}.o"
        source.write_text(text)
        cls.inject("-I", toolkit.PROGRAMS, "-c", source, "-o", built)
        (cubin,), (ptx,) = cuda_binaries.cubins(built), cuda_binaries.ptx(built)
        files = cls.folder / f"{name}.cubin", cls.folder / f"{name}.ptx"
        files[0].write_bytes(cubin.image)
        files[1].write_bytes(ptx.rstrip(b"\0"))
        return files

    def capture(self, program, *arguments, status=0):
        alone = self.run_well([program, *arguments], env=self.environment)
        bundle = self.folder / f"{program.name}.tar"
        result = run([tool("capture"), "--device", "cuda", "--summary", "-o", bundle, program, *arguments],
                     env=self.environment)
        self.assertEqual(result.status, status, result.text())
        self.assertEqual(result.out, alone.out, "the application printed something else")
        return result, bundle

    @classmethod
    def recorded(cls):
        """Two kernels of the program "memory"."""
        bundle = cls.folder / "recorded.tar"
        if not bundle.exists():
            result = run([tool("capture"), "--device", "cuda", "-o", bundle, cls.program("memory")],
                         env=cls.environment)
            if result.status:
                raise AssertionError(result.text())
        return bundle

    @classmethod
    def without_ptx(cls, bundle=None):
        """The same recording of an application whose fat binary has cubins only."""
        return cls.with_other_ptx(bundle or cls.recorded(), lambda text: None)

    @classmethod
    def with_other_ptx(cls, bundle, change):
        """The same, with what `change` makes of the kernels' PTX."""
        members = bundles.read(bundle.read_bytes())
        kernels = {m.name: bundles.parsed(m) for m in members if m.name.endswith("/kernel.json")}
        texts = {kernel["ptx"] for kernel in kernels.values()}
        changed = {f"code/{text}": change(next(m.data for m in members if m.name == f"code/{text}")) for text in texts}
        written = []
        for member in members:
            if member.name in changed:
                if (text := changed[member.name]) is not None:
                    written.append((f"code/{bundles.digest(text)}", text))
            elif kernel := kernels.get(member.name):
                text = changed[f"code/{kernel.pop('ptx')}"]
                written.append((member.name, bundles.compact({**kernel, **({"ptx": bundles.digest(text)} if text else {})})))
            else:
                written.append((member.name, member.data))
        archive = bundles.write(written)
        path = cls.folder / f"{bundles.digest(archive)}.tar"
        path.write_bytes(archive)
        return path

    def kernels(self, bundle):
        found = [bundles.parsed(m) for m in bundles.read(bundle.read_bytes()) if m.name.endswith("/kernel.json")]
        return {kernel["name"]: kernel for kernel in found}

    def compile(self, *options, bundle=None, status=0):
        result = run([tool("compile"), *options, "-o", self.folder / "compiled.tar", bundle or self.recorded()],
                     env=self.environment)
        self.assertEqual(result.status, status, result.text())
        return result

    def variants(self):
        members = bundles.read((self.folder / "compiled.tar").read_bytes())
        return [bundles.parsed(m) for m in members if m.name.endswith("/variant.json")]

    def replay(self, *options, verified=True):
        """What mneme-verify says of each run of what was compiled last."""
        result = run([tool("run"), "--device", "cuda", *options, self.folder / "compiled.tar"], [tool("verify")],
                     env=self.environment)
        self.assertEqual(result.statuses, [0, 0 if verified else 1], result.text())
        return [json.loads(line) for line in result.out.decode().splitlines()]
