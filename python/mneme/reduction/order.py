# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR whose threads race leaves what their order makes of it, which is no fault of a compiler's. So IR has to leave the same
memory with its threads in reverse: thread i of a block does what thread block - 1 - i did."""

import re

_THREAD = r"llvm\.(?:amdgcn\.workitem\.id\.x|nvvm\.read\.ptx\.sreg\.tid\.x)"
_CALL = re.compile(rf"\bcall [^@\n]*@({_THREAD})\(\)")


def reverse_threads(ir: str, block: int) -> str:
    """For blocks of so many threads in the first dimension. The same IR where it asks for none."""
    found = _CALL.search(ir)
    if not found:
        return ir
    return _CALL.sub("call i32 @mneme.reversed.thread()", ir) + f"""
define internal i32 @mneme.reversed.thread() alwaysinline {{
  %1 = call i32 @{found[1]}()
  %2 = sub i32 {block - 1}, %1
  ret i32 %2
}}
"""
