# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The searches, of what has a verdict: true where it is bad."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def first_bad(good: int, bad: int, is_bad: Callable[[int], bool]) -> int:
    """A number that is bad behind one that is good, between one that is known to be good and one that is known to be bad."""
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_bad(middle):
            bad = middle
        else:
            good = middle
    return bad


def last_good(bad: int, is_bad: Callable[[int], bool], probes: int = 8) -> int | None:
    """A number below that is good, searched for downwards; nothing where none is found."""
    for number in dict.fromkeys(bad * left // probes for left in range(probes - 1, -1, -1)):
        if not is_bad(number):
            return number
    return None


def least(items: Sequence[Item], is_bad: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """Of these, which together are bad, some that are bad still, and none of which can be left out (delta debugging)."""
    left, parts = list(items), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        for begin in range(0, len(left), size):
            without = left[:begin] + left[begin + size:]
            if is_bad(without):
                left, parts = without, max(parts - 1, 2)
                break
        else:
            if parts >= len(left):
                break
            parts = min(2 * parts, len(left))
    return left


def least_keys(keys: Iterable[str], is_bad: Callable[[Sequence[str]], bool]) -> list[str]:
    """The keys to blame. None is bad, all are."""
    return least(sorted(keys), is_bad)
