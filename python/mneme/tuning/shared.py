# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One search by several processes, on one or several machines, through an Optuna storage: a journal's file or a data base.

A process *claims* a point before it tries it: it adds a running trial with the point as its key. If several processes claim
the same point, the claim with the lowest number holds, and the others are withdrawn. If a process dies, the next process
that notices withdraws its claims, and their points are tried again."""

import contextlib
import fcntl
import importlib
import json
import os
import pathlib
import socket
import threading
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import MnemeError
from ..search import Point, Space
from .export import choice
from .study import Trial

BEAT = 5.0  # seconds from one sign of life to the next
SILENCE = 60.0  # seconds without one, after which a process on another machine is dead


def _begun(process: int) -> str | None:
    """When a process of this machine began: another process with its number began later. Nothing where it is dead."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


class Lock:
    """Of a journal's file. The system gives it back when its holder dies, which Optuna's own locks are not."""

    def __init__(self, path: str) -> None:
        self._path = path

    def acquire(self) -> bool:
        self._file = open(self._path, "a")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        self._file.close()


class Shared:
    """A study in a storage. `trials` are those that have ended, in the storage's order."""

    def __init__(self, storage: str, name: str, space: Space, about: Mapping[str, Any]) -> None:
        self.where = storage
        self._choices = {name: [choice(value) for value in one.values] for name, one in space.parameters.items()}
        about = json.loads(json.dumps(about))
        with self._reaching():
            optuna = importlib.import_module("optuna")
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            self._categorical: Any = optuna.distributions.CategoricalDistribution
            self._state: Any = optuna.trial.TrialState
            self._trial: Any = optuna.trial.create_trial
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is experimental
                if "://" in storage:
                    self._storage: Any = optuna.storages.RDBStorage(storage)
                else:
                    file = optuna.storages.JournalFileStorage(storage, lock_obj=Lock(f"{storage}.lock"))
                    self._storage = optuna.storages.JournalStorage(file)
                optuna.create_study(storage=self._storage, study_name=name, load_if_exists=True)
            self._study = self._storage.get_study_id_from_name(name)
            before = self._storage.get_study_user_attrs(self._study).get("about")
            if before is None:
                self._storage.set_study_user_attr(self._study, "about", about)
        if before not in (None, about):
            changed = ", ".join(key for key in about if before.get(key) != about[key])
            raise MnemeError(f"'{storage}' has the trials of another search ({changed}): name another --storage")
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{_begun(os.getpid())}:{uuid.uuid4().hex[:8]}"
        self.ended: dict[int, Trial] = {}
        self.running: dict[int, str] = {}  # points of others' claims, by number
        self._seen: dict[str, tuple[Any, float]] = {}  # the others' last signs of life, and when they came
        self._stopped = threading.Event()
        self._beat()
        self._heart = threading.Thread(target=self._keep_beating, daemon=True)
        self._heart.start()

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except ModuleNotFoundError:
            raise MnemeError("--storage needs Optuna for this Python: Debian's python3-optuna", 3) from None
        except Exception as error:  # of several libraries
            raise MnemeError(f"'{self.where}' cannot be used: {' '.join(str(error).split())}") from None

    # ---- who lives ----

    def _beat(self) -> None:
        self._storage.set_study_user_attr(self._study, f"seen {self.owner}", time.time())

    def _keep_beating(self) -> None:
        while not self._stopped.wait(BEAT):
            with contextlib.suppress(Exception):  # where it cannot be reached for long, a claim fails, and says so
                self._beat()

    def _is_alive(self, owner: str, signs: Mapping[str, Any]) -> bool:
        if owner == self.owner:
            return True
        host, process, begun, _ = owner.rsplit(":", 3)
        if host == socket.gethostname():
            return _begun(int(process)) == begun
        sign, now = signs.get(f"seen {owner}"), time.monotonic()
        if self._seen.get(owner, (None, 0.0))[0] != sign:
            self._seen[owner] = sign, now
        return now - self._seen[owner][1] < SILENCE if owner in self._seen else False

    # ---- trials ----

    def _all(self) -> list[Any]:
        found: list[Any] = self._storage.get_all_trials(self._study, deepcopy=False)
        return found

    def sync(self) -> tuple[list[Trial], list[str], list[str]]:
        """What has come since the last time: trials that have ended, points that others have claimed, and points of
        claims that were given up."""
        with self._reaching():
            trials = self._all()
            signs = self._storage.get_study_user_attrs(self._study)
            ended, claimed, lost = [], [], []
            for one in trials:
                key, number = one.user_attrs["point"], one.number
                if one.state.is_finished():
                    self.running.pop(number, None)
                    if number not in self.ended and "trial" in one.user_attrs:
                        self.ended[number] = Trial.read(one.user_attrs["trial"])
                        ended.append(self.ended[number])
                elif not self._is_alive(one.user_attrs["owner"], signs):
                    self._end(one._trial_id, self._state.FAIL)
                    self.running.pop(number, None)
                    lost.append(key)
                elif one.user_attrs["owner"] != self.owner and number not in self.running:
                    self.running[number] = key
                    claimed.append(key)
        return ended, claimed, lost

    def _end(self, trial: int, state: Any, value: float | None = None) -> None:
        with contextlib.suppress(RuntimeError):  # another has ended it
            self._storage.set_trial_state_values(trial, state, None if value is None else [value])

    def claim(self, point: Point, most: float) -> int | None:
        """Nothing where another process has it, or where there are so many trials without it."""
        with self._reaching():
            made = self._trial(state=self._state.RUNNING, user_attrs={"point": point.key, "owner": self.owner},
                               params={name: choice(value) for name, value in point.parameters.items()},
                               distributions={name: self._categorical(self._choices[name]) for name in point.parameters})
            claim: int = self._storage.create_new_trial(self._study, made)
            mine = self._storage.get_trial(claim).number
            earlier = [one.user_attrs["point"] for one in self._all()
                       if one.number < mine and (not one.state.is_finished() or "trial" in one.user_attrs)]
            if point.key in earlier or len(earlier) >= most:
                self._end(claim, self._state.FAIL)
                return None
            return claim

    def done(self, claim: int, trial: Trial, value: float | None) -> bool:
        """Whether it still was this process's."""
        with self._reaching():
            try:
                self._storage.set_trial_user_attr(claim, "trial", json.dumps(trial.line()))
            except RuntimeError:  # it has ended
                return False
            self._end(claim, self._state.FAIL if value is None else self._state.COMPLETE, value)
            self.ended[self._storage.get_trial(claim).number] = trial
            return True

    def close(self) -> None:
        self._stopped.set()
        self._heart.join()

    def __enter__(self) -> "Shared":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
