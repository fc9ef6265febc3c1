# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mneme-bisect is made of: which key, and which pass, makes a kernel wrong or slow (docs/compilers.md)."""

from .bisect import bisect
from .oracle import Oracle, Question, Verdict, say
from .search import first_bad, least_keys

__all__ = ["Oracle", "Question", "Verdict", "bisect", "first_bad", "least_keys", "say"]
