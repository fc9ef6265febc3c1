# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mneme from Python: bundles, configurations, and replays on devices (docs/python.md).

Everything is done by the tools: mneme-capture, mneme-compile, mneme-run, mneme-verify and mneme-restore."""

from .applications import apply, capture, tuned
from .bundle import Argument, Bundle, Instance, Kernel, Measurement, Variant
from .configuration import Configuration
from .errors import MnemeError
from .memory import Memory, Segment, View
from .selection import Selection, select
from .session import Run, Session
from .verify import Verify

__all__ = ["Argument", "Bundle", "Configuration", "Instance", "Kernel", "Measurement", "Memory", "MnemeError", "Run",
           "Segment", "Selection", "Session", "Variant", "Verify", "View", "apply", "capture", "select", "tuned"]
