# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search spaces, and samplers that choose which of their points is tried next (docs/search.md)."""

from .sampler import KINDS, Sampler
from .space import Parameter, Point, Space, SpaceError

__all__ = ["KINDS", "Parameter", "Point", "Sampler", "Space", "SpaceError"]
