"""The system users that functions run as if the platform was started as root: a separate one for each function.

User ids come from a range that no system assigns (`broker/processes/confinement.py`); they belong to no account. A function
keeps its id: it is stored in `users.json`, because files that only this id may read outlive a process. The first choice is a
digest of the data folder and the function's name, so two platforms on one machine rarely choose the same id. Ids that an
account or a running service has are skipped.

If that range is not mapped (a container with few ids), all functions run as one account: `headwater-functions`, which the
owner creates, else `nobody`; never as the account of the database (`headwater`).
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
class FunctionUser:
    """A system user that processes run as. `is_shared`: other programs may run as this user, too."""

    uid: int
    gid: int
    is_shared: bool = False


class FunctionUsers:
    """Assigns users to functions. `home` is the folder of the platform's functions."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._is_root = os.geteuid() == 0
        self._account = None if not self._is_root or has_function_users() else _account()
        self._cached: dict[str, int] = {}

    @property
    def is_root(self) -> bool:
        """Whether functions run as other users than this process."""
        return self._is_root

    def user_of(self, function: str) -> FunctionUser | None:
        """Return the user of a function; None if it runs as the user of this process. Raises: OSError."""
        if not self._is_root:
            return None
        if self._account is not None:
            return self._account
        if function not in self._cached:
            self._cached[function] = self._assign(function)
        uid = self._cached[function]
        return FunctionUser(uid, uid)

    def _assign(self, function: str) -> int:
        """Read the stored id of a function, or choose one. A file lock keeps parallel workers apart."""
        file = self._home / "users.json"
        with (self._home / "users.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assigned: dict[str, int] = {}
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                assigned = msgspec.json.decode(file.read_bytes(), type=dict[str, int])
            stored = assigned.get(function)
            if stored is not None and FIRST_UID <= stored <= LAST_UID:
                return stored
            chosen = _choose_uid(f"{self._home}\0{function}", frozenset(assigned.values()))
            draft = file.with_name(".users.json")
            draft.write_bytes(msgspec.json.encode({**assigned, function: chosen}))
            draft.replace(file)
            return chosen


def _choose_uid(seed: str, used: frozenset[int]) -> int:
    """Return the id at the digest of a seed, or the next unused one; if all are used, the first choice is shared."""
    first = int.from_bytes(hashlib.sha256(os.fsencode(seed)).digest()[:8]) % _COUNT
    order = (FIRST_UID + (first + step) % _COUNT for step in range(_COUNT))
    return next((uid for uid in order if uid not in used and not _has_account(uid)), FIRST_UID + first)


def _has_account(uid: int) -> bool:
    for look_up in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            look_up(uid)
            return True
    return False


def _account() -> FunctionUser:
    for name in _ACCOUNTS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return FunctionUser(entry.pw_uid, entry.pw_gid, is_shared=True)
    raise SettingsError(
        f"functions do not run as root: make a user for them (useradd --system {_ACCOUNTS[0]})"
    )
