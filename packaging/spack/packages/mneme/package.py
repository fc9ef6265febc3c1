# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A recipe for Spack 1. The sources name no address to fetch them from, so it builds a checkout:

    spack repo add CHECKOUT/packaging/spack
    cd CHECKOUT && spack dev-build mneme@main
"""

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Mneme(CMakePackage):
    """Records GPU kernel executions out of a running application and replays them, alone, recompiled in any way, and
    tells whether the result is still right. Where there is no GPU, HIP and CUDA applications run, record and replay on
    the CPU."""

    license("Apache-2.0 WITH LLVM-exception")

    version("main")

    variant("tests", default=False, description="Build the tests")
    variant("tune", default=True, description="Have what mneme-tune searches with")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    requires("%[virtuals=c,cxx] llvm@19", msg="Mneme is compiled by the clang 19 that it works with")
    conflicts("platform=darwin", msg="Mneme is for Linux")
    conflicts("platform=windows", msg="Mneme is for Linux")
    requires("target=x86_64:", msg="Mneme is for x86-64")

    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    # The pass plugin of mneme-inject uses the LLVM of the clang that loads it: both use the shared library.
    depends_on(
        "llvm@19 +clang +lld +llvm_dylib +link_llvm_dylib targets=x86,amdgpu,nvptx", type=("build", "link", "run")
    )
    # Of these the archives are linked into what is loaded into applications: of {fmt} the source, which is that of 9.
    depends_on("fmt@9 +pic")
    depends_on("libarchive libs=static,shared")
    depends_on("libseccomp ~python")
    depends_on("xxhash +pic")
    depends_on("zstd")
    depends_on("boost +context +pic")

    depends_on("cli11")
    depends_on("intel-tbb@2021:")
    depends_on("rapidjson@1.2:")
    depends_on("zlib-api")

    # The headers and the device libraries. The stand-in for the runtime is a libamdhip64.so.5, as ROCm 5 has it.
    depends_on("hip@5.7 +rocm", type=("build", "run"))

    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-optuna", type="run", when="+tune")
    depends_on("py-sqlalchemy", type="run", when="+tune")
    depends_on("gnuplot", type="run", when="+tune")

    depends_on("googletest +gmock", when="+tests")
    depends_on("mpfr", when="+tests")

    sanity_check_is_file = [
        f"bin/mneme-{tool}"
        for tool in ("inject", "capture", "compile", "run", "verify", "tune", "export", "bisect", "reduce")
    ]

    def cmake_args(self):
        llvm = self.spec["llvm"].prefix
        return [
            self.define("LLVM_CONFIG", llvm.bin.join("llvm-config")),
            self.define("MNEME_CLANG", llvm.bin.clang),
            self.define("MNEME_OBJCOPY", llvm.bin.join("llvm-objcopy")),
            self.define("HIP_INCLUDE_DIR", self.spec["hip"].prefix.include),
            self.define("MNEME_WERROR", False),
            self.define_from_variant("BUILD_TESTING", "tests"),
        ]

    # Debian's names for the compiler, which the manuals have and which programs that use hiprtc run.
    @run_after("install")
    def name_compiler(self):
        for name in ("clang", "clang++"):
            symlink(self.spec["llvm"].prefix.bin.join(name), self.prefix.bin.join(f"{name}-19"))
