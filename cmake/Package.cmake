# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What CPack makes of an installation: a Debian package. `make package` runs it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ${PROJECT_NAME})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Mneme developers <mneme@example.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_THREADS 0)  # one a core, to compress

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "record and replay GPU kernels
Mneme records GPU kernel executions out of a running application and replays
them, alone, recompiled in any way, and tells whether the result is still
right. It is a set of small Unix tools and one file format between them.

It needs no GPU: on a machine without one, HIP and CUDA applications run,
record and replay on the CPU.")

# What the programs and libraries are linked with is found by dpkg-shlibdeps, which takes the package's own libraries from
# these folders of the package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS /usr/lib/mneme/hostgpu)

# What mneme-inject runs: the compiler, clang-offload-bundler (clang-tools-19), which runs llvm-objcopy (llvm-19), and the
# linker of device code; and what HIP programs are compiled with: AMD's headers, device libraries, and a libamdhip64.so to
# link with.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
  "clang-19, clang-tools-19, llvm-19, lld-19, libamdhip64-dev, rocm-device-libs, python3")
# What mneme-tune chooses and shares trials by, and reads its options with; arrays of recorded memory; and what grid.mk is for.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-optuna, python3-yaml, python3-numpy, make")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox, python3-plotly, python3-sklearn, cmake, gdb, slurm-client")

set(CPACK_MNEME_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package_documents.cmake)
include(CPack)
