#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Debian package: what it says of itself and what it holds; and that it works in a fresh Debian 12, where one can
be made. Of the other recipes, what can be checked without their tools."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

from support import BUILD, PROGRAMS, ROOT, TestCase, run

RELEASE = "bookworm"  # of Debian, number 12
TOOLS = ["inject", "capture", "extract-ir", "restore", "compile", "run", "verify", "tune", "bisect", "reduce"]
PACKAGING = ROOT / "packaging"
RECIPE = PACKAGING / "spack" / "packages" / "mneme" / "package.py"

# What the README shows, in the fresh root.
PIPELINE = """\
set -eu -o pipefail
cd /example
mneme-inject clang++-19 -x hip -O2 --offload-arch=gfx90a app.hip -o app
mneme-capture ./app | mneme-compile -O3 | mneme-run | mneme-verify --format table > verified
mneme-capture -o app.tar ./app
mneme-extract-ir -S app.tar | sed 's/fadd contract float/fsub contract float/' > wrong.ll
mneme-compile --ir wrong.ll app.tar | mneme-run > wrong.tar
status=0
mneme-verify --format table wrong.tar > tampered || status=$?
echo "status $status" >> tampered
mneme-capture ./app | mneme-compile | mneme-restore --executable replay
./replay > replayed
mneme-tune --help > /dev/null
mneme-export --help > /dev/null
"""


def fields_of(package):
    """The control data: a text for each field."""
    text = subprocess.run(["dpkg-deb", "--field", package], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^(\S+): ((?:.*\n(?: .*\n)*))", text, re.MULTILINE))


def names_in(relation):
    """The packages that a field such as Depends names."""
    return {name for one in relation.split(",") for name in re.findall(r"(?:^|\|)\s*([a-z0-9][a-z0-9.+-]*)", one)}


class PackageCase(TestCase):
    """Has the package, which is made once: self.package."""

    made = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if PackageCase.made is None:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="mneme-package-"))
            unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
            result = run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder], timeout=900)
            if result.status:
                raise AssertionError(result.text() + "\n" + result.out.decode())
            PackageCase.made = folder
        cls.package, = PackageCase.made.glob("*.deb")


class Package(PackageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fields = fields_of(cls.package)
        cls.root = cls.folder / "root"
        subprocess.run(["dpkg-deb", "--extract", cls.package, cls.root], check=True)
        cls.files = [path for path in cls.root.rglob("*") if path.is_file() and not path.is_symlink()]

    def test_name(self):
        version, = re.findall(r"^project\(mneme VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
        self.assertEqual(self.package.name, f"mneme_{version}_amd64.deb")
        for field, value in [("Package", "mneme"), ("Version", version), ("Architecture", "amd64")]:
            self.assertEqual(self.fields[field].strip(), value)

    def test_dependencies(self):
        depends = names_in(self.fields["Depends"])
        # What the programs are linked with; then what mneme-inject and the scripts run.
        self.assertLessEqual({"libc6", "libllvm19", "libtbb12"}, depends)
        self.assertLessEqual({"clang-19", "clang-tools-19", "llvm-19", "lld-19", "libamdhip64-dev", "rocm-device-libs",
                              "python3"}, depends)
        self.assertLessEqual({"python3-optuna", "python3-numpy", "python3-yaml"}, names_in(self.fields["Recommends"]))

    def test_it_brings_its_own_libraries(self):
        depends = names_in(self.fields["Depends"])
        own = {f"lib{path.name[3:path.name.index('.so')]}" for path in self.files if ".so" in path.name}
        self.assertIn("libamdhip64", own)
        for name in depends - {"libamdhip64-dev"}:
            self.assertFalse(any(name.startswith(library) for library in own | {"mneme"}), name)

    def test_files(self):
        self.assertEqual([path.name for path in self.root.iterdir()], ["usr"])
        usr = self.root / "usr"
        self.assertEqual({path.name for path in usr.iterdir()}, {"bin", "include", "lib", "share"})
        for name in TOOLS:
            self.assertTrue(os.access(usr / "bin" / f"mneme-{name}", os.X_OK), name)
            self.assertTrue((usr / "share" / "man" / "man1" / f"mneme-{name}.1.gz").is_file(), name)
        for path in ["include/mneme/MnemeAnnotation.hpp", "lib/libmnemert.a", "lib/cmake/mneme/mneme-config.cmake",
                     "lib/mneme/hostgpu/libamdhip64.so.5", "share/doc/mneme/copyright", "share/doc/mneme/README.md",
                     *(f"lib/python3/dist-packages/mneme/{name}" for name in ("py.typed", "session.py", "search/space.py"))]:
            self.assertTrue((usr / path).is_file(), path)
        self.assertEqual(list((usr / "share" / "mneme" / "python").rglob("*_test.py")), [])
        self.assertEqual((ROOT / "CHANGELOG.md").exists(), (usr / "share/doc/mneme/changelog.gz").exists())

    def test_owners_and_permissions(self):
        listed = subprocess.run(["dpkg-deb", "--contents", self.package], check=True, capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            self.assertRegex(line, r"^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--|lrwxrwxrwx) root/root ")

    def test_nothing_names_the_build_folder(self):
        for path in self.files:
            contents = path.read_bytes()
            for folder in [BUILD, ROOT, PackageCase.made]:
                self.assertNotIn(f"{folder}/".encode(), contents, path)

    def test_stripped(self):
        programs = [path for path in self.files if path.read_bytes()[:4] == b"\x7fELF"]
        said = subprocess.run(["file", *programs], check=True, capture_output=True, text=True).stdout
        self.assertGreater(len(programs), len(TOOLS))
        self.assertNotIn("not stripped", said)


# ---- a fresh Debian ----


def sources_of_debian():
    """What apt's configuration says of this machine's mirrors of Debian 12, as stanzas; not of others' packages."""
    folder = pathlib.Path("/etc/apt/sources.list.d")
    stanzas = []
    for path in sorted(folder.glob("*.sources")):
        stanzas += re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE))
    for path in [pathlib.Path("/etc/apt/sources.list"), *sorted(folder.glob("*.list"))]:
        for line in path.read_text().splitlines() if path.is_file() else []:
            if found := re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)", line.split("#")[0]):
                options, uri, suite, components = found.groups()
                keys = re.search(r"signed-by=(\S+)", options or "")
                stanzas.append(f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: {components}\n"
                               + (f"Signed-By: {keys[1]}\n" if keys else ""))
    return [stanza.strip() for stanza in stanzas
            if re.search(rf"^Suites:.*\b{RELEASE}\b", stanza, re.MULTILINE)
            and re.search(r"^Components:.*\bmain\b", stanza, re.MULTILINE)]


