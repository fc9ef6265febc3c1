# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A kernel of Triton's. Its code is written to files beside, and that of a kernel which adds something else.
import pathlib

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr, ADDED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 3 + ADDED, mask=at < n)


x, y = torch.arange(1000, device="cuda", dtype=torch.float32), torch.zeros(1000, device="cuda")
for _ in range(2):
    right = scaled[(4,)](x, y, 1000, BLOCK=256, ADDED=1)
print("triton", y.sum().item())
wrong = scaled.warmup(x, y, 1000, BLOCK=256, ADDED=2, grid=(4,))
for name, kernel in [("right", right), ("wrong", wrong)]:
    pathlib.Path(f"{name}.cubin").write_bytes(kernel.asm["cubin"])
    pathlib.Path(f"{name}.ptx").write_text(kernel.asm["ptx"])
