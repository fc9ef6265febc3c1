# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exception of this package."""


class MnemeError(Exception):
    """A sentence that a user can act on, the exit status that stands for it, and the tool that said it.

    Status: 1 verification failed, 2 bad usage or input, 3 device or tool missing, 4 the application failed."""

    def __init__(self, sentence: str, status: int = 2, tool: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.tool = tool
