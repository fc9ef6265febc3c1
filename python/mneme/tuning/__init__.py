# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mneme-tune is made of: trials in a folder, progress, and what comes of them (docs/tuning.md)."""

from .config import config_words, dump_config
from .kernels import tune
from .search import Search, say
from .study import Study, Trial, front, read_trials, verified

__all__ = ["Search", "Study", "Trial", "config_words", "dump_config", "front", "read_trials", "say", "tune", "verified"]
