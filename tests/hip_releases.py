# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What releases of AMD's runtime library have, and what differs between them: for tests of what calls it."""

import re

from support import ROOT

# What has changed, and what takes or gives it.
CHANGED = re.compile(r"hipDeviceProp|hipGetDeviceProp|hipChooseDevice|hipFuncGetAttributes|hipFuncAttributes|"
                     r"hipGraph\w*(?<!Kernel)NodeGetParams|hipGraphAdd(?!Empty|Kernel)|hipMemcpyNodeParams|hipArray|hipTexture|"
                     r"hipResourceDesc|hip_Memcpy2D\b|hipMemcpy3DParms|hipExternal|hipIpc|hipLaunchConfig")


def exported():
    """The functions of HIP 5.2's library."""
    lines = (ROOT / "lib/hostgpu/exports.list").read_text().splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}
