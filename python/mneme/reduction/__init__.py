# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mneme-reduce is made of: the least IR, launch and memory that still show a fault (docs/compilers.md)."""

from .case import Case
from .reduce import reduce

__all__ = ["Case", "reduce"]
