"""The users that functions run as, where the platform was started as root: one for each function, none with an account.

Ids come from a range that no system hands out (`broker/processes/confinement.py`). A function keeps its id: it stands in a file, because
files that only this id may read outlive a process. The first choice is a digest of the data folder and the name, so two
platforms on one machine rarely choose the same; ids that an account or a running service has are skipped.

Where that range is not mapped (a container with few ids) all functions run as one account: `headwater-functions`, which the
owner makes, else `nobody`; never as the account that the database runs as (`headwater`).
"""

import contextlib
import fcntl
import grp
import hashlib
import os
import pwd
from dataclasses import dataclass
from pathlib import Path

import msgspec

from broker.processes.confinement import FIRST_UID, LAST_UID, has_function_users
from schemas.settings.tree import SettingsError

_ACCOUNTS = ("headwater-functions", "nobody")
_COUNT = LAST_UID - FIRST_UID + 1


@dataclass(frozen=True, slots=True)
class SystemUser:
    """A user that processes run as. `is_shared`: other programs may run as it, too."""

    uid: int
    gid: int
    is_shared: bool = False


class FunctionUsers:
    """Gives functions their users. `home` is the folder in which the platform's functions live."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._is_root = os.geteuid() == 0
        self._account = None if not self._is_root or has_function_users() else _account()
        self._known: dict[str, int] = {}

    @property
    def is_root(self) -> bool:
        """Whether functions run as others than we do."""
        return self._is_root

    def user_of(self, function: str) -> SystemUser | None:
        """Return the user of a function; None where it runs as we do. Raises: OSError."""
        if not self._is_root:
            return None
        if self._account is not None:
            return self._account
        if function not in self._known:
            self._known[function] = self._assigned(function)
        uid = self._known[function]
        return SystemUser(uid, uid)

    def _assigned(self, function: str) -> int:
        """Read the id of a function, or choose one. A lock keeps several workers apart."""
        file = self._home / "users.json"
        with (self._home / "users.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assigned: dict[str, int] = {}
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                assigned = msgspec.json.decode(file.read_bytes(), type=dict[str, int])
            known = assigned.get(function)
            if known is not None and FIRST_UID <= known <= LAST_UID:
                return known
            chosen = _choice(f"{self._home}\0{function}", frozenset(assigned.values()))
            draft = file.with_name(".users.json")
            draft.write_bytes(msgspec.json.encode({**assigned, function: chosen}))
            draft.replace(file)
            return chosen


def _choice(seed: str, taken: frozenset[int]) -> int:
    """Return the id at the digest of a seed, or the next that is free; where none is, the first choice is shared."""
    first = int.from_bytes(hashlib.sha256(os.fsencode(seed)).digest()[:8]) % _COUNT
    order = (FIRST_UID + (first + step) % _COUNT for step in range(_COUNT))
    return next((uid for uid in order if uid not in taken and not _has_account(uid)), FIRST_UID + first)


def _has_account(uid: int) -> bool:
    for look_up in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            look_up(uid)
            return True
    return False


def _account() -> SystemUser:
    for name in _ACCOUNTS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return SystemUser(entry.pw_uid, entry.pw_gid, is_shared=True)
    raise SettingsError(
        f"functions do not run as root: make a user for them (useradd --system {_ACCOUNTS[0]})"
    )