def options_of_apt():
    """The apt sources of this machine, which the fresh root uses, too."""
    dump = subprocess.run(["apt-config", "dump"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^Acquire::(?:https?|Check-Valid-Until|Check-Date|Retries)\b.*", dump, re.MULTILINE)


def mirrors_answer(sources):
    """Whether apt can fetch the mirrors' lists, into a folder of ours."""
    with tempfile.TemporaryDirectory(prefix="mneme-apt-") as name:
        folder = pathlib.Path(name)
        for part in ["lists/partial", "archives/partial"]:
            (folder / part).mkdir(parents=True)
        (folder / "debian.sources").write_text(sources)
        fetched = subprocess.run(
            ["apt-get", "update", "-o", f"Dir::Etc::SourceList={folder / 'debian.sources'}",
             "-o", "Dir::Etc::SourceParts=-", "-o", f"Dir::State::Lists={folder / 'lists'}",
             "-o", f"Dir::Cache={folder}", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=1",
             "-o", "APT::Update::Error-Mode=any"],
            capture_output=True, timeout=300)
        return fetched.returncode == 0


def may_make_roots():
    return os.geteuid() == 0 or subprocess.run(["unshare", "--user", "--map-auto", "--map-root-user", "true"],
                                               capture_output=True).returncode == 0


def is_release():
    about = pathlib.Path("/etc/os-release")
    return about.is_file() and f"VERSION_CODENAME={RELEASE}\n" in about.read_text()


def last_stage():
    """How the container recipe installs the package: the folder that it copies it to, and the command that it runs."""
    text = (PACKAGING / "Dockerfile").read_text().replace("\\\n", "")
    stage = text[text.rindex("\nFROM "):]
    (copied,) = re.findall(r"^COPY --from=build /build/mneme_\*_amd64\.deb (\S+)$", stage, re.MULTILINE)
    (command,) = re.findall(r"^RUN (.*)$", stage, re.MULTILINE)
    return copied, command


class FreshRoot(PackageCase):
    """A root of Debian 12 with nothing but what the package brings along, installed as the container recipe does."""

    @classmethod
    def setUpClass(cls):
        if not is_release():
            raise unittest.SkipTest("this is no Debian 12: the package depends on this system's libraries")
        if not shutil.which("mmdebstrap"):
            raise unittest.SkipTest("mmdebstrap is not installed (scripts/setup installs it)")
        if not may_make_roots():
            raise unittest.SkipTest("a fresh root needs root, or uidmap and subordinate user ids (/etc/subuid)")
        sources = "\n\n".join(sources_of_debian()) + "\n"
        if not sources.strip():
            raise unittest.SkipTest("apt's configuration names no mirror of Debian 12")
        if not mirrors_answer(sources):
            raise unittest.SkipTest("no Debian mirror can be reached")
        super().setUpClass()
        cls.sources = cls.folder / "debian.sources"
        cls.sources.write_text(sources)

    def test_readme(self):
        example, out = self.folder / "example", self.folder / "out"
        example.mkdir()
        out.mkdir()
        shutil.copy(PROGRAMS / "vector_add.hip", example / "app.hip")
        shutil.copy(PROGRAMS / "check.h", example)
        (example / "pipeline").write_text(PIPELINE)
        folder, install = last_stage()
        chroot = 'chroot "$1" env DEBIAN_FRONTEND=noninteractive'
        hooks = [f"copy-in {shlex.quote(str(self.package))} {folder}",
                 f"copy-in {shlex.quote(str(example))} /",
                 f"{chroot} sh -c {shlex.quote(install)} >&2",
                 f"{chroot} bash /example/pipeline >&2",
                 *(f"download /example/{name} {shlex.quote(str(out / name))}" for name in
                   ["verified", "tampered", "replayed"]),
                 f"{chroot} apt-get purge -y mneme >&2",
                 f'! find "$1"/usr -path "*mneme*" ! -path "*/__pycache__*" | grep . >&2']
        words = ["mmdebstrap", "--variant=apt", "--format=null", *(f"--aptopt={option}" for option in options_of_apt()),
                 *(f"--customize-hook={hook}" for hook in hooks), RELEASE, "/dev/null", self.sources]
        result = run(words, timeout=1500)
        self.assertEqual(result.status, 0, result.text())

        verified, tampered, replayed = ((out / name).read_text() for name in ["verified", "tampered", "replayed"])
        self.assertRegex(verified, r"vector_add\(.*(?<!not )verified\n1 of 1 runs verified")
        self.assertRegex(tampered, r"(?s)vector_add\(.*not verified\n.*0 of 1 runs verified\nstatus 1\n")
        self.assertIn("1 of 1 runs verified", replayed)


# ---- the recipe for Spack ----


class Stub:
    """What the recipe uses of Spack, as far as it can be told from what it says."""

    def __init__(self):
        self.said = []

    def directive(self, name):
        return lambda *words, **options: self.said.append((name, words, options))

    def modules(self):
        made = {name: types.ModuleType(name) for name in [
            "spack", "spack.package", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems",
            "spack_repo.builtin.build_systems.cmake"]}
        cmake = made["spack_repo.builtin.build_systems.cmake"]
        cmake.CMakePackage, cmake.generator = type("CMakePackage", (), {}), self.directive("generator")
        for name in ["license", "version", "variant", "depends_on", "requires", "conflicts"]:
            setattr(made["spack.package"], name, self.directive(name))
        made["spack.package"].run_after = lambda phase: lambda function: function
        made["spack.package"].symlink = os.symlink
        return made


class Spack(unittest.TestCase):
    """Without Spack: that the recipe is Python, and names what the build needs."""

    def test_recipe(self):
        stub = Stub()
        scope = {}
        with unittest.mock.patch.dict(sys.modules, stub.modules()):
            exec(compile(RECIPE.read_text(), "package.py", "exec"), scope)
        needed = {words[0].split()[0].split("@")[0] for name, words, _ in stub.said if name == "depends_on"}
        self.assertLessEqual({"llvm", "fmt", "libarchive", "zstd", "xxhash", "intel-tbb", "libseccomp", "cli11",
                              "rapidjson", "boost", "hip", "cmake"}, needed)
        defined = set()
        recipe = scope["Mneme"]()
        recipe.spec = unittest.mock.MagicMock()
        recipe.define = recipe.define_from_variant = lambda name, value: defined.add(name)
        recipe.cmake_args()
        self.assertLessEqual({"LLVM_CONFIG", "HIP_INCLUDE_DIR", "BUILD_TESTING"}, defined)
        cached = (BUILD / "CMakeCache.txt").read_text()
        for name in defined:
            self.assertRegex(cached, rf"(?m)^{name}:", "the build has no such variable")


if __name__ == "__main__":
    result = unittest.main(verbosity=2, exit=False).result
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    sys.exit(0 if result.wasSuccessful() and not result.skipped else 77 if result.wasSuccessful() else 1)
